"""Tells on stderr how it goes: on a terminal at most three lines that change in place, else a line for each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TextIO

from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import LATENCY, P99, RATE, THROUGHPUT
from drivelab.model.operations_apart import operations_apart, plural
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import Limits, Workload
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.time_left import SHARE_MIN, AwaitedStep, TimeLeft
from drivelab.run.engine import Progress, ProgressListener
from drivelab.run.progress_events import ProgressEvents, are_wanted
from drivelab.run.progress_lines import Look, finished_line, left_text, live_lines, now_texts
from drivelab.streams import for_person, make_console

# a line about a finished step, where there is no terminal
_LINE_WIDTH = 80
_LOOKS_PER_S = 4
# from this size on what is told of an operation are the bytes that it moves
_LARGE_BYTES = 65536
_HEADS = {LATENCY: "median ", P99: "p99 "}


class RunProgress:
    """Progress of steps; used in a ``with`` block.

    Parameters
    ----------
    title : str
        The command and what it is about: ``check /srv/pg for postgres``.
    stream : text file, optional
        Where to; stderr by default.
    completed : collection of int
        Numbers of those that are there already, from 1.
    fillings : sequence of AwaitedStep
        What is awaited beside the steps: a scratch drive that is filled, each.
    now_ns : callable, optional
        The clock.
    """

    def __init__(
        self,
        title: str,
        steps: Sequence[AwaitedStep],
        stream: TextIO | None = None,
        *,
        completed: Collection[int] = (),
        fillings: Sequence[AwaitedStep] = (),
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._title = title
        self._steps = steps
        self._stream = for_person(stream)
        self._now_ns = now_ns
        awaited = [step for number, step in enumerate(steps, start=1) if number not in completed]
        self._left = set(range(1, len(steps) + 1)) - set(completed)
        self._time_left = TimeLeft([*awaited, *fillings])
        self._fillings = list(fillings)
        # since when it is filled, 0 while it is not; which part of that is done
        self._filling_ns, self._filling_share = 0, 0.0
        self._ended_count = len(completed)
        # the step that is under way, since when, and which part of its workload is done
        self._current: AwaitedStep | None = None
        self._begun_ns = self._current_ns = now_ns()
        self._current_share = self._shown_share = 0.0
        self._now: tuple[str, ...] = ()
        self._preparation = ""
        self._found: dict[str, str] = {}
        self._events = ProgressEvents(self._stream, now_ns, self._look_and_left) if are_wanted() else None
        self._live: Any = None
        if self._stream.isatty():
            self._live = self._live_on(make_console(self._stream))

    def _live_on(self, console: Any) -> Any:
        # imported here: what is piped needs no terminal library
        from rich.live import Live
        from rich.text import Text

        plain = not console.encoding.startswith("utf")

        def drawn() -> Text:
            lines = live_lines(self.look(), console.width, plain=plain)
            return Text("\n".join(lines), no_wrap=True, overflow="crop")

        return Live(
            console=console,
            transient=True,
            refresh_per_second=_LOOKS_PER_S,
            get_renderable=drawn,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._begun_ns = self._current_ns = self._now_ns()
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        """Remove the live lines, and have the cursor back."""
        if self._live is not None:
            self._live.stop()

    def preparing(self, what: str) -> None:
        """Something that takes long and is no step is being done: where there is no terminal, it is a line, too."""
        self.doing(what)
        self._preparation = what
        if self._live is None:
            print(f"{what} ...", file=self._stream, flush=True)

    def preparing_goes_on(self, done_share: float) -> None:
        """What is being done has come so far, from 0 to 1."""
        self._now = (f"{self._preparation}: {done_share:.0%}",)

    def filling_goes_on(self, done_share: float) -> None:
        """Filling a scratch drive has come so far: that tells nothing about how long steps take."""
        self._filling_ns = self._filling_ns or self._now_ns()
        self._filling_share = done_share
        self.preparing_goes_on(done_share)

    def doing(self, what: str) -> None:
        """Something is being done for a step."""
        self._end_filling()
        self._now = (what,)
        if self._events is not None:
            self._events.pauses()

    def begins(self, number: int) -> None:
        """A step begins; numbers are from 1."""
        self._current = self._steps[number - 1]
        self._current_ns, self._current_share = self._now_ns(), 0.0
        self.doing("getting ready")

    def goes_on(self, progress: Progress) -> bool:
        """A workload goes on; it always may."""
        self._end_filling()
        self._now = now_texts(progress)
        if self._current is not None:
            self._current_share = share_done(self._current.limits, progress)
        if self._events is not None:
            self._events.measures(progress)
        return True

    def done(self, number: int, summary: TrialSummary) -> None:
        """A step was measured and stored."""
        self._end_step(number, found_text(summary), _estimate_texts(summary) or ["nothing completed"])

    def window_done(self, number: int) -> None:
        """One window of a trial was measured, and others follow."""
        self._leave_step(number)

    def failed(self, number: int, error: DrivelabError) -> None:
        """A step gave no result."""
        self._end_step(number, f"failed [{error.code}]", [f"failed [{error.code}]: {error.what}"])

    def not_needed(self, numbers: Iterable[int]) -> None:
        """Steps are left out: what they belong to has come to its end before."""
        for number in self._left.intersection(numbers):
            self._time_left.done(self._steps[number - 1], None)
            self._left.remove(number)

    def _leave_step(self, number: int) -> AwaitedStep:
        step, now_ns = self._steps[number - 1], self._now_ns()
        self._time_left.done(step, now_ns - self._current_ns)
        self._current, self._current_ns, self._current_share = None, now_ns, 0.0
        self._left.discard(number)
        return step

    def _end_step(self, number: int, found: str, told: Sequence[str]) -> None:
        step = self._leave_step(number)
        self._ended_count += 1
        # the latest of a name is the last
        self._found.pop(step.name, None)
        if found:
            self._found[step.name] = f"{step.short or step.name} {found}"
        if self._live is None:
            left = left_text(self._time_left.left_ns()) if self._left else ""
            line = finished_line(self._place(self._ended_count), (step.name, step.short), told, left, _LINE_WIDTH)
            print(line, file=self._stream, flush=True)

    def look(self) -> Look:
        """What is to be shown now."""
        return self._look_and_left()[0]

    def _look_and_left(self) -> tuple[Look, int | None]:
        """What is to be shown now, and the time left; None where that is not known."""
        left_ns, spent_ns, current = self._left_ns(), self._now_ns() - self._begun_ns, self._current
        is_known = self._current_share > SHARE_MIN or any(step.expected_ns for step in self._steps)
        if is_known:
            # what is over stays over, also when the rest turns out to be longer
            self._shown_share = max(self._shown_share, spent_ns / max(1, spent_ns + left_ns))
        shown = Look(
            title=self._title,
            share=self._shown_share,
            left=left_text(left_ns) if is_known else "",
            place=self._place(self._ended_count + 1) if self._trial_count > 1 and current else "",
            name=current.name if current else "",
            now=self._now,
            found=tuple(self._found.values()),
        )
        return shown, left_ns if is_known else None

    def _place(self, number: int) -> str:
        """Which of the steps it is; while rounds may end early their count is a maximum."""
        is_maximum = any(self._steps[left - 1].may_be_left_out for left in self._left)
        return f"{number} of {'at most ' if is_maximum else ''}{self._trial_count}"

    @property
    def _trial_count(self) -> int:
        """How many are told of: those that have ended, and those that are left."""
        return self._ended_count + sum(not self._steps[left - 1].is_part for left in self._left)

    def _left_ns(self) -> int:
        if self._filling_ns and self._fillings:
            spent_ns = self._now_ns() - self._filling_ns
            return self._time_left.left_ns(self._fillings[0], spent_ns, self._filling_share)
        return self._time_left.left_ns(self._current, self._now_ns() - self._current_ns, self._current_share)

    def _end_filling(self) -> None:
        """What follows is no filling: none of its time is the step's."""
        if not self._filling_ns:
            return
        took_ns = self._now_ns() - self._filling_ns
        self._filling_ns, self._filling_share = 0, 0.0
        self._current_ns += took_ns
        if self._fillings:
            self._time_left.done(self._fillings.pop(0), None)


