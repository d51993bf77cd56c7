"""The short forms of a check leave the probe out, and each number is marked with what is said of it."""

from __future__ import annotations

from dataclasses import replace

from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.report.check_table import footnotes, lasting_words, marks_of, rate_trials, that_fit
from drivelab.report.content import TrialContent
from drivelab.report.reported_findings import reported
from drivelab.report.results_table import results_table


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
    assert [marks_of(one, notes) for one in SHOWN] == [" !1", " !2", ""]


def test_a_note_of_many_trials_has_their_range_and_no_number_of_another() -> None:
    trials = [written(f"sequential-write-{number}") for number in range(5)]
    rates = (100, 200, 150, 3, 120)
    found = reported([fell(one.name, f"{rate} MB/s") for one, rate in zip(trials, rates, strict=True)])
    assert [(one.number, one.text, len(one.trials)) for one in footnotes(found, trials)] == [
        (1, "the throughput fell to 100–200 MB/s.", 4),
        (2, "the throughput fell to 3 MB/s.", 1),
    ]


def test_what_is_only_said_of_the_probe_is_left_out() -> None:
    assert footnotes(reported([fell("compression-zeros-1", "0 MB/s")]), SHOWN) == []


def left_in_cache(trial: str, token: str, base_per_s: float) -> Finding:
    return Finding("writes-left-in-cache", "warning", "it was", trial, {"token": token, "base_per_s": base_per_s})


def test_the_rate_that_lasts_stands_before_that_of_a_cache() -> None:
    rate = {
        RATE: Estimate(50_000, 49_600, 50_400, "1/s", 9, 9.0, ""),
        THROUGHPUT: Estimate(204.8e6, 2e8, 2.1e8, "B/s", 9, 9.0, ""),
    }
    trial = replace(SHOWN[2], estimates=rate, findings=(left_in_cache(SHOWN[2].name, "I/Os", 205.3),))
    assert lasting_words(trial, RATE) == ("205/s", "at first 50 000/s")
    # and so do the bytes, since each I/O has as many as before
    assert lasting_words(trial, THROUGHPUT) == ("841 kB/s", "at first 205 MB/s")
    assert lasting_words(replace(trial, findings=()), RATE) is None
    # and no note says it again
    assert footnotes(reported(list(trial.findings)), SHOWN) == []


def test_a_cliff_that_finds_no_room_is_left_to_the_numbers_that_tell_it() -> None:
    rates = {"token": "bytes", "burst_per_s": 548e6, "base_per_s": 210e6}
    cliff = Finding("throughput-cliff", "warning", "it fell", SHOWN[0].name, rates)
    swings = Finding("throughput-swings", "warning", "it swings", SHOWN[0].name)
    mixture = {THROUGHPUT: Estimate(303e6, None, 566e6, "B/s", 9, 9.0, "")}
    fallen = replace(SHOWN[0], estimates=mixture, findings=(cliff, swings))
    notes = footnotes(reported(list(fallen.findings)), [fallen])
    assert {one.code for one in that_fit(notes, 2, [fallen])} == {"throughput-cliff", "throughput-swings"}
    assert [one.code for one in that_fit(notes, 0, [fallen])] == ["throughput-swings"]
    # of a read that fell nothing is known to last, and its number says nothing of it
    assert len(that_fit(notes, 0, [replace(fallen, findings=())])) == 2


def test_a_table_of_trials_shows_what_lasts() -> None:
    rates = {RATE: Estimate(288.9, 0, 627, "1/s", 9, 9.0, ""), THROUGHPUT: Estimate(303e6, 0, 657e6, "B/s", 9, 9.0, "")}
    left = Finding(
        "writes-left-in-cache", "warning", "it was", SHOWN[0].name, {"token": "bytes", "base_per_s": 209e6}, "longer"
    )
    table = results_table([replace(SHOWN[0], estimates=rates, findings=(left,))], [])
    cells = dict(zip([one.key for one in table.headers], table.groups[0][1][0].cells, strict=True))
    assert (cells[THROUGHPUT].value, cells[THROUGHPUT].interval) == ("209", "at first 303")
    assert (cells[RATE].value, cells[RATE].interval) == ("199", "at first 289")


def test_of_a_cliff_and_a_cache_that_empties_the_lower_rate_lasts() -> None:
    rates = {"token": "bytes", "burst_per_s": 548e6, "base_per_s": 210e6}
    cliff = Finding("throughput-cliff", "warning", "it fell", SHOWN[0].name, rates)
    mixture = {THROUGHPUT: Estimate(303e6, None, 566e6, "B/s", 9, 9.0, "")}
    trial = replace(SHOWN[0], estimates=mixture, findings=(cliff, left_in_cache(SHOWN[0].name, "bytes", 209e6)))
    assert lasting_words(trial, THROUGHPUT) == ("209 MB/s", "at first 548 MB/s")
