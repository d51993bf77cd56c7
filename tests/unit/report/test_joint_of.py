"""A report of one run, of several, of published pages: question, answer, what differs, which table comes first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_up_results import levels, observed, result_set

from drivelab.joint_report import joint_report
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.result_set import SIMULATED, Machine, MeasuredDrive, Observation, ResultSet
from drivelab.model.rounds import FiveRounds, PhaseRounds, TrackedSeries
from drivelab.model.run_answer import RunAnswer
from drivelab.model.token_bucket import TokenBucket
from drivelab.reference.load import load_reference
from drivelab.report.content import ReportContent
from drivelab.report.joint_of import NOTHING_IN_COMMON, joint_of, most_telling_first
from drivelab.report.run_differences import run_differences
from drivelab.report.sentences.run import plain_text
from drivelab.report.tables.table import Table, TableColumn, text_rows
from drivelab.store.read import open_run
from golden_reports import golden_joint

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"


def content(name: str, **facts: object) -> ReportContent:
    """A run of which only facts are known."""
    return ReportContent(name, "Small writes", "What does one durable byte cost?", (), facts=facts)


def drive(serial: str, **changes: object) -> dict[str, object]:
    return {"model": "A", "serial": serial, "firmware": "1.0", "scheduler": "none"} | changes


def test_one_run_keeps_its_own_question_and_answer() -> None:
    joint = golden_joint("settings-scan-drive")
    assert joint.question == "Which setting changes what one durable byte costs?"
    assert joint.sentences == (
        (
            "1 byte appended + fdatasync: write-cache off is 3.3 to 3.4 times as fast as write-cache as found, "
            "313\u00a0µs instead of 1.05\u00a0ms, with 2 fewer flushes per operation."
        ),
        (
            "Also scheduler bfq is 20 to 23 % slower than scheduler as found; "
            "no effect of 5\u00a0% or more: read-ahead 128 KiB."
        ),
        "Not taken, so not judged: scheduler none.",
    )
    assert joint.notes == ()
    assert joint.runs[0].name == "settings-scan-drive"


def test_runs_of_one_drive_with_one_question_are_answered_once() -> None:
    name = "queue-depth-grid"
    alone, joint = golden_joint(name), golden_joint(name, name, name)
    assert joint.question == alone.question
    (name,) = {drive.name.partition(" (")[0] for one in joint.result_sets for drive in one.drives}
    assert joint.sentences[0] == f"{name} (3 runs): {alone.sentences[0]}"


def test_several_runs_are_compared_and_told_in_the_order_given() -> None:
    runs = [open_run(RUNS / name) for name in ("check-hostile-names", "check-directory")]
    joint = joint_report(runs)
    assert joint.question == "How do these 2 runs compare?"
    assert joint.title == "2 runs"
    assert [run.name for run in joint.runs] == [one.key for one in joint.result_sets] == [run.name for run in runs]
    assert "SAMSUNG MZQL2480HCHQ 480 GB looked 30 times as fast as" in joint.sentences[0]
    assert joint.tables[-1].key == "runs"
    assert any(note.startswith("Only in check-directory: ") for note in joint.notes)


def test_runs_with_nothing_in_common_say_so_and_tell_their_own() -> None:
    joint = golden_joint("fill-level-drive", "settings-scan-drive")
    assert joint.sentences[0] == NOTHING_IN_COMMON
    assert joint.sentences[1].startswith("fill-level-drive: 8 MiB random writes: 478 MB/s at fill level 20 %")
    assert joint.sentences[2].startswith("settings-scan-drive: 1 byte appended")


def test_runs_of_the_same_drives_answer_their_question_together() -> None:
    name = "write-size-two-drives"
    alone, joint = golden_joint(name), golden_joint(name, name)
    first = joint.sentences[0]
    assert first.startswith("In both runs sdb is 1.6 to 12 times as fast as sdc; the intervals of single repeats")
    assert alone.sentences[0].startswith(first.removeprefix("In both runs ").removesuffix("."))
    assert NOTHING_IN_COMMON not in joint.sentences


def test_a_model_beside_a_drive_is_shown_and_not_judged() -> None:
    sets = [result_set("a", observed("A", 50, 49, 51)), result_set("b", observed("B", 90, 89, 91, run=SIMULATED))]
    joint = joint_of([content(one.key) for one in sets], sets)
    told = "A simulated drive is not held against one that was measured: both are shown, and none is judged."
    assert joint.sentences[0] == told


def test_runs_in_phases_of_several_drives_answer_as_one_run_of_all_of_them() -> None:
    def run(target: str, iops: float) -> ReportContent:
        window = FiveRounds(iops, 0.05, 0.02, 1.0, True)
        tracked = TrackedSeries("random", {"block_size": "4KiB"}, "iops", "1/s", (), window)
        rounds = PhaseRounds(target, "rounds", 25, 25, "steady", (21, 25), (tracked,))
        return replace(content(target, targets=[{"label": target}]), answer=RunAnswer((), rounds=(rounds,)))

    def results(name: str, value: float) -> ResultSet:
        return result_set(name, observed(name, value, value - 5, value + 5))

    runs, sets = [run("A", 900.0), run("B", 4000.0)], [results("A", 100), results("B", 20)]
    joint = joint_of(runs, sets)
    first = plain_text(joint.sentences[0])
    assert first == "B is 4.4 times as fast as A, 4 000 IOPS against 900 IOPS (random 4 KiB), both steady."
    assert [row[0].text for row in joint.tables[0].rows] == ["A: rounds", "B: rounds"]
    # two runs of one drive are no contest
    again = joint_of([run("A", 900.0), run("A", 4000.0)], [results("A", 100), replace(results("A", 20), key="B")])
    assert "times as fast" not in again.sentences[0]


def test_what_a_published_page_has_in_common_and_does_not_describe_the_drive_is_said() -> None:
    def of(drive: str, value: float, invalid: int, key: str, *, is_reference: bool) -> ResultSet:
        estimate = Estimate(value, None, None, "B/s", 3, 3.0, "")
        one = Observation(
            *(drive, "", "no-sync", "writes without a sync", "write", THROUGHPUT, estimate, {}, 1 << 20),
            trial_count=3,
            invalid_trials=invalid,
        )
        return ResultSet(key, "made", "", "nowhere", is_reference=is_reference, observations=(one,))

    published = of("Samsung 840", 2.5e9, 0, "page", is_reference=True)
    joint = joint_of([content("mine")], [of("mine", 2.9e9, 3, "mine", is_reference=False), published])
    assert joint.sentences[0].replace("\u202f", " ") == (
        "Writes without a sync: 2.9 GB/s does not describe the drive, so it is not compared with "
        "the 2.5 GB/s of Samsung 840, as published."
    )
    deep = of("mine", 2.9e9, 0, "mine", is_reference=False)
    deep = replace(deep, observations=(replace(deep.observations[0], queue_depth=4),))
    least = Estimate(None, 2.6e8, 2.7e8, "B/s", 0, 0.0, "")
    page = replace(published, observations=(replace(published.observations[0], estimate=least),))
    assert joint_of([content("mine")], [deep, page]).sentences[0].replace("\u202f", " ") == (
        "Writes without a sync: 2.9 GB/s with 4 outstanding; published without a depth: 260 to 270 MB/s (Samsung 840)."
    )
    other = replace(published, observations=(replace(published.observations[0], workload="other"),))
    alone = joint_of([content("mine")], [of("mine", 2.9e9, 3, "mine", is_reference=False), other])
    assert alone.sentences[0] == "No published drive was measured with the same workload and settings."


def test_a_question_that_all_have_is_the_question() -> None:
    sets = [result_set(name, observed(name, 50, 45, 55)) for name in ("a", "b")]
    assert joint_of([content("a"), content("b")], sets).question == "What does one durable byte cost?"


def test_published_numbers_alone_are_a_report() -> None:
    page = load_reference("ssd-latency")
    joint = joint_of([], [page])
    assert (joint.question, joint.title) == (page.question, page.title)
    assert joint.runs == ()
    assert "runs" not in {table.key for table in joint.tables}
    assert joint_of([], [page, load_reference("intel-530")]).question == "What do these 2 published pages answer?"


def test_a_run_beside_a_page_asks_how_they_compare() -> None:
    run = open_run(RUNS / "settings-scan-drive")
    joint = joint_report([run], [load_reference("ssd-latency")])
    assert joint.question == "How does this run compare with published numbers?"
    assert joint.title == "1 run beside a published page"


def test_the_table_with_most_drives_comes_first_and_descriptions_last() -> None:
    def table(key: str, *rows: str) -> Table:
        return Table(key, key, (TableColumn("drive"),), text_rows([[row] for row in rows]))

    given = [table("hardware", "h"), table("verbatim", "x"), table("disks", "A"), table("pivot", "A")]
    wide = table("results-by-setting", "A", "B")
    keys = [one.key for one in most_telling_first([*given, wide, table("drives", "A")])]
    assert keys == ["results-by-setting", "pivot", "disks", "verbatim", "drives", "hardware"]
    same = table("results-by-setting", "A", "A")
    assert most_telling_first([same, *given])[0].key == "pivot"


def on(found: object) -> dict[str, object]:
    """Facts of a run on one drive."""
    return {"targets": [{"label": "sdb", "facts_before": {"drives": [found]}}]}


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({"host": {"kernel_release": "6.18.0"}}, "Kernel: 6.12.41 (a); 6.18.0 (b)."),
        ({"host": {"cpu_governor": "powersave"}}, "CPU governor: performance (a); powersave (b)."),
        ({"plan": {"quick": True}}, "Scaled down (--quick): no (a); yes (b)."),
        ({"status": "interrupted"}, "Not complete: b."),
        (on(drive("S1", firmware="2.0")), "Firmware of S1: 1.0 (a); 2.0 (b)."),
        (on(drive("S1", scheduler="bfq")), "Scheduler of S1: none (a); bfq (b)."),
        (
            on(drive("S1", write_cache={"drive_enabled": False})),
            "Write cache of S1 as found: on (a); off (b).",
        ),
    ],
)
def test_what_differs_between_runs_is_named(changed: dict[str, object], note: str) -> None:
    same: dict[str, object] = {
        "host": {"kernel_release": "6.12.41", "cpu_governor": "performance"},
        **on(drive("S1", write_cache={"drive_enabled": True})),
        "status": "complete",
    }
    sets = [result_set(name, observed("A", 50, 45, 55)) for name in ("a", "b")]
    alike = run_differences([content("a", **same), content("b", **same)], sets)
    assert alike == ("The same drive (A, serial S1) was measured in a, b.",)
    assert note in run_differences([content("a", **same), content("b", **(same | changed))], sets)


def test_other_levels_workloads_and_dates_are_named() -> None:
    first = result_set("a", observed("A", 50, levels=levels(write_cache="on")), observed("A", 9, workload="w1"))
    second = result_set("b", observed("B", 50, levels=levels(write_cache="off")), measured="2026-03-01")
    notes = run_differences([content("a"), content("b")], [first, second])
    assert notes == (
        "Measured between 2026-01-31 and 2026-03-01: 2026-01-31 (a); 2026-03-01 (b).",
        "Levels of write-cache: on (a); off (b).",
        "Only in a: 512 B durable write.",
    )


def test_the_kernel_of_a_page_counts_as_well() -> None:
    page = result_set("reference:p", observed("P", 5), is_reference=True, machines=(Machine("rc01", kernel="3.16.7"),))
    run = result_set("a", observed("A", 50))
    notes = run_differences([content("a", host={"kernel_release": "6.12.41"})], [run, page])
    assert "Kernel: 6.12.41 (a); 3.16.7 (reference:p)." in notes


def test_runs_that_watched_for_bursts_begin_with_these_and_not_with_a_mean_over_rests() -> None:
    def of(name: str, rate: float) -> ReportContent:
        bucket = TokenBucket("no end", "I/Os", 20.0, 20 * rate, rate, is_flat=True)
        return replace(content(name), answer=RunAnswer(buckets=((name, bucket),)))

    sets = [result_set(name, observed(name, 50, 45, 55)) for name in ("ssd", "disk")]
    joint = joint_of([of("ssd", 60_000.0), of("disk", 600.0)], sets)
    assert joint.sentences[0].replace("\u202f", " ") == (
        "ssd is 100 times as fast as disk at random reads, 60 000 against 600 IOPS; measured once."
    )
    assert joint.sentences[1] == "No burst ended within 20 s."


def test_a_drive_whose_burst_one_run_saw_end_is_told_by_what_lasts() -> None:
    fast = TokenBucket("no end", "I/Os", 20.0, 7.7e6, 385_000.0, is_flat=True)
    unended = TokenBucket("no end", "I/Os", 20.0, 60_000.0, 3000.0, is_flat=True)
    ended = TokenBucket("bucket", "I/Os", 2100.0, 6e6, 3000.0, 300.0, 5.4e6, 2000.0, (300.0,), (299.0, 301.0))
    runs = [
        replace(content(name), answer=RunAnswer(buckets=((name, bucket),)))
        for name, bucket in (("ssd", fast), ("volume", unended), ("volume", ended))
    ]
    sets = [
        replace(result_set(f"{name} {number}", observed(name, 50, 45, 55)), drives=(MeasuredDrive(name),))
        for number, name in enumerate(("ssd", "volume", "volume"))
    ]
    first, *others = (text.replace("\u202f", " ") for text in joint_of(runs, sets).sentences)
    assert "1 300 times as fast as volume" in first
    assert "385 000 against 300 IOPS once bursts are over" in first
    assert not any("No burst ended" in text for text in others)


def test_of_one_run_no_means_over_settings_stand_beside_its_sentences() -> None:
    run = golden_joint("ssd-latency-scratch")
    means, plain = (replace(run.tables[0], key=key, is_of_means=key == "pivot") for key in ("pivot", "results"))
    assert replace(run, tables=(means, plain)).leading_tables == (plain,)
    assert replace(run, tables=(means,)).leading_tables == (means,)
    several = replace(run, tables=(means, plain), runs=run.runs * 2, result_sets=run.result_sets * 2)
    assert several.leading_tables == (means,)
