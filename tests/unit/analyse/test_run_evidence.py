"""The evidence of a run and its grouped findings: a few numbers, however many trials there are."""

from __future__ import annotations

import json
import tracemalloc

from drivelab.analyse.finding_groups import MEMBERS_MAX, NAMES_MAX, FindingGroups, group_findings
from drivelab.analyse.reference_drift import ReferenceValue
from drivelab.analyse.run_evidence import ReferenceTrial, RunEvidence
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding

TRIALS = 20_000


def rate(value: float) -> Estimate:
    return Estimate(value, value, value, "B/s", 4, 4.0, "")


def found(number: int, code: str = "page-cache-answered") -> Finding:
    text = f"{number} of 100 reached the drive"
    return Finding(
        code, "invalid", text, f"trial-{number:05}", {"device_share": number / TRIALS, "is": True}, "sync it"
    )


def test_only_probes_and_references_are_kept() -> None:
    evidence = RunEvidence()
    for number in range(100):
        evidence.add(f"{number:04}-small-write", rate(1e6))
    evidence.add("compression-zeros-1", rate(3e8))
    evidence.add("compression-random-1", rate(2e8))
    evidence.add("compression-zeros-2", rate(4e8))
    assert [estimate.value for estimate in evidence.probes("zeros")] == [3e8, 4e8]
    assert [estimate.value for estimate in evidence.probes("random")] == [2e8]
    assert evidence.drifts() == []


def test_references_of_several_targets_are_held_apart() -> None:
    evidence = RunEvidence()
    for value in (1e6, 2e6, 3e6):
        for target in ("sda", "sdb"):
            reference = ReferenceTrial(target, "small", "total_latency_ns_p50", ReferenceValue(value))
            evidence.add("reference", reference=reference)
    assert [(drift.target, drift.values) for drift in evidence.drifts()] == [
        ("sda", (1e6, 2e6, 3e6)),
        ("sdb", (1e6, 2e6, 3e6)),
    ]


def test_memory_does_not_grow_with_the_number_of_trials() -> None:
    evidence, groups = RunEvidence(), FindingGroups()

    def take(begin: int, end: int) -> None:
        for number in range(begin, end):
            evidence.add(f"{number:05}-small-write", rate(float(number)))
            groups.add(found(number))

    tracemalloc.start()
    take(0, 1000)
    before, _ = tracemalloc.get_traced_memory()
    take(1000, TRIALS)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 20_000


def test_what_many_trials_have_is_told_once() -> None:
    (told,) = group_findings(found(number) for number in range(830))
    assert (told.trial_count, told.trial, len(told.trials)) == (830, "trial-00000", NAMES_MAX)
    assert told.evidence["lowest"] == {"device_share": 0.0}
    assert told.evidence["highest"] == {"device_share": 829 / TRIALS}
    assert told.text == "0 to 829 of 100 reached the drive"


def test_a_few_are_told_as_they_are() -> None:
    few = [found(number) for number in range(MEMBERS_MAX)]
    assert group_findings(few) == few
    assert len(group_findings([*few, found(MEMBERS_MAX)])) == 1


def test_a_trial_that_has_a_finding_twice_counts_once() -> None:
    (told,) = group_findings(finding for number in range(50) for finding in (found(number), found(number)))
    assert told.trial_count == 50


def test_kinds_are_held_apart_and_the_gravest_come_first() -> None:
    mixed = [Finding("slow-link", "note", "a note about the run")]
    mixed += [Finding("drift", "warning", "it drifted", f"t{number}") for number in range(30)]
    mixed += [found(number) for number in range(30)]
    assert [(one.code, one.trial_count) for one in group_findings(mixed)] == [
        ("page-cache-answered", 30),
        ("drift", 30),
        ("slow-link", 0),
    ]


def test_a_group_survives_json_and_a_single_finding_is_written_as_before() -> None:
    (told,) = group_findings(found(number) for number in range(30))
    document = json.loads(json.dumps(told.to_json()))
    assert (Finding(**document).trial_count, document["trials"][0]) == (30, "trial-00000")
    assert set(found(1).to_json()) == {"code", "severity", "text", "trial", "evidence", "advice"}


def test_what_stands_for_many_trials_has_the_ranges_of_all_in_its_text() -> None:
    """Fifteen trials of a card that swings to nothing, and fifteen of a drive that hardly does."""
    said = [(419, 0, 400, 95)] * 15 + [(1680, 1260, 370, 72)] * 15
    text = "it swings between {} MB/s and {} MB/s with a period of {} ms, {} % of it at the lower"
    findings = [
        Finding("throughput-swings", "warning", text.format(*numbers), f"t{place}", {})
        for place, numbers in enumerate(said)
    ]
    (one,) = group_findings(findings)
    assert one.text == (
        "it swings between 419 to 1680 MB/s and 0 to 1260 MB/s with a period of 370 to 400 ms, 72 to 95 % of it at the "
        "lower"
    )
    other = [Finding("throughput-swings", "warning", "it swings otherwise", "t99", {})]
    (mixed,) = group_findings([*findings, *other])
    assert mixed.text == findings[0].text
