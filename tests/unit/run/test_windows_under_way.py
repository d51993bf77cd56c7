"""What is kept of trials whose windows were cut off."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.inventory.target import resolve_target
from drivelab.model.workload import TargetRange
from drivelab.plan.check import plan_check
from drivelab.run.prepared_trial import PreparedTrial
from drivelab.run.simulated import SimulatedDrive
from drivelab.run.windows_under_way import MeasuredTrial, WindowsUnderWay
from drivelab.simulated.load import load_model


def windows_of_a_check() -> list[MeasuredTrial]:
    """The first three windows of one trial."""
    facts = resolve_target("sim:consumer-ssd")
    drive = SimulatedDrive(load_model("sim:consumer-ssd"), 1)
    steps = [step for step in plan_check(facts).plan.steps if step.trial == "sync-write-512"][:3]
    found = []
    for step in steps:
        workload = step.pattern.on(TargetRange(path=facts.path), seed=1).model_copy(update={"backend": "auto"})
        measured = drive.measure(step.trial, workload, facts)
        found.append(MeasuredTrial(step, PreparedTrial(workload, facts, {}), measured, f"{step.number}"))
    return found


def test_what_was_measured_of_a_trial_is_kept_however_it_ends() -> None:
    first, second, _ = windows_of_a_check()
    windows, kept = WindowsUnderWay(), list[MeasuredTrial]()

    def cut_off() -> None:
        with windows.kept_by(kept.append):
            windows.take(first)
            windows.take(replace(second, started_utc="later"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut_off()
    (only,) = kept
    count = sum(one.measured.operation_count("durable_write") for one in (first, second))
    assert only.measured.operation_count("durable_write") == count > 0
    assert len(only.measured.engine["windows"]) == 2
    assert (only.step, only.started_utc) == (first.step, first.started_utc)


def test_a_complete_trial_is_not_kept_twice() -> None:
    windows, kept = WindowsUnderWay(), list[MeasuredTrial]()
    with windows.kept_by(kept.append):
        for one in windows_of_a_check():
            windows.take(one)
        joined = windows.joined("sync-write-512").measured
    assert not kept
    counters = [one.measured.devices[0].writes for one in windows_of_a_check()]
    assert joined.devices[0].writes == sum(counters)


def test_what_a_program_had_read_in_all_windows_is_added_up_as_what_drives_counted_is() -> None:
    windows = WindowsUnderWay()
    for one in windows_of_a_check():
        own = {"own_reads": {"process_bytes": 4096, "worker_bytes": None}}
        windows.take(replace(one, measured=replace(one.measured, context=one.measured.context | own)))
    joined = windows.joined("sync-write-512").measured
    count = len(windows_of_a_check())
    assert joined.context["own_reads"] == {"process_bytes": count * 4096, "worker_bytes": None}
