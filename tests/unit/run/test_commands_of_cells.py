"""Commands are counted once for a combination, and again where the kernel counts something else."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivelab.inventory.target import resolve_target
from drivelab.model.experiment import Experiment
from drivelab.model.histogram import EMPTY
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.plan import PlannedStep
from drivelab.model.target import BlockLayer, TargetFacts
from drivelab.model.workload import TargetRange
from drivelab.plan.make import make_plan
from drivelab.run.commands_of_cells import CommandsOfCells
from drivelab.run.prepared_trial import PreparedTrial

EXPERIMENT = Experiment.model_validate(
    {
        "format": 1,
        "name": "x",
        "question": "?",
        "repeats": {"full": 3},
        "factors": [{"setting": "workload", "key": "block_size", "levels": ["4KiB", "64KiB"]}],
        "workloads": [{"name": "w", "count": 100, "file_state": "append", "durability": "fdatasync"}],
    }
)
OPERATIONS = 100


class Bench:
    """Counts how often commands are counted."""

    def __init__(self, facts: TargetFacts) -> None:
        self.facts = facts
        self.passes = 0
        self.cells = CommandsOfCells(self.count)
        self.steps = make_plan(EXPERIMENT, [facts], seed=1).steps

    def count(self, *_: Any, **__: Any) -> dict[str, Any]:
        self.passes += 1
        return {"command_counts": {"flushes": self.passes}, "command_counts_reason": ""}

    def of(self, step: PlannedStep, *, writes: int = 300, flushes: int = 200) -> dict[str, Any]:
        """What is known of the commands of a trial in which the kernel counted so much."""
        workload = step.pattern.on(TargetRange(path="x"), seed=1)
        counts = DeviceCounts(
            device="sda",
            reads=0,
            writes=writes,
            discards=0,
            flushes=flushes,
            bytes_read=0,
            bytes_written=writes * 4096,
            read_merges=0,
            write_merges=0,
            read_ns=0,
            write_ns=0,
            flush_ns=0,
            data_writes_low=writes,
            data_writes_high=writes,
        )
        engine = {"all_phases": {"write": {"count": OPERATIONS}}}
        measured = Measurement(step.trial, workload, engine, {("write", "total"): EMPTY}, None, devices=(counts,))
        return self.cells.of(step, PreparedTrial(workload, self.facts, {}), measured, threading.Event())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    drive = BlockLayer("sda", "/dev/sda", "8:0", "disk", 10**9, 0, 512, 512, None, None, False, False, None)
    return Bench(replace(resolve_target(str(tmp_path)), devices=(drive,)))


def test_each_combination_is_counted_once(bench: Bench) -> None:
    found = [bench.of(step) for step in bench.steps]
    assert len(found) == 6
    assert bench.passes == 2
    assert {one["command_counts_trial"] for one in found} == {step.trial for step in bench.steps if step.repeat == 1}


def test_the_flushes_of_a_trial_are_its_own(bench: Bench) -> None:
    same = [step for step in bench.steps if step.pattern.block_size == 4096]
    bench.of(same[0])
    assert bench.of(same[1], flushes=199)["command_counts"]["flushes_per_operation_timed"] == 1.99


@pytest.mark.parametrize("changed", [{"writes": 400}, {"flushes": 100}])
def test_a_repeat_in_which_the_kernel_counted_something_else_is_counted_again(
    bench: Bench, changed: dict[str, int]
) -> None:
    same = [step for step in bench.steps if step.pattern.block_size == 4096]
    bench.of(same[0])
    again = bench.of(same[1], **changed)
    assert bench.passes == 2
    assert again["command_counts_trial"] == same[1].trial
    assert bench.of(same[2], **changed)["command_counts"]["flushes"] == 2
