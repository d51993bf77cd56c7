"""Tells on stderr how a run goes: a live line on a terminal, one line per step when piped."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import TextIO

from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import LATENCY, P99, RATE, THROUGHPUT
from drivelab.model.metric import FLUSHES, WRITES, metric_of
from drivelab.model.operations_apart import operations_apart, plural
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.setting import AS_FOUND
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import format_bytes, format_wait_ns
from drivelab.model.workload import TREE_OPERATIONS
from drivelab.plan.budget import time_left_ns
from drivelab.run.engine import Progress
from drivelab.run.shown_lines import ShownLines, rates_text

# workloads at the same time that a line names
_NAMED_MAX = 3


class RunProgress(ShownLines):
    """Progress of one plan; used in a ``with`` block.

    Parameters
    ----------
    plan : Plan
        What is going to be done.
    stream : text file, optional
        Where to; stderr by default.
    completed : collection of str
        Trials that are there already.
    """

    def __init__(self, plan: Plan, stream: TextIO | None = None, *, completed: Collection[str] = ()) -> None:
        super().__init__(stream)
        self._plan = plan
        self._step = self._preparation = ""
        self._done_expected_ns = 0
        self._left_expected_ns = sum(step.expected_ns for step in plan.steps if step.trial not in completed)
        self._begun_ns = self._counted_at_ns = time.monotonic_ns()
        self._left_ns = self._left_expected_ns

    def preparing(self, what: str) -> None:
        """Something other than a trial is being done."""
        self._preparation = what
        if self._live is None:
            self.say(f"{what} ...")
        self.show(what)

    def preparing_goes_on(self, done_fraction: float) -> None:
        """What is being done has come so far, from 0 to 1."""
        # how long filling takes says nothing about how long steps take
        self._begun_ns = self._counted_at_ns = time.monotonic_ns()
        self.show(f"{self._preparation}: {done_fraction:.0%}")

    def step_begins(self, step: PlannedStep) -> None:
        """A step begins."""
        self._step = self._place(step)
        self.show(self._step + self._left_text())

    def step_goes_on(self, progress: Progress) -> bool:
        """A trial goes on; it always may."""
        if progress.is_ramping:
            now = "ramp"
        elif progress.elapsed_ns > 0:
            now = f"{rates_text(progress)}, {format_bytes(progress.byte_count())}"
        else:
            now = "begins"
        self.show(f"{self._step}: {now}{self._left_text()}")
        return True

    def step_done(self, step: PlannedStep, summary: TrialSummary) -> None:
        """A trial was measured and stored."""
        self._count(step)
        self.say(f"{self._place(step)}: {estimates_text(summary)}{self._left_text()}")

    def step_failed(self, step: PlannedStep, error: DrivelabError) -> None:
        """A step gave no result."""
        self._count(step)
        self.say(f"{self._place(step)}: failed: {error.what} [{error.code}]{self._left_text()}")

    def _place(self, step: PlannedStep) -> str:
        where = f" on {step.target}" if len(self._plan.targets) > 1 else ""
        told = [f" {level}" for level in step.levels.values() if level != AS_FOUND]
        reference = " (reference)" if step.is_reference else ""
        others = f" with {', '.join(others_of(self._plan, step))}" if step.together else ""
        return (
            f"step {step.number} of {len(self._plan.steps)}, {step.workload}{others}{reference}{''.join(told)}{where}"
        )

    def _count(self, step: PlannedStep) -> None:
        self._done_expected_ns += step.expected_ns
        self._left_expected_ns -= step.expected_ns
        self._counted_at_ns = time.monotonic_ns()
        elapsed_ns = self._counted_at_ns - self._begun_ns
        self._left_ns = time_left_ns(self._left_expected_ns, self._done_expected_ns, elapsed_ns)

    def _left_text(self) -> str:
        if not self._left_expected_ns:
            return ""
        left_ns = self._left_ns - (time.monotonic_ns() - self._counted_at_ns)
        return f"; {format_wait_ns(max(left_ns, 0))} left"


def others_of(plan: Plan, step: PlannedStep) -> list[str]:
    """Workloads that run at the same time as a step: their names, or their number where they are many."""
    others = [one.workload for one in plan.steps if one.together == step.together and one.number != step.number]
    return others if len(others) <= _NAMED_MAX else [f"{len(others)} others"]


def estimates_text(summary: TrialSummary) -> str:
    """The numbers of a trial that a person watches for, in a few words; of a mix those of each operation."""
    found = summary.estimates
    texts = []
    for operation, names in operations_apart(found, summary.operation).items():
        own = _numbers_text({name: found[key] for name, key in names.items()}, "I/Os")
        texts.append(f"{plural(operation)} {own}")
    unit = "files" if summary.operation in TREE_OPERATIONS else "I/Os"
    return "; ".join(texts) or _numbers_text(found, unit) or "nothing completed"


def _numbers_text(found: Mapping[str, Estimate], unit: str) -> str:
    latencies = (LATENCY, P99)
    texts = [f"{metric_of(metric).head} {found[metric]}" for metric in latencies if metric in found]
    moved = found.get(THROUGHPUT)
    ends = {RATE: f" {unit} per s", WRITES: " device writes per operation", FLUSHES: " flushes"}
    if moved is not None and moved.value != 0:
        ends = {RATE: ends.pop(RATE), THROUGHPUT: "", **ends}
    return ", ".join([*texts, *(f"{found[metric]}{end}" for metric, end in ends.items() if metric in found)])