def share_done(limits: Limits, progress: Progress) -> float:
    """Which part of a workload is done, where a count or bytes are going to end it; 0 where the plan knows as much.

    A runtime is in the plan, with what is counted after it.
    """
    pairs = ((progress.operation_count(), limits.count), (progress.byte_count(), limits.bytes))
    share = max(done / limit if limit else 0.0 for done, limit in pairs)
    by_time = progress.elapsed_ns / limits.runtime_ns if limits.runtime_ns else 0.0
    return min(1.0, share) if share > by_time else 0.0


def _estimate_texts(summary: TrialSummary) -> list[str]:
    """The numbers of a trial that a person watches for, the most important first; of a mix those of each operation."""
    found = summary.estimates
    texts = []
    for operation, names in operations_apart(found, summary.operation).items():
        own = _number_texts({name: found[key] for name, key in names.items()}, LATENCY)
        texts += [f"{plural(operation)} {own[0]}"] if own else []
    return texts or _number_texts(found, _watched(summary))


def found_text(summary: TrialSummary) -> str:
    """The one number of a trial, as it was seen; empty where there is none."""
    found = summary.estimates.get(_watched(summary))
    seen = found and (found.observed if found.value is None else found.value)
    return _written(replace(found, value=seen), _watched(summary)) if found and seen else ""


def _watched(summary: TrialSummary) -> str:
    """The metric that a trial is watched for: what is waited for, else how much was moved, or how often."""
    found = {name: one.observed if one.value is None else one.value for name, one in summary.estimates.items()}
    if summary.operation == "durable_write" and found.get(LATENCY):
        return LATENCY
    moved, rate = found.get(THROUGHPUT) or 0.0, found.get(RATE) or 0.0
    return THROUGHPUT if moved and moved >= rate * _LARGE_BYTES else RATE


def _number_texts(found: Mapping[str, Estimate], first: str) -> list[str]:
    """Those of them that the data carry."""
    order = dict.fromkeys((first, LATENCY, P99, RATE))
    known = (metric for metric in order if metric in found and found[metric].value)
    return [f"{_HEADS.get(metric, '')}{_written(found[metric], metric)}" for metric in known]


def _written(estimate: Estimate, metric: str) -> str:
    return f"{estimate}/s" if metric == RATE else f"{estimate}"


def until_enough(listener: ProgressListener, workload: Workload, pattern: WorkloadPattern) -> ProgressListener:
    """The listener of a trial that ends as soon as it has measured enough, where the pattern says how much that is."""
    if not pattern.enough_bytes:
        return listener

    def goes_on(progress: Progress) -> bool:
        if not listener(progress):
            return False
        too_short = progress.elapsed_ns - workload.ramp_ns < pattern.enough_after
        return progress.is_ramping or too_short or progress.byte_count() < pattern.enough_bytes

    return goes_on
