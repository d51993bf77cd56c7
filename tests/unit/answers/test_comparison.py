"""Comparisons of stored runs whose ratio is known: verdicts, what differs, what must not be compared."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "golden"))

from compared_runs import write_compared_run

from drivelab.answers.comparison import compare_runs
from drivelab.answers.others_bursts import are_told_by_others
from drivelab.model.comparison import Comparison
from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.lasting_rate import KNOWN_FROM
from drivelab.report.sentences.comparison_answer import answers
from drivelab.store.read import StoredRun, open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"
MakeRun = Callable[..., StoredRun]


@pytest.fixture
def made(tmp_path: Path) -> MakeRun:
    """Makes a run of its own seed: ``made(factor=1.5)``."""
    count = 0

    def make(**changes: object) -> StoredRun:
        nonlocal count
        count += 1
        return write_compared_run(tmp_path / f"run-{count}", count, **changes)  # type: ignore[arg-type]

    return make


def compared(base: StoredRun, new: StoredRun, **options: object) -> Comparison:
    """One run beside one."""
    return compare_runs([base], [new], **options)  # type: ignore[arg-type]


def three(made: MakeRun, **changes: object) -> list[StoredRun]:
    """Three runs alike, which is what it takes."""
    return [made(**changes) for _ in range(3)]


def verdicts(found: Comparison) -> dict[str, str]:
    """Verdict of each metric."""
    return {row.metric: row.verdict for row in found.rows}


def test_a_known_slowdown_is_found_and_its_ratio_is_covered(made: MakeRun) -> None:
    found = compare_runs(three(made), three(made, factor=1.5))
    beside = {"total_latency_ns_p99": "seen only", "iops": "seen only"}
    assert verdicts(found) == {"total_latency_ns_p50": "slower", **beside}
    row = next(row for row in found.rows if row.is_judged)
    assert row.metric == "total_latency_ns_p50"
    assert row.ratio.low is not None
    assert row.ratio.high is not None
    assert row.ratio.low < 1.5 < row.ratio.high
    assert row.ratio.high / row.ratio.low < 1.1
    assert len(found.regressions) == 1
    assert found.differences == ()
    assert all(one.ratio.low and not one.is_regression for one in found.rows if not one.is_judged)


def test_distributions_are_there_where_they_are_asked_for(made: MakeRun) -> None:
    base, new = three(made, repeats=2), three(made, repeats=2, factor=1.5)
    assert compare_runs(base, new).distributions == ()
    by_operation = {one.operation: one for one in compare_runs(base, new, with_distributions=True).distributions}
    found = by_operation["write"]
    assert (found.runs, found.levels) == ((3, 3), {"filesystem": "ext4"})
    middle = min(found.points, key=lambda point: abs(point.quantile - 0.5))
    assert middle.ratio == pytest.approx(1.5, rel=0.03)
    assert (middle.low or 0) < 1.5 < (middle.high or 0)
    # what means different things on both sides has none
    assert compare_runs(base, [made(flushes=0.0)], with_distributions=True).distributions == ()


def test_the_other_way_round_it_is_faster(made: MakeRun) -> None:
    base, new = three(made, factor=1.5), three(made)
    found = compare_runs(base, new)
    assert verdicts(found)["total_latency_ns_p50"] == "faster"
    turned = {row.metric: row.ratio.value for row in compare_runs(new, base).rows}
    assert all(row.ratio.value == pytest.approx(1 / (turned[row.metric] or 0)) for row in found.rows)


def test_runs_that_are_alike_are_equivalent_within_a_margin_that_is_wide_enough(made: MakeRun) -> None:
    base, new = three(made), three(made)
    assert verdicts(compare_runs(base, new))["total_latency_ns_p50"] == "equivalent"
    assert verdicts(compare_runs(base, new, margin=0.001))["total_latency_ns_p50"] == "no difference shown"


def test_a_true_difference_within_the_margin_is_equivalent(made: MakeRun) -> None:
    base, new = three(made, noise=0.002), three(made, noise=0.002, factor=1.02)
    found = compare_runs(base, new)
    assert verdicts(found)["total_latency_ns_p50"] == "equivalent"
    (row,) = [row for row in found.rows if row.is_judged]
    assert (row.adjusted_p_value or 1) < 0.05
    assert verdicts(compare_runs(base, new, margin=0.01))["total_latency_ns_p50"] == "slower"


def test_one_run_each_is_seen_only_however_far_apart(made: MakeRun) -> None:
    found = compared(made(repeats=10), made(repeats=10, factor=3))
    assert {(row.verdict, row.why) for row in found.rows} == {("seen only", ("one run each",))}
    assert all(row.ratio.value and row.ratio.low is None for row in found.rows)
    assert not found.is_anything_judged
    judged = [row.is_judged for row in found.rows]
    assert judged == sorted(judged, reverse=True), "what is told beside them comes last"
    assert "at least 5 a side, alternately" in found.notes[0]


def test_models_are_told_before_all_else(made: MakeRun) -> None:
    runs = [made(), made()]
    for run in runs:
        for target in run.record.targets:
            target["facts_before"] = {**(target.get("facts_before") or {}), "simulated": {"title": "A model"}}
    typed = runs[0].record.targets[0]["facts_before"]["text"]
    assert compared(*runs).notes[0] == f"Simulated: {typed}; no real drive was measured."
    assert not any("Simulated" in note for note in compared(made(), made()).notes)


def test_a_label_does_not_make_one_drive_of_two_models(made: MakeRun) -> None:
    runs = [made(), made()]
    for run, model in zip(runs, ("sim:gp2-100", "sim:disk-7200"), strict=True):
        for target in run.record.targets:
            target["facts_before"] = {"text": model, "kind": "simulated", "simulated": {"title": model}}
            target["facts_after"] = {}
    found = compared(*runs)
    (drive,) = [one for one in found.differences if one.what == "drive"]
    assert (drive.base, drive.new) == (("sim:gp2-100",), ("sim:disk-7200",))
    assert answers(found)[0].startswith("sim:disk-7200")


def test_labels_of_models_are_told_beside_the_models(made: MakeRun) -> None:
    runs = [made(), made()]
    for run, label in zip(runs, ("old", "new"), strict=True):
        (target,) = run.record.targets
        target |= {"label": label, "facts_after": {}}
        target["facts_before"] = {"text": f"sim:{label}.toml", "kind": "simulated", "simulated": {"title": "A model"}}
    told = {one.what: (one.base, one.new) for one in compared(*runs).differences}
    assert told["drive"] == (("sim:old.toml",), ("sim:new.toml",))
    assert told["label"] == (("old",), ("new",))


def test_the_run_is_the_unit(made: MakeRun) -> None:
    found = compare_runs(three(made, run_noise=0.1, repeats=3), three(made, run_noise=0.1, repeats=3))
    assert {row.ratio.sample_count for row in found.rows} == {6}
    assert {row.base.repeat_count for row in found.rows if row.base} == {9}
    assert not any("Below" in note for note in found.notes)


@pytest.mark.parametrize(
    ("starts", "told"),
    [
        (((1, 2, 3), (4, 5, 6)), "All runs of BASE began before those of NEW"),
        (((4, 5, 6), (1, 2, 3)), "All runs of NEW began before those of BASE"),
        (((1, 4, 5), (2, 3, 6)), ""),
    ],
)
def test_sides_that_were_measured_one_after_the_other_are_told(
    made: MakeRun, starts: tuple[tuple[int, ...], tuple[int, ...]], told: str
) -> None:
    sides = [three(made), three(made)]
    for side, hours in zip(sides, starts, strict=True):
        for run, hour in zip(side, hours, strict=True):
            run.run_json["started_utc"] = f"2026-01-31T{hour:02}:00:00.000+00:00"
    notes = " ".join(compare_runs(*sides).notes)
    assert (told in notes) if told else ("began before" not in notes)
    assert "at least 5 runs a side" not in notes
    open_notes = " ".join(compare_runs(*sides, margin=0.0001).notes)
    assert "3 runs of a side leave much undecided: measure at least 5 runs a side" in open_notes


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"flushes": 0.0}, "flushes per operation: 1 in BASE, 0 in NEW"),
        ({"backend": "uring"}, "backend: sync in BASE, uring in NEW"),
        ({"block_size_bytes": 8192}, "block size: 4 KiB in BASE, 8 KiB in NEW"),
        (
            {"findings": [Finding("page-cache-answered", "invalid", "the page cache answered")]},
            "of NEW 5 of 5 trials do not describe the drive: page-cache-answered",
        ),
    ],
)
def test_numbers_that_mean_different_things_are_not_compared(
    made: MakeRun, changes: dict[str, object], why: str
) -> None:
    found = compared(made(), made(**changes))
    assert set(verdicts(found).values()) == {"not comparable"}
    assert all(any(why in reason for reason in row.why) for row in found.rows)
    assert not found.is_anything_compared
    assert all(row.p_value is None for row in found.rows)


def test_what_is_being_compared_is_told_and_the_comparison_goes_on(made: MakeRun) -> None:
    found = compare_runs(three(made), three(made, kernel="6.18.2", serial="S99X", firmware="NEWER", factor=1.5))
    differences = {one.what: (one.base, one.new) for one in found.differences}
    assert differences["kernel"] == (("6.12.41",), ("6.18.2",))
    assert differences["firmware"] == (("GXA7801Q",), ("NEWER",))
    assert "drive" in differences
    assert verdicts(found)["total_latency_ns_p50"] == "slower"


def test_a_factor_with_one_level_on_each_side_is_what_is_compared(made: MakeRun) -> None:
    found = compare_runs(three(made), three(made, filesystems=("xfs",), factor=1.5))
    assert {one.what: (one.base, one.new) for one in found.differences} == {"filesystem": (("ext4",), ("xfs",))}
    assert {row.verdict for row in found.rows if row.is_judged} == {"slower"}
    assert {tuple(row.levels) for row in found.rows} == {()}


def test_combinations_are_found_by_their_levels(made: MakeRun) -> None:
    found = compared(made(filesystems=("ext4", "xfs")), made(filesystems=("xfs", "btrfs")))
    assert {row.levels["filesystem"] for row in found.rows} == {"xfs"}
    assert (len(found.only_base), len(found.only_new)) == (1, 1)
    assert "ext4" in found.only_base[0]
    assert "btrfs" in found.only_new[0]


def test_other_workloads_have_nothing_in_common(made: MakeRun) -> None:
    found = compared(made(filesystems=("ext4", "xfs")), made(workload="reads"))
    assert found.rows == ()
    assert not found.is_anything_compared


def test_where_nothing_is_compared_nothing_is_said_to_limit_it(made: MakeRun) -> None:
    busy = Finding("foreign-work", "warning", "others worked", "0001-log-append")
    other = made(workload="reads", filesystems=("ext4", "xfs"))
    assert compared(made(findings=[busy]), other).notes == ()


def test_one_workload_on_each_side_is_what_is_meant_whatever_it_is_called(made: MakeRun) -> None:
    found = compare_runs(three(made), three(made, workload="reads", factor=1.5))
    assert {row.verdict for row in found.rows if row.is_judged} == {"slower"}
    assert (found.only_base, found.only_new) == ((), ())


def test_a_level_that_was_taken_on_one_side_only_is_not_compared(made: MakeRun) -> None:
    found = compared(made(), made(achieved={"filesystem": "xfs rw"}))
    assert all("filesystem ext4 as read back" in row.why[0] for row in found.rows)


def test_targets_of_another_name_belong_together_where_there_is_one(made: MakeRun) -> None:
    found = compared(made(), made(label="nvme1n1"))
    assert {(row.target_base, row.target_new) for row in found.rows} == {("sdb", "nvme1n1")}


def test_a_run_that_is_not_complete_and_one_on_a_busy_computer_are_noted(made: MakeRun) -> None:
    busy = made(findings=[Finding("foreign-work", "warning", "others used the drive", trial_count=5)], status="running")
    notes = " ".join(compared(made(), busy).notes)
    assert "not complete (running)" in notes
    assert f"This may be the whole difference: {busy.name} not alone on the computer in 5 trials." in notes


def test_what_a_run_knew_of_the_burst_of_its_drive_is_no_perhaps(made: MakeRun) -> None:
    facts = {"token": "I/Os", "base_per_s": 300.0, KNOWN_FROM: "monday-burst"}
    known = Finding("burst-credit", "warning", "on burst credit, and 300 a second without it", evidence=facts)
    notes = " ".join(compared(made(), made(findings=[known])).notes)
    assert "are on burst credit: without it 300 I/Os a second are left, as run monday-burst found." in notes
    assert "may be those of a burst" not in notes


def test_a_known_burst_is_told_by_what_is_left_of_it_where_it_stands_beside_another_drive(made: MakeRun) -> None:
    facts = {"token": "I/Os", "base_per_s": 300.0, KNOWN_FROM: "monday-burst"}
    known = Finding("burst-credit", "warning", "on burst credit, and 300 a second without it", evidence=facts)
    volume = made(findings=[known])
    same, other = made(), made(label="nvme1n1", serial="OTHER")
    # the same drive, before anybody knew: what was measured stands beside what was measured
    assert not are_told_by_others([same], [volume])
    assert are_told_by_others([other], [volume])
    assert are_told_by_others([volume], [volume])
    assert "latencies of sdb are on burst credit" in " ".join(compared(other, volume).notes)


def test_what_several_runs_have_in_common_is_noted_once(made: MakeRun) -> None:
    busy, hot = (Finding(code, "warning", "it was so") for code in ("foreign-work", "drive-hot"))
    base, new = made(findings=[busy]), made(findings=[busy, hot])
    (note,) = (note for note in compared(base, new).notes if "whole difference" in note)
    assert note == (
        f"This may be the whole difference: 2 of 2 runs not alone on the computer; {new.name} with a hot drive."
    )


def test_only_the_metrics_that_are_asked_for_are_compared(made: MakeRun) -> None:
    found = compare_runs(three(made), three(made, factor=2), metrics=("total_latency_ns_mean", "iops"))
    assert [(row.metric, row.is_judged, row.verdict) for row in found.rows] == [
        ("total_latency_ns_mean", True, "slower"),
        ("iops", True, "slower"),
    ]


def test_real_checks_are_matched_by_their_trials() -> None:
    found = compared(open_run(RUNS / "check-directory"), open_run(RUNS / "check-hostile-names"))
    assert {row.workload for row in found.rows} == {"sync-write-512", "sync-write-2300", "sync-write-4096"}
    assert len(found.only_base) == 6


@pytest.mark.provokes("U012")
def test_a_run_is_not_compared_with_itself() -> None:
    run = open_run(RUNS / "settings-scan-drive")
    with pytest.raises(DrivelabError, match="named 2 times") as caught:
        compared(run, run)
    assert caught.value.code == "U012"


@pytest.mark.provokes("U012")
def test_a_copy_of_a_run_is_no_other_run(made: MakeRun, tmp_path: Path) -> None:
    base, new, other = made(), made(), made()
    copied = open_run(Path(shutil.copytree(base.directory, tmp_path / "copied")))
    for sides in (([base], [copied]), ([base, copied], [new]), ([new], [base, other, copied])):
        with pytest.raises(DrivelabError, match=r"copied is a copy of run-1") as caught:
            compare_runs(*sides)
        assert caught.value.code == "U012"
        assert str(copied.directory) in (caught.value.where or "")
        assert str(base.directory) in (caught.value.where or "")
    assert len(compare_runs([base, other], [new]).base) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"started_utc": "2026-02-01T12:00:00.000+00:00"},
        {"seed": 2},
        {"host": {"hostname": "perch"}},
        {"targets": [{"label": "sdc"}]},
        {"started_utc": ""},
    ],
)
def test_runs_that_differ_in_start_seed_host_or_target_are_no_copies(
    made: MakeRun, tmp_path: Path, changes: dict[str, object]
) -> None:
    base = made()
    other = open_run(Path(shutil.copytree(base.directory, tmp_path / "other")))
    other.run_json.update(changes)
    assert len(compared(base, other).new) == 1


@pytest.mark.provokes("U013")
def test_an_unknown_metric_is_refused_with_those_that_come_near(made: MakeRun) -> None:
    with pytest.raises(DrivelabError) as caught:
        compared(made(), made(), metrics=("total_latency_p50",))
    assert caught.value.code == "U013"
    assert "total_latency_ns_p50" in caught.value.do


def test_a_margin_without_sense_is_refused(made: MakeRun) -> None:
    with pytest.raises(DrivelabError) as caught:
        compared(made(), made(), margin=1.5)
    assert caught.value.code == "U011"
