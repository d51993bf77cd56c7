"""The short forms of a check leave the probe out, and each number is marked with what is said of it."""

from __future__ import annotations

from drivelab.model.finding import Finding
from drivelab.report.check_table import footnotes, marks_of, rate_trials
from drivelab.report.content import TrialContent
from drivelab.report.reported_findings import reported


def written(name: str) -> TrialContent:
    asked = {"block_sizes": [{"bytes": 2**20}], "queue_depth": 8, "access": {"kind": "sequential"}}
    return TrialContent(name, name, "write", workload=asked)


SHOWN = [written("sequential-write-qd8"), written("sequential-write-qd1"), written("random-write-qd32")]


def fell(trial: str, rate: str) -> Finding:
    return Finding("throughput-cliff", "warning", f"the throughput fell to {rate}", trial)


def test_the_probe_is_no_number_of_the_drive() -> None:
    probe = written("compression-random-1")
    assert rate_trials([probe, SHOWN[0], probe]) == [SHOWN[0]]


def test_each_trial_is_marked_with_its_own_numbers_counted_from_one() -> None:
    of_run = Finding("virtual-drive", "warning", "vda is virtual", "")
    found = reported([of_run, *(fell(one.name, f"{number} MB/s") for number, one in enumerate(SHOWN[:2]))])
    notes = footnotes(found, SHOWN)
    assert [(one.number, one.text) for one in notes if one.number] == [
        (1, "the throughput fell to 0 MB/s."),
        (2, "the throughput fell to 1 MB/s."),
    ]
    assert [marks_of(one, notes, len(notes)) for one in SHOWN] == [" !1", " !2", ""]


def test_what_finds_no_room_leaves_a_sign_at_its_number() -> None:
    notes = footnotes(reported([fell(one.name, f"{number} MB/s") for number, one in enumerate(SHOWN[:2])]), SHOWN)
    assert [marks_of(one, notes, 1) for one in SHOWN] == [" !1", " !", ""]


def test_what_is_only_said_of_the_probe_is_left_out() -> None:
    assert footnotes(reported([fell("compression-zeros-1", "0 MB/s")]), SHOWN) == []
