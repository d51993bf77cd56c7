"""A plan is carried out step by step: what was measured is kept, and nothing is left changed."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from drivelab.inventory.host import host_facts
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.experiment import Experiment
from drivelab.model.finding import Finding
from drivelab.model.histogram import EMPTY
from drivelab.model.measurement import Measurement
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import Workload
from drivelab.plan.awaited import awaited_of_run
from drivelab.plan.make import make_plan
from drivelab.run.engine import Progress
from drivelab.run.execute import Execution, Instruments
from drivelab.run.progress import RunProgress
from drivelab.run.recorded import Conduct, TargetStages
from drivelab.state.journal import Journal, begin_journal
from drivelab.store.columns import INTERVAL_COLUMNS, arrow_schema
from drivelab.store.read import open_run
from drivelab.store.write import RunWriter, create_run

EXPERIMENT = Experiment.model_validate(
    {
        "format": 1,
        "name": "appends",
        "question": "?",
        "repeats": {"full": 2, "quick": 1},
        "factors": [{"setting": "workload", "key": "block_size", "levels": ["4KiB", "64KiB"]}],
        "workloads": [{"name": "log", "count": 10, "file_state": "append", "durability": "fdatasync"}],
    }
)


class MadeUpDrive:
    """Stands in for engine and analysis: writes each trial's file, and fails where it is told to."""

    def __init__(self) -> None:
        self.workloads: list[Workload] = []
        self.fail_at: dict[int, BaseException] = {}
        self.stop_at = 0
        self.stop = threading.Event()
        self.counted = 0

    def measure(
        self, name: str, workload: Workload, target: TargetFacts, *, progress: Any = None, **_: Any
    ) -> Measurement:
        self.workloads.append(workload)
        Path(workload.target.path).write_bytes(b"x" * 100)
        assert progress(Progress(10**9, False, {"write": 10}, {"write": 1000}))
        failure = self.fail_at.get(len(self.workloads))
        if failure is not None:
            raise failure
        if len(self.workloads) == self.stop_at:
            self.stop.set()
        engine = {
            "operations": {"write": {"count": 10, "bytes": 1000}},
            "all_phases": {"write": {"count": 10, "bytes": 1000}},
            "measured_ns": 10**9,
        }
        columns = arrow_schema(INTERVAL_COLUMNS).empty_table().drop_columns(["trial", "p50_ns", "p99_ns"])
        return Measurement(name, workload, engine, {("write", "total"): EMPTY}, pa.table(columns))

    def count_commands(self, workload: Workload, target: TargetFacts, **_: Any) -> dict[str, Any]:
        self.counted += 1
        return {"command_counts": {"flushes": 10}}

    def judge(self, measured: Measurement, facts: TargetFacts) -> tuple[TrialSummary, Sequence[Finding]]:
        estimates = {"iops": Estimate(10.0, 9.0, 11.0, "1/s", 10, 10.0, "made up")}
        found = [Finding("made-up", "note", "it was made up", measured.name)]
        return TrialSummary(measured.name, str(measured.context["label"]), "durable_write", estimates), found


def execution_of(
    plan: Plan, facts: TargetFacts, writer: RunWriter, journal: Journal, conduct: Conduct, completed: Sequence[str] = ()
) -> Execution:
    """The execution of a plan on one target, with the stages of a run."""
    stages = TargetStages(plan, {plan.targets[0].label: facts}, journal, conduct)
    return Execution(
        plan,
        stages.by_label,
        writer,
        instruments=conduct.instruments,
        progress=conduct.progress,
        stop=conduct.stop,
        put_back=stages.put_back,
        completed=completed,
    )


class Bench:
    """A directory target, a plan for it, and everything to carry it out with."""

    def __init__(self, folder: Path) -> None:
        self.drive = MadeUpDrive()
        self.target_directory = folder / "target"
        self.target_directory.mkdir()
        facts = self.facts = resolve_target(str(self.target_directory))
        self.plan: Plan = make_plan(EXPERIMENT, [facts], seed=3)
        self.writer: RunWriter = create_run(folder / "runs", "appends", "x", datetime.now(UTC))
        self.writer.write_run_json({})
        self.journal: Journal = begin_journal(folder / "journals")
        self.told = io.StringIO()
        instruments = Instruments(self.drive.measure, self.drive.count_commands, self.drive.judge)
        progress = RunProgress("run", awaited_of_run(self.plan), self.told)
        conduct = Conduct(instruments, lambda *_: [], progress, self.drive.stop, host_facts(""))
        self.execution = execution_of(self.plan, facts, self.writer, self.journal, conduct)

    def trials(self) -> list[str]:
        return open_run(self.writer.directory).trial_names

    def events(self) -> list[str]:
        lines = (self.writer.directory / "journal.jsonl").read_text().splitlines()
        return [json.loads(line)["event"] for line in lines]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_trial_ends_once_it_has_measured_enough(bench: Bench) -> None:
    pattern = bench.plan.steps[0].pattern.changed(enough_bytes=2000, enough_after="2s")
    plan = replace(bench.plan, steps=(replace(bench.plan.steps[0], pattern=pattern),))
    told: list[bool] = []

    def measure(*asked: Any, progress: Any, **more: Any) -> Measurement:
        for elapsed_s, is_ramping, moved in ((1, False, 2000), (2, False, 1999), (3, True, 2000), (2, False, 2000)):
            told.append(progress(Progress(elapsed_s * 10**9, is_ramping, {"write": 10}, {"write": moved})))
        return bench.drive.measure(*asked, progress=lambda _: True, **more)

    instruments = Instruments(measure, bench.drive.count_commands, bench.drive.judge)
    progress = RunProgress("run", awaited_of_run(plan), bench.told)
    conduct = Conduct(instruments, lambda *_: [], progress, bench.drive.stop, host_facts(""))
    assert execution_of(plan, bench.facts, bench.writer, bench.journal, conduct).run().completed == 1
    assert told == [True, True, True, False]


