"""The steps of a plan, a check and a single workload, as whoever shows the time left awaits them."""

from __future__ import annotations

from drivelab.model.level_words import with_factor
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.setting import AS_FOUND
from drivelab.model.workload import Limits, Workload
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.time_left import AwaitedStep

# workloads at the same time that a step names
_NAMED_MAX = 3
# a second of a simulated drive takes about so much less: a slow drive has fewer I/Os to compute
_SIMULATED_FASTER = 500


def awaited_of_run(plan: Plan) -> list[AwaitedStep]:
    """The steps of a plan; the first of those that run at the same time takes the time of all."""
    steps = []
    open_phases = {phase.name for phase in plan.phases if phase.track or phase.capacities}
    for unit in plan.units:
        for place, step in enumerate(unit):
            planned_ns = sum(_expected_ns(plan, one) for one in unit) if not place else 0
            if len(unit) > 1:
                steps.append(AwaitedStep(_name(plan, step), "at the same time", planned_ns))
                continue
            # how many I/Os of a model have to be computed depends on how fast it is
            model = step.target if _is_simulated(plan, step) else ""
            kind = f"{step.workload} on {step.filesystem.type if step.filesystem else model}"
            may_be_left_out = step.phase in open_phases and step.round > 1
            limits = _limits(step.pattern)
            steps.append(AwaitedStep(_name(plan, step), kind, planned_ns, limits, may_be_left_out=may_be_left_out))
    return steps


def fillings_of_run(plan: Plan) -> list[AwaitedStep]:
    """The scratch drives that a run fills, each."""
    filled = [target for target in plan.targets if target.is_filled]
    return [AwaitedStep(target.label, "filling", plan.preparation_ns // len(filled)) for target in filled]


def awaited_of_check(plan: Plan) -> list[AwaitedStep]:
    """The trials of a check, each window of them."""
    return [
        AwaitedStep(
            step.label,
            _kind(step.pattern),
            _expected_ns(plan, step),
            _limits(step.pattern),
            _short(step),
            is_part=not step.ends_trial,
        )
        for step in plan.steps
    ]


def awaited_of_workload(workload: Workload) -> list[AwaitedStep]:
    """A workload alone: without a runtime nobody knows beforehand how long it takes."""
    runtime_ns = workload.limits.runtime_ns
    limits = workload.limits.model_copy(update={"runtime_ns": runtime_ns + workload.ramp_ns if runtime_ns else 0})
    return [AwaitedStep("", "", limits.runtime_ns, limits)]


def _expected_ns(plan: Plan, step: PlannedStep) -> int:
    if not _is_simulated(plan, step):
        return step.expected_ns
    # what a model has been written before is set, and takes no time
    return (_limits(step.pattern).runtime_ns or step.expected_ns) // _SIMULATED_FASTER


def _is_simulated(plan: Plan, step: PlannedStep) -> bool:
    return any(target.label == step.target and target.kind == "simulated" for target in plan.targets)


def _limits(pattern: WorkloadPattern) -> Limits:
    runtime_ns = pattern.runtime + pattern.ramp if pattern.runtime else 0
    return Limits(runtime_ns=runtime_ns, count=pattern.count, bytes=pattern.bytes)


def _kind(pattern: WorkloadPattern) -> str:
    return "counted" if pattern.is_durable else "write" if pattern.writes else "read"


def _short(step: PlannedStep) -> str:
    """``512 B appended`` of a durable write, ``random read QD32`` of the others."""
    if step.pattern.is_durable:
        return step.label.partition(" + ")[0]
    return f"{step.label.partition(',')[0]} QD{step.pattern.queue_depth}"


def _name(plan: Plan, step: PlannedStep) -> str:
    words = [step.workload]
    if step.together:
        others = [one.workload for one in plan.steps if one.together == step.together and one.number != step.number]
        words.append("with " + (", ".join(others) if len(others) <= _NAMED_MAX else f"{len(others)} others"))
    words += ["(reference)"] if step.is_reference else []
    words += [_told_level(name, level) for name, level in step.levels.items() if level != AS_FOUND]
    # the end is what is cut where there is no room
    return (f"{step.target}: " if len(plan.targets) > 1 else "") + " ".join(words)


def _told_level(name: str, level: str) -> str:
    """A level, with what is on or off, and of what state it is."""
    return with_factor(name, level) if level in ("on", "off") or name == "precondition" else level
