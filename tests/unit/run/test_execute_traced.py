"""Every trial of a traced plan gets a traced pass of its own, after it was timed and only when that went well."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivelab.inventory.host import host_facts
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.plan.awaited import awaited_of_run
from drivelab.run import traced_pass
from drivelab.run.execute import Instruments
from drivelab.run.prepared_trial import PreparedTrial
from drivelab.run.progress import RunProgress
from drivelab.run.recorded import Conduct
from drivelab.run.traced_pass import TraceTools
from drivelab.store.read import open_run
from unit.run.test_execute import Bench, execution_of
from unit.store.made_traces import events, operations


class TracedBench(Bench):
    """The same, of a plan whose trials are traced; the pass itself is made up."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, source: Any = "auto") -> None:
        super().__init__(folder)
        self.traced: list[tuple[str, str | None]] = []
        self.stop_at_trace = 0
        self.plan = replace(self.plan, trace=source)
        facts = resolve_target(str(self.target_directory))
        tools: Any = TraceTools(collect=None, join=None, environment=None)  # type: ignore[arg-type]
        instruments = Instruments(self.drive.measure, self.drive.count_commands, self.drive.judge, tools)
        progress = RunProgress("run", awaited_of_run(self.plan), io.StringIO())
        conduct = Conduct(instruments, lambda *_: [], progress, self.drive.stop, host_facts(""))
        self.execution = execution_of(self.plan, facts, self.writer, self.journal, conduct)
        monkeypatch.setattr(traced_pass, "traced_pass", self.trace)

    def trace(
        self, trial: PreparedTrial, measured: Measurement, sink: Any, tools: Any, *, source: str | None, stop: Any
    ) -> dict[str, Any]:
        assert Path(trial.workload.target.path).exists(), "the trial's file is still there"
        self.traced.append((measured.name, source))
        if len(self.traced) == self.stop_at_trace:
            stop.set()
        with sink as into:
            (into.recording / "sda.blktrace.0").write_bytes(b"recorded")
            into.keep(operations(5), events(5))
        return {"trace": {"source": "tracefs"}, "trace_reason": ""}


@pytest.mark.parametrize(("plan_says", "asked"), [("auto", None), ("relay", "relay")])
def test_every_repeat_is_traced_and_no_commands_are_counted_besides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan_says: str, asked: str | None
) -> None:
    bench = TracedBench(tmp_path, monkeypatch, plan_says)
    assert bench.execution.run().completed == 4
    run = open_run(bench.writer.directory)
    assert bench.traced == [(step.trial, asked) for step in bench.plan.steps]
    assert run.traced_trials == tuple(step.trial for step in bench.plan.steps)
    assert bench.drive.counted == 0
    assert {run.measurement(trial).context["trace"]["source"] for trial in run.trial_names} == {"tracefs"}
    assert list(bench.target_directory.iterdir()) == []


def test_a_trial_that_failed_is_not_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = TracedBench(tmp_path, monkeypatch)
    bench.drive.fail_at[2] = DrivelabError("T107", "the drive went away")
    bench.execution.run()
    assert [name for name, _ in bench.traced] == [bench.plan.steps[place].trial for place in (0, 2, 3)]


def test_the_end_asked_for_in_a_traced_pass_leaves_the_trial_to_be_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = TracedBench(tmp_path, monkeypatch)
    bench.stop_at_trace = 2
    assert bench.execution.run().is_interrupted
    run = open_run(bench.writer.directory)
    assert run.trial_names == [bench.plan.steps[0].trial]
    assert run.traced_trials == (bench.plan.steps[0].trial,)
