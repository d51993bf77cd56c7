"""The durable trials of checks of simulated drives that begin at any time, and what these drives do in the long run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from drivelab.analyse.trial import judge_trial
from drivelab.inventory.target import resolve_target
from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.model.plan import PlannedStep
from drivelab.model.simulated import SimulatedModel, Throttling
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import TargetRange
from drivelab.plan.check import plan_check
from drivelab.run.simulated import SimulatedDrive

# two minutes hold the slowest change four times
_LONG_RUN = "120s"


def throttled(model: SimulatedModel, every_s: float, lasts_s: float) -> SimulatedModel:
    """The same drive, at times thirty times slower."""
    times = {"every": f"{every_s}s", "lasts": f"{lasts_s}s", "factor": 30}
    return model.model_copy(update={"throttling": Throttling.model_validate(times)})


def checked(model: SimulatedModel, seed: int) -> tuple[list[TrialSummary], list[Finding]]:
    """What the durable trials of a quick check come to."""
    facts = _facts(model)
    drive, random = SimulatedDrive(model, seed), np.random.default_rng(seed)
    trials = []
    for step in _durable_steps(facts):
        drive.engine.rest(int(random.uniform(1e9, 60e9)))
        trials.append(judge_trial(_measured(drive, step, facts), facts))
    return [summary for summary, _ in trials], [finding for _, found in trials for finding in found]


def long_run_p99_ns(model: SimulatedModel, trial: str) -> float:
    """The p99 of what a trial issues, over minutes."""
    facts = _facts(model)
    (step,) = (one for one in _durable_steps(facts) if one.trial == trial)
    longer = step.pattern.changed(runtime=_LONG_RUN, enough_after=_LONG_RUN, bytes=0)
    measured = _measured(SimulatedDrive(model, 1), replace(step, pattern=longer), facts)
    return float(measured.histograms["durable_write", "total"].quantile_ns(0.99))


def _facts(model: SimulatedModel) -> TargetFacts:
    return replace(resolve_target("sim:consumer-ssd"), simulated=model, size_bytes=model.size)


def _durable_steps(facts: TargetFacts) -> list[PlannedStep]:
    return [step for step in plan_check(facts, program="", is_quick=True).plan.steps if step.pattern.is_durable]


def _measured(drive: SimulatedDrive, step: PlannedStep, facts: TargetFacts) -> Measurement:
    workload = step.pattern.on(TargetRange(path=facts.path, size_bytes=step.pattern.file_size), seed=step.seed)
    measured = drive.measure(step.trial, workload.model_copy(update={"backend": "auto"}), facts)
    return replace(measured, context=measured.context | {"label": step.label})