def test_no_pass_follows_a_trial_where_none_is_wanted(bench: Bench) -> None:
    instruments = Instruments(bench.drive.measure, None, bench.drive.judge)
    progress = RunProgress("run", awaited_of_run(bench.plan), bench.told)
    conduct = Conduct(instruments, lambda *_: [], progress, bench.drive.stop, host_facts(""))
    assert execution_of(bench.plan, bench.facts, bench.writer, bench.journal, conduct).run().completed == 4
    run = open_run(bench.writer.directory)
    assert {json.loads(row["context_json"])["command_counts_reason"] for row in run.trials.to_pylist()} == {
        "no pass of its own was asked for"
    }


def test_every_step_is_measured_judged_and_stored(bench: Bench) -> None:
    outcome = bench.execution.run()
    assert bench.trials() == [step.trial for step in bench.plan.steps]
    assert outcome.completed == 4
    rows = open_run(bench.writer.directory).trials.to_pylist()
    assert [(row["asked_block_size"], row["repeat"], row["step"]) for row in rows] == [
        (step.levels["block_size"], step.repeat, step.number) for step in bench.plan.steps
    ]
    assert {row["label"] for row in rows} == {"log, block size 4 KiB", "log, block size 64 KiB"}
    assert [finding.code for finding in open_run(bench.writer.directory).findings] == ["made-up"] * 4
    assert bench.events() == ["step done"] * 4


def test_each_trial_issues_what_its_step_says(bench: Bench) -> None:
    bench.execution.run()
    for step, workload in zip(bench.plan.steps, bench.drive.workloads, strict=True):
        assert workload.block_sizes[0].bytes == step.pattern.block_size
        assert (workload.seed, workload.limits.count) == (step.seed, 10)
        assert workload.target.create


def test_commands_are_counted_for_small_durable_writes(bench: Bench) -> None:
    bench.execution.run()
    assert bench.drive.counted == 2, "once for each combination, not for its repeat"
    run = open_run(bench.writer.directory)
    contexts = [run.measurement(trial).context for trial in run.trial_names]
    assert [context["command_counts"]["flushes"] for context in contexts] == [10] * 4
    assert {context["command_counts_trial"] for context in contexts[2:]} <= set(run.trial_names[:2])


def test_nothing_is_left_in_the_target_directory(bench: Bench) -> None:
    bench.execution.run()
    assert list(bench.target_directory.iterdir()) == []
    assert bench.journal.outstanding == ()


def test_a_step_that_fails_ends_itself_only(bench: Bench) -> None:
    bench.drive.fail_at[2] = DrivelabError("T107", "the drive went away", where="here")
    outcome = bench.execution.run()
    failed = bench.plan.steps[1].trial
    assert list(outcome.failures) == [failed]
    assert bench.trials() == [step.trial for step in bench.plan.steps if step.trial != failed]
    assert "step failed" in bench.events()
    assert "failed [T107]: the drive went away" in bench.told.getvalue()


@pytest.mark.parametrize("failure", [DrivelabError("S502", "full"), KeyboardInterrupt(), ZeroDivisionError()])
def test_what_ends_the_run_puts_everything_back_first(bench: Bench, failure: BaseException) -> None:
    bench.drive.fail_at[3] = failure
    with pytest.raises(type(failure)):
        bench.execution.run()
    assert list(bench.target_directory.iterdir()) == []
    assert bench.journal.outstanding == ()
    assert bench.trials() == [step.trial for step in bench.plan.steps[:2]]
    assert bench.execution.outcome.completed == 2


def test_the_trial_in_flight_when_the_user_asks_for_the_end_is_not_kept(bench: Bench) -> None:
    bench.drive.stop_at = 3
    outcome = bench.execution.run()
    assert outcome.is_interrupted
    assert len(bench.drive.workloads) == 3
    assert bench.trials() == [step.trial for step in bench.plan.steps[:2]]
    assert list(bench.target_directory.iterdir()) == []


def test_a_pipe_gets_one_line_per_step_with_the_time_left(bench: Bench) -> None:
    bench.execution.run()
    lines = [line for line in bench.told.getvalue().splitlines() if line.startswith("step ")]
    assert len(lines) == 4
    assert lines[0].startswith(f"step 1 of 4, log {bench.plan.steps[0].levels['block_size']}: 10")
    assert lines[0].endswith(" left")
    assert not lines[-1].endswith(" left")
    assert all(len(line) <= 80 for line in bench.told.getvalue().splitlines())
    assert "\x1b" not in bench.told.getvalue()
