"""Steps at the same time: prepared one after the other, measured at once, stored one by one."""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
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
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.plan.awaited import awaited_of_run
from drivelab.plan.make import make_plan
from drivelab.run.engine import Progress
from drivelab.run.execute import Instruments, Outcome
from drivelab.run.progress import RunProgress
from drivelab.run.recorded import Conduct
from drivelab.run.together import Member
from drivelab.state.journal import begin_journal
from drivelab.store.columns import INTERVAL_COLUMNS, arrow_schema
from drivelab.store.read import open_run
from drivelab.store.write import create_run
from unit.run.test_execute import execution_of

EXPERIMENT = Experiment.model_validate(
    {
        "format": 1,
        "name": "both",
        "question": "?",
        "repeats": {"full": 1, "quick": 1},
        "workloads": [
            {"name": "reader", "operation": "read", "count": 9, "file_size": "64KiB", "together": "all"},
            {"name": "writer", "count": 9, "file_size": "64KiB", "durability": "fsync", "together": "all"},
        ],
    }
)


class MadeUpEngine:
    """Measures a group without issuing anything, and fails where it is told to."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.groups: list[list[Member]] = []
        self.failures: dict[str, DrivelabError] = {}
        self.stops = False

    def together(
        self, members: Sequence[Member], *, stop: Any, idle_watch_s: float = 0.0
    ) -> list[Measurement | DrivelabError]:
        self.groups.append(list(members))
        assert stop is self.stop
        for member in members:
            assert member.progress is not None
            assert member.progress(Progress(10**9, False, {"read": 10}, {"read": 1000}))
        if self.stops:
            self.stop.set()
        return [self.failures.get(member.title) or self.measured(member) for member in members]

    def measured(self, member: Member) -> Measurement:
        engine = {"operations": {}, "all_phases": {}, "measured_ns": 10**9}
        columns = arrow_schema(INTERVAL_COLUMNS).empty_table().drop_columns(["trial", "p50_ns", "p99_ns"])
        return Measurement(member.name, member.workload, engine, {("read", "total"): EMPTY}, pa.table(columns))

    def alone(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("nothing runs alone here, and no commands are counted")

    def judge(self, measured: Measurement, facts: TargetFacts) -> tuple[TrialSummary, Sequence[Finding]]:
        estimates = {"iops": Estimate(10.0, 9.0, 11.0, "1/s", 10, 10.0, "made up")}
        return TrialSummary(measured.name, str(measured.context["label"]), "read", estimates), []


class Bench:
    """A directory target and a run of one group in it."""

    def __init__(self, folder: Path) -> None:
        self.engine = MadeUpEngine()
        self.folder = folder
        (folder / "target").mkdir()
        self.facts = resolve_target(str(folder / "target"))
        self.plan = make_plan(EXPERIMENT, [self.facts], seed=3)
        self.writer = create_run(folder / "runs", "both", "x", datetime.now(UTC))
        self.writer.write_run_json({})
        self.told = io.StringIO()

    def run(self, completed: Sequence[str] = ()) -> Outcome:
        instruments = Instruments(
            self.engine.alone, self.engine.alone, self.engine.judge, measure_together=self.engine.together
        )
        progress = RunProgress("run", awaited_of_run(self.plan), self.told)
        conduct = Conduct(instruments, lambda *_: [], progress, self.engine.stop, host_facts(""))
        journal = begin_journal(self.folder / "journals")
        return execution_of(self.plan, self.facts, self.writer, journal, conduct, completed).run()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_all_of_a_group_are_measured_at_once_and_stored_one_by_one(bench: Bench) -> None:
    outcome = bench.run()
    (group,) = bench.engine.groups
    assert [member.title for member in group] == ["reader", "writer"]
    paths = [member.workload.target.path for member in group]
    assert len(set(paths)) == 2, "each has a file of its own"
    assert outcome.completed == 2
    rows = open_run(bench.writer.directory).trials.to_pylist()
    assert [row["label"] for row in rows] == ["reader (with writer)", "writer (with reader)"]
    assert "step 2 of 2, writer with reader: " in bench.told.getvalue()
    assert not any(Path(path).exists() for path in paths), "what was made is gone"


def test_there_is_no_second_pass_and_the_trial_says_why(bench: Bench) -> None:
    bench.run()
    rows = {row["workload"]: row for row in open_run(bench.writer.directory).trials.to_pylist()}
    assert "it ran together with reader" in rows["writer"]["context_json"]


def test_one_that_fails_leaves_the_others_and_is_run_again_beside_them(bench: Bench) -> None:
    failure = DrivelabError("E309", "the drive went away")
    bench.engine.failures["writer"] = failure
    outcome = bench.run()
    reader, writer = (step.trial for step in bench.plan.steps)
    assert outcome.failures == {writer: failure}
    assert open_run(bench.writer.directory).trial_names == [reader]
    bench.engine.failures.clear()
    again = bench.run(completed=[reader])
    assert [member.title for member in bench.engine.groups[-1]] == ["reader", "writer"], "the question is about both"
    assert again.completed == 1
    assert open_run(bench.writer.directory).trial_names == [reader, writer]


def test_a_group_that_is_there_is_not_run_again(bench: Bench) -> None:
    bench.run()
    bench.run(completed=[step.trial for step in bench.plan.steps])
    assert len(bench.engine.groups) == 1


def test_ctrl_c_keeps_none_of_a_group(bench: Bench) -> None:
    bench.engine.stops = True
    outcome = bench.run()
    assert outcome.is_interrupted
    assert open_run(bench.writer.directory).trial_names == []
