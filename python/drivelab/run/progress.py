"""Tells on stderr how a run goes: a live line on a terminal, one line per step when piped."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Self, TextIO

from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import LATENCY, P99, RATE, THROUGHPUT
from drivelab.model.metric import FLUSHES, WRITES, metric_of
from drivelab.model.operations_apart import DIRECTIONS, operations_apart, plural
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.setting import AS_FOUND
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import format_bytes, format_rate_per_s, format_wait_ns
from drivelab.model.workload import TREE_OPERATIONS
from drivelab.plan.budget import time_left_ns
from drivelab.run.engine import Progress
from drivelab.streams import for_person, make_console

# workloads at the same time that a line names
_NAMED_MAX = 3


class RunProgress:
    """Progress of one plan, as lines; used in a ``with`` block.

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
        self._plan = plan
        self._stream = for_person(stream)
        self._done_expected_ns = 0
        self._left_expected_ns = sum(step.expected_ns for step in plan.steps if step.trial not in completed)
        self._begun_ns = self._counted_at_ns = time.monotonic_ns()
        self._left_ns = self._left_expected_ns

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        """Nothing is open."""

    def preparing(self, what: str) -> None:
        """Something other than a trial is being done."""
        self._say(f"{what} ...")

    def preparing_goes_on(self, done_fraction: float) -> None:  # noqa: ARG002 (only a live line shows it)
        """What is being done has come so far, from 0 to 1."""
        # how long filling takes says nothing about how long steps take
        self._begun_ns = self._counted_at_ns = time.monotonic_ns()

    def step_begins(self, step: PlannedStep) -> None:
        """A step begins."""

    def step_goes_on(self, progress: Progress) -> bool:  # noqa: ARG002 (only a live line shows it)
        """A trial goes on; it always may."""
        return True

    def step_done(self, step: PlannedStep, summary: TrialSummary) -> None:
        """A trial was measured and stored."""
        self._count(step)
        self._say(f"{self._place(step)}: {estimates_text(summary)}{self._left_text()}")

    def step_failed(self, step: PlannedStep, error: DrivelabError) -> None:
        """A step gave no result."""
        self._count(step)
        self._say(f"{self._place(step)}: failed: {error.what} [{error.code}]{self._left_text()}")

    def _say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

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


class LiveProgress(RunProgress):
    """Progress of one plan on a terminal: finished steps scroll by above one live line."""

    def __init__(self, plan: Plan, stream: TextIO | None = None, *, completed: Collection[str] = ()) -> None:
        super().__init__(plan, stream, completed=completed)
        # imported here: a piped run needs no terminal library
        from rich.live import Live
        from rich.text import Text

        self._text = Text
        self._console = make_console(self._stream, soft_wrap=True)
        self._live = Live(console=self._console, transient=True, refresh_per_second=8)
        self._step = ""
        self._preparation = ""

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        """Remove the live line."""
        self._live.stop()

    def preparing(self, what: str) -> None:
        """Something other than a trial is being done."""
        self._preparation = what
        self._show(what)

    def preparing_goes_on(self, done_fraction: float) -> None:
        """What is being done has come so far, from 0 to 1."""
        super().preparing_goes_on(done_fraction)
        self._show(f"{self._preparation}: {done_fraction:.0%}")

    def step_begins(self, step: PlannedStep) -> None:
        """A step begins."""
        self._step = self._place(step)
        self._show(self._step + self._left_text())

    def step_goes_on(self, progress: Progress) -> bool:
        """A trial goes on; it always may."""
        seconds = progress.elapsed_ns / 1e9
        if progress.is_ramping:
            now = "ramp"
        elif seconds > 0:
            now = f"{rates_text(progress)}, {format_bytes(progress.byte_count())}"
        else:
            now = "begins"
        self._show(f"{self._step}: {now}{self._left_text()}")
        return True

    def _say(self, text: str) -> None:
        self._live.console.print(self._text(text))

    def _show(self, text: str) -> None:
        line = self._text(text, style="dim", no_wrap=True, overflow="ellipsis")
        self._live.update(line)


def others_of(plan: Plan, step: PlannedStep) -> list[str]:
    """Workloads that run at the same time as a step: their names, or their number where they are many."""
    others = [one.workload for one in plan.steps if one.together == step.together and one.number != step.number]
    return others if len(others) <= _NAMED_MAX else [f"{len(others)} others"]


def rates_text(progress: Progress) -> str:
    """How many I/Os per s there were until now: of a mix of each operation alone."""
    seconds = max(progress.elapsed_ns, 1) / 1e9
    counts = {name: count for name in DIRECTIONS if (count := progress.counts.get(name))}
    if len(counts) < 2:
        return f"{format_rate_per_s(progress.operation_count() / seconds)} I/Os per s"
    return ", ".join([f"{format_rate_per_s(count / seconds)} {plural(name)} per s" for name, count in counts.items()])


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


def progress_for(plan: Plan, completed: Collection[str] = ()) -> RunProgress:
    """A live line when stderr is a terminal, lines otherwise."""
    return (LiveProgress if for_person().isatty() else RunProgress)(plan, completed=completed)
