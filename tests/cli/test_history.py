"""``drivelab history``: the runs of one drive over dates, and what changed between them."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

from compared_runs import write_compared_run
from kept_checks import GOLDEN, TARGET, Kept

from drivelab.analyse.verdict import judge_need
from drivelab.answers.drive_of_run import is_on
from drivelab.answers.history import history_of
from drivelab.cli import main
from drivelab.cli.history import history_lines
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.history import NUMBERS
from drivelab.model.trial_summary import TrialSummary
from drivelab.needs.load import load_need
from drivelab.report.figures.over_dates import over_dates
from drivelab.report.history_joint import ends_table, joint_of_history, judged_sentences


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    folder = tmp_path / "runs"
    folder.mkdir()
    monkeypatch.setenv("DRIVELAB_RUNS", str(folder))
    return Kept(folder)


def test_a_drive_is_followed_by_its_serial_wherever_it_is_mounted(kept: Kept) -> None:
    kept.check(serial="OLD")
    kept.check(label="/mnt/before")
    kept.check()
    kept.check(label="/srv/other", serial="OTHER")
    history = history_of(kept.runs(), TARGET)
    assert [row.started_utc[:10] for row in history.rows] == ["2026-02-02", "2026-02-03"]
    assert history.rows[1].changes == ("target /mnt/before -> /var/lib/etcd",)
    assert history.others == 1, "the drive that was beneath before"
    assert history_of(kept.runs(), "S3EV").rows == history.rows
    assert not history_of(kept.runs(), "/nowhere").rows


def test_the_name_that_a_drive_has_in_the_kernel_means_the_one_that_had_it_last(kept: Kept) -> None:
    kept.check(serial="OLD", name="vdq")
    kept.check(serial="NEW", name="vdr")
    kept.check(serial="NEW", name="vdq", label="/srv/other")
    for typed in ("vdq", "/dev/vdq"):
        history = history_of(kept.runs(), typed)
        assert [row.started_utc[:10] for row in history.rows] == ["2026-02-02", "2026-02-03"]
        assert history.others == 1
    assert [is_on("vdr", run.record) for run in kept.runs()] == [False, True, False]


def test_without_a_serial_the_path_tells(kept: Kept) -> None:
    kept.check(serial="")
    kept.check(serial="", label="/srv/other")
    kept.check(serial="")
    assert len(history_of(kept.runs(), "/var/lib/../lib/etcd").rows) == 2


def test_what_changed_is_told_where_it_was_first_seen(kept: Kept) -> None:
    kept.check()
    kept.check(kernel="6.13.1", percentage_used=3)
    kept.check(kernel="6.13.1", firmware="GXA7901Q")
    kept.check(kernel="6.13.1", firmware="GXA7901Q", percentage_used=5)
    changes = [row.changes for row in history_of(kept.runs(), TARGET).rows]
    assert changes == [
        (),
        ("kernel 6.12.41 -> 6.13.1",),
        ("firmware GXA7801Q -> GXA7901Q",),
        ("wear 3 % -> 5 %",),
    ]


def test_numbers_are_those_of_the_check(kept: Kept) -> None:
    kept.check()
    (row,) = history_of(kept.runs(), TARGET).rows
    (run,) = kept.runs()
    assert row.numbers == {name: run.estimates(trial)[metric] for name, (trial, metric) in NUMBERS.items()}
    assert row.outcome == "pass"
    assert row.answer


def test_a_terminal_has_25_lines_of_80_characters_and_the_newest_run(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(28):
        kept.check(kernel=f"6.12.{number // 7}")
    assert main.run(["history", TARGET]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 25
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].startswith("No change shown: the check of 2026-02-28 12:00 lies within the scatter of 27")
    assert [lines[number].split() for number in (3, 4, 5)] == [
        ["4", "KiB", "4", "KiB", "1", "MiB", "4", "KiB", "flushes"],
        ["append", "append", "writes", "reads", "per"],
        ["when", "(UTC)", "fit?", "median", "p99", "QD", "8", "QD", "32", "append"],
    ]
    assert lines[-4].startswith("2026-02-28 12:00  yes")
    assert "older: --all" in lines[-1]
    assert main.run(["history", TARGET, "--all"]) == 0
    whole = capsys.readouterr().out
    assert "kernel 6.12.0 -> 6.12.1" in whole
    # answer, heads, a row each, changes of the kernel, what the columns are
    assert len(whole.splitlines()) == 3 + 3 + 28 + 3 + 2


def test_runs_of_experiments_are_rows_without_numbers(kept: Kept) -> None:
    kept.check(serial="", label="scratch:1GiB")
    shutil.copytree(GOLDEN / "queue-depth-grid", kept.folder / "20260301T000000Z-queue-depth-grid")
    label = kept.runs()[-1].record.targets[0]["label"]
    (row,) = history_of(kept.runs(), label).rows
    assert not row.numbers


def test_runs_of_other_kinds_are_counted_and_no_rows_beside_checks(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.check()
    for name in ("explain", "explain", "burst"):
        kept.check()
        kept.last_with(experiment={"name": name})
    history = history_of(kept.runs(), TARGET)
    assert [row.experiment for row in history.rows] == ["check"]
    assert [one.kind[0] for one in history.judged] == ["check"]
    assert main.run(["history", TARGET]) == 0
    assert "left out (they measure other things): 2 runs of explain, 1 run of burst: --all" in capsys.readouterr().out
    assert len(history_of(kept.runs(), TARGET, with_every_kind=True).rows) == 4
    left_out = "Left out (they measure other things): 2 runs of explain, 1 run of burst."
    assert left_out in joint_of_history(history).sentences


def test_runs_beside_other_drives_are_counted(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    kept.check()
    kept.check()
    (target,) = kept.runs()[-1].record.targets
    kept.last_with(targets=[target, target | {"label": "/srv"}])
    history = history_of(kept.runs(), TARGET)
    assert (len(history.rows), history.with_other_drives) == (1, 1)
    assert main.run(["history", TARGET]) == 0
    assert "1 run measured it beside other drives: drivelab runs" in capsys.readouterr().out.splitlines()
    assert main.run(["history", "/srv"]) == 0
    told = "no run of /srv alone is kept; 1 run measured it beside other drives: drivelab runs"
    assert capsys.readouterr().out.splitlines() == [told]


def test_a_model_needs_no_more_runs_on_a_quiet_machine(kept: Kept) -> None:
    kept.check(label="sim:gp2-100", serial="")
    document = kept.runs()[-1].record
    facts = document.targets[0]["facts_before"] | {"simulated": {"model": "gp2-100"}}
    kept.last_with(targets=[{**document.targets[0], "facts_before": facts}])
    told = history_lines(history_of(kept.runs(), "sim:gp2-100"), plain=False)
    assert told[0].startswith("The newest check (2026-02-01 12:00): Yes, this carries etcd")
    assert "Simulated: a model does the same again" in "\n".join(told)
    # another model under the same label is another drive
    kept.check(label="sim:gp2-100", serial="")
    kept.last_with(targets=[{**document.targets[0], "facts_before": facts | {"simulated": {"model": "disk"}}}])
    history = history_of(kept.runs(), "sim:gp2-100")
    assert (len(history.rows), history.others) == (1, 1)


def test_the_newest_check_is_told_with_its_verdict(kept: Kept) -> None:
    kept.check()
    slow = Estimate(20e6, 18e6, 22e6, "ns", 9000, 9000.0, "")
    log = TrialSummary("sync-write-2300", "", "durable_write", {"total_latency_ns_p99": slow})
    kept.last_with(verdict=judge_need(load_need("etcd"), [log], []).to_json())
    told = history_lines(history_of(kept.runs(), TARGET), plain=False)
    assert told[0].startswith("The newest check (2026-02-01 12:00) says no to etcd: 99 % of 2300-byte log")
    # what was cut off says less than what was measured whole before it
    kept.check()
    kept.last_with(status="interrupted", verdict=judge_need(load_need("etcd"), [], []).to_json())
    told = history_lines(history_of(kept.runs(), TARGET), plain=False)
    # what all gave comes first
    assert " ".join(told).startswith("4 KiB appends took 332 us (median) in both checks since 2026-02-01 12:00. The")
    assert told[1].startswith("The newest complete check (2026-02-01 12:00) says no to etcd: 99 % of 2300-byte")


def test_kinds_with_too_few_runs_are_not_listed_one_by_one(kept: Kept) -> None:
    for quick in (True, False):
        kept.check()
        kept.last_with(plan={"quick": quick})
    told = " ".join(history_lines(history_of(kept.runs(), TARGET), plain=False))
    assert "can't be told yet: that takes 6 more runs of one kind on a quiet machine." in told


def test_a_run_whose_p99_is_only_a_bound_is_the_last_one_all_the_same(kept: Kept) -> None:
    kept.check()
    kept.check()
    kept.check()
    history = history_of(kept.runs(), TARGET)
    worse = {
        "durable_write_p50": Estimate(19.8e6, 5.1e6, 37.2e6, "ns", 41, 41.0, ""),
        "durable_write_p99": Estimate(None, 22.9e6, None, "ns", 41, 41.0, ""),
    }
    rows = (*history.rows[:2], replace(history.rows[2], numbers=worse, need="etcd", outcome="undecided"))
    joint = joint_of_history(replace(history, rows=rows))
    cells = {row[0].text: [plain(cell.text) for cell in row[1:]] for row in joint.tables[0].rows}
    # a row is of one run
    assert cells["last"] == ["19.8 ms", "≥ 22.9 ms", "–", "–", "–"]
    assert cells["highest"][:2] == ["19.8 ms", "≥ 22.9 ms"]
    assert [row[1].text for row in joint.tables[1].rows] == ["yes", "yes", "? etcd"]


def test_a_quick_run_and_one_that_was_cut_off_are_held_against_no_full_one(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(7):
        kept.check()
    kept.check()
    kept.last_with(plan={"quick": True})
    kept.check()
    kept.last_with(status="interrupted")
    history = history_of(kept.runs(), TARGET)
    assert [(one.run[:8], one.kind[1], one.earlier_count, one.missing_count) for one in history.judged] == [
        ("20260208", "quick", 0, 6),
        ("20260207", "full", 6, 0),
    ]
    assert main.run(["history", TARGET]) == 0
    out = capsys.readouterr().out
    assert out.startswith("No change shown: the check of 2026-02-07 12:00 lies within the scatter of 6")
    few = "Whether a run is an exception can't be told yet: that takes 6 more runs of 'check --quick' on a quiet"
    assert few in out.replace("\n", " ")
    assert "2026-02-08 12:00  yes, quick " in out
    assert "2026-02-09 12:00  yes, cut off " in out


def test_what_was_asked_and_how_it_was_run_go_on_below_where_a_column_ends(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.check()
    kept.last_with(experiment={"name": "honest-throughput"}, plan={"quick": True}, status="interrupted")
    kept.check()
    assert main.run(["history", TARGET, "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first, *below, last = lines[next(n for n, line in enumerate(lines) if line.startswith("2026-02-01")) : -2]
    assert first.split()[2] == "honest-"
    assert [line.strip() for line in below] == ["throughput,", "quick, cut off"]
    assert last.startswith("2026-02-02 12:00  yes ")


def test_a_run_that_failed_says_why_below_its_row(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    kept.check()
    kept.check()
    kept.last_with(status="failed", verdict=None, error="KeyError: 'durability'")
    assert main.run(["history", TARGET]) == 0
    out = capsys.readouterr().out
    assert re.search(r"2026-02-02 12:00  failed  .*\n  ! KeyError: 'durability'\n", out)
    joint = joint_of_history(history_of(kept.runs(), TARGET))
    assert "The run of 2026-02-02 12:00 failed: KeyError: 'durability'." in joint.sentences


def test_a_run_beside_the_work_of_others_is_held_against_no_other(kept: Kept) -> None:
    busy = Finding("foreign-work", "warning", "this trial was not alone")
    for number in range(3):
        findings = [busy] if number == 1 else []
        write_compared_run(kept.folder / f"2026020{number}T000000Z-log", number, findings=findings)
    history = history_of(kept.runs(), "sdb")
    assert [row.left_out for row in history.rows] == ["", "busy machine", ""]
    assert history.judged[0].earlier_count == 1


@pytest.mark.parametrize(("factor", "told"), [(1.25, "slower"), (0.8, "faster"), (1.0, "")])
def test_the_newest_run_is_told_where_it_lies_beyond_the_scatter_of_earlier_ones(
    kept: Kept, capsys: pytest.CaptureFixture[str], factor: float, told: str
) -> None:
    for number in range(8):
        of_run = factor if number == 7 else 1.0
        directory = kept.folder / f"2026020{number}T000000Z-log"
        write_compared_run(directory, number, factor=of_run, repeats=1, run_noise=0.02)
    history = history_of(kept.runs(), "sdb")
    assert [row.verdict for row in history.judged[0].changed] == ([told] if told else [])
    assert main.run(["history", "sdb"]) == 0
    first = capsys.readouterr().out.split("\n\n")[0].replace("\n", " ")
    if told:
        assert first.startswith("4 KiB appended + fdatasync, ext4 was ")
        assert f"% {told} in the log of 2026-01-31 12:00 than in 7 earlier runs like it: " in first
        assert first.endswith("was to be expected.")
    else:
        assert first.startswith("No change shown: ")


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_the_page_draws_the_latency_over_dates_with_marks(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    kept.check()
    kept.check(kernel="6.13.1")
    out = kept.folder.parent / "history.html"
    assert main.run(["history", TARGET, "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    page = out.read_text()
    assert "What did /var/lib/etcd give over time?" in page
    assert "Durable 4\u00a0KiB writes over dates" in page
    history = history_of(kept.runs(), TARGET)
    figure = over_dates(history.rows)
    assert figure is not None
    p50, p99, marks = figure.plots[0].data
    assert [len(line["x"]) for line in (p50, p99, marks)] == [2, 2, 1]
    assert all(below <= above for below, above in zip(p50["y"], p99["y"], strict=True))
    assert marks["text"] == ["kernel 6.12.41 -&gt; 6.13.1"]


def test_the_line_goes_through_full_runs_and_others_are_marks(kept: Kept) -> None:
    for _ in range(4):
        kept.check()
    rows = history_of(kept.runs(), TARGET).rows
    figure = over_dates([rows[0], replace(rows[1], is_quick=True), replace(rows[2], left_out="busy machine"), rows[3]])
    assert figure is not None
    p50, p99, others = figure.plots[0].data
    assert p50["x"] == p99["x"] == [rows[0].started_utc, rows[3].started_utc]
    assert others["name"] == "quick, busy or cut off"
    assert others["x"] == [rows[1].started_utc, rows[2].started_utc] * 2
    joint = joint_of_history(history_of(kept.runs(), TARGET))
    worse = {"durable_write_p50": Estimate(19.8e6, 5.1e6, 37.2e6, "ns", 41, 41.0, "")}
    ends = ends_table([*rows, replace(rows[3], numbers=worse, is_quick=True)])
    assert ends.rows == joint.tables[0].rows


def test_one_run_is_no_figure(kept: Kept) -> None:
    kept.check()
    joint = joint_of_history(history_of(kept.runs(), TARGET))
    assert not joint.figures
    assert len(joint.tables[1].rows) == 1


def test_an_unknown_ending_names_those_there_are(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    kept.check()
    assert main.run(["history", TARGET, "--out", "x.foo"]) == 2
    error = capsys.readouterr().err
    assert ".html, .md, .csv, .json" in error
    # an option of other commands
    assert "--format" not in error


def test_json_has_every_run(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    kept.check()
    assert main.run(["history", TARGET, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (row,) = document["runs"]
    assert (document["target"], document["left_out"]) == (TARGET, 0)
    assert row["numbers"]["durable_write_p99"]["unit"] == "ns"
    assert row["facts"]["firmware"] == "GXA7801Q"


def test_what_nobody_measured_says_how(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["history", "/nowhere"]) == 0
    assert capsys.readouterr().out == "no run of /nowhere is kept: drivelab check /nowhere\n"


def test_where_every_run_was_disturbed_it_is_told_how_many_it_takes(kept: Kept) -> None:
    kept.check()
    (row,) = history_of(kept.runs(), TARGET).rows
    disturbed = replace(history_of(kept.runs(), TARGET), rows=(replace(row, left_out="busy machine"),), judged=())
    assert judged_sentences(disturbed)[-1] == (
        "No run here shows the drive undisturbed (busy machine). Whether a run is an exception takes 7 runs of one "
        "kind on a quiet machine."
    )
