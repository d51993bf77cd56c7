"""The steps of a plan, a check and a single workload, as whoever shows the time left awaits them."""

from __future__ import annotations

from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.setting import AS_FOUND
from drivelab.model.workload import Limits, Workload
from drivelab.plan.budget import BETWEEN_STEPS_NS, COUNTED_NS_MAX
from drivelab.plan.check import CheckPlan, CheckTrial
from drivelab.plan.time_left import AwaitedStep

# workloads at the same time that a step names
_NAMED_MAX = 3
# what is laid out by a check is guessed to be written so fast
_LAYOUT_BYTES_PER_S = 500e6


def awaited_of_run(plan: Plan) -> list[AwaitedStep]:
    """The steps of a plan; the first of those that run at the same time takes the time of all."""
    steps = []
    for unit in plan.units:
        for place, step in enumerate(unit):
            planned_ns = sum(one.expected_ns for one in unit) if not place else 0
            if len(unit) > 1:
                steps.append(AwaitedStep(_name(plan, step), "at the same time", planned_ns))
                continue
            filesystem = step.filesystem.type if step.filesystem else ""
            pattern = step.pattern
            runtime_ns = pattern.runtime + pattern.ramp if pattern.runtime else 0
            limits = Limits(runtime_ns=runtime_ns, count=pattern.count, bytes=pattern.bytes)
            steps.append(AwaitedStep(_name(plan, step), f"{step.workload} on {filesystem}", planned_ns, limits))
    return steps


def fillings_of_run(plan: Plan) -> list[AwaitedStep]:
    """The scratch drives that a run fills, each."""
    filled = [target for target in plan.targets if target.is_filled]
    return [AwaitedStep(target.label, "filling", plan.preparation_ns // len(filled)) for target in filled]


def awaited_of_check(plan: CheckPlan) -> list[AwaitedStep]:
    """The trials of a check."""
    return [
        AwaitedStep(trial.label, _kind(trial), _check_ns(trial), _limits(trial.workload), _short(trial))
        for trial in plan.trials
    ]


def awaited_of_workload(workload: Workload) -> list[AwaitedStep]:
    """A workload alone: without a runtime nobody knows beforehand how long it takes."""
    limits = _limits(workload)
    return [AwaitedStep("", "", limits.runtime_ns, limits)]


def _limits(workload: Workload) -> Limits:
    runtime_ns = workload.limits.runtime_ns
    return workload.limits.model_copy(update={"runtime_ns": runtime_ns + workload.ramp_ns if runtime_ns else 0})


def _kind(trial: CheckTrial) -> str:
    return "counted" if trial.counts_commands else "write" if trial.writes else "read"


def _short(trial: CheckTrial) -> str:
    """``512 B appended`` of a durable write, ``random read QD32`` of the others."""
    if trial.counts_commands:
        return trial.label.partition(" + ")[0]
    return f"{trial.label.partition(',')[0]} QD{trial.workload.queue_depth}"


def _check_ns(trial: CheckTrial) -> int:
    workload = trial.workload
    runtime_ns = workload.limits.runtime_ns
    if trial.wanted_bytes:
        runtime_ns = min(runtime_ns, max(trial.least_ns, round(trial.wanted_bytes / _LAYOUT_BYTES_PER_S * 1e9)))
    return runtime_ns + workload.ramp_ns + BETWEEN_STEPS_NS + trial.counts_commands * COUNTED_NS_MAX // 2


def _name(plan: Plan, step: PlannedStep) -> str:
    words = [step.workload]
    if step.together:
        others = [one.workload for one in plan.steps if one.together == step.together and one.number != step.number]
        words.append("with " + (", ".join(others) if len(others) <= _NAMED_MAX else f"{len(others)} others"))
    words += ["(reference)"] if step.is_reference else []
    words += [level for level in step.levels.values() if level != AS_FOUND]
    return " ".join(words) + (f" on {step.target}" if len(plan.targets) > 1 else "")
