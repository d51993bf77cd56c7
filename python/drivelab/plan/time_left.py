"""How long the rest of a run takes, fitted to how long its steps took so far; nothing here reads a clock."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.model.workload import Limits

# of a step less than this says nothing about its rest
SHARE_MIN = 0.05
_NONE = Limits()


@dataclass(frozen=True, slots=True)
class AwaitedStep:
    """A step as it is awaited.

    Attributes
    ----------
    kind : str
        Steps of one kind are off by the same factor: those of a workload on a file system.
    expected_ns : int
        Planned duration, with what is made before it and counted after it.
    limits : Limits
        When its workload ends, the ramp included; none where several run at the same time.
    short : str
        What it is called where there is little room; `name` when empty.
    may_be_left_out : bool
        Whether its phase may end before it: a round behind the first.
    is_part : bool
        Whether other windows of its trial follow: it is not told of alone.
    """

    name: str
    kind: str
    expected_ns: int
    limits: Limits = _NONE
    short: str = ""
    may_be_left_out: bool = False
    is_part: bool = False


@dataclass(slots=True)
class _Seen:
    """What was planned for steps that are done, and what they took."""

    planned_ns: float = 0.0
    took_ns: float = 0.0
    steps: int = 0

    def add(self, planned_ns: float, took_ns: float) -> None:
        self.planned_ns += planned_ns
        self.took_ns += took_ns
        self.steps += 1

    def guessed_ns(self, planned_ns: float) -> float:
        """What another step takes: longer by a factor or by a time, whichever is less.

        A step that was planned with 0.2 s and took 4 s tells nothing of one that was planned with a minute.
        """
        factor = self.took_ns / max(self.planned_ns, 1.0)
        return min(planned_ns * factor, planned_ns + max(0.0, self.took_ns - self.planned_ns) / self.steps)


class TimeLeft:
    """The time left of steps.

    Parameters
    ----------
    steps : sequence of AwaitedStep
        All that are to be done.
    """

    def __init__(self, steps: Sequence[AwaitedStep]) -> None:
        self._left = Counter((step.kind, step.expected_ns) for step in steps)
        self._seen: defaultdict[str, _Seen] = defaultdict(_Seen)
        # at first the plan is believed, as if one step had taken what was planned
        mean_ns = sum(step.expected_ns for step in steps) / max(len(steps), 1)
        self._of_all = _Seen(mean_ns, mean_ns, 1)

    def done(self, step: AwaitedStep, took_ns: int | None) -> None:
        """A step is done, and took so long with all that was done for it; None where that tells nothing of others."""
        self._left[step.kind, step.expected_ns] -= 1
        if took_ns is None:
            return
        self._seen[step.kind].add(step.expected_ns, took_ns)
        self._of_all.add(step.expected_ns, took_ns)

    def left_ns(self, current: AwaitedStep | None = None, spent_ns: int = 0, share: float = 0.0) -> int:
        """Guessed time until the end.

        Parameters
        ----------
        current : AwaitedStep, optional
            The step that is under way.
        spent_ns : int
            How long it has been.
        share : float
            Which part of its workload is done; 0 where that is unknown.
        """
        left_ns = sum(count * self.step_ns(kind, planned_ns) for (kind, planned_ns), count in self._left.items())
        if current is not None:
            step_ns = self.step_ns(current.kind, current.expected_ns)
            rest_ns = max(0.0, step_ns - spent_ns)
            if share > SHARE_MIN:
                # from a third on its own pace says all; of one that nobody could plan at once
                weight = min(1.0, 3 * share) if step_ns else 1.0
                rest_ns += weight * (spent_ns * (1 - share) / share - rest_ns)
            left_ns += rest_ns - step_ns
        return max(0, round(left_ns))

    def step_ns(self, kind: str, planned_ns: int) -> float:
        """Guessed duration of a step, from those of its kind and, as one more of them, from all."""
        guess_ns, seen = self._of_all.guessed_ns(planned_ns), self._seen.get(kind)
        if seen is None or not seen.planned_ns:
            return guess_ns
        mean_ns = seen.planned_ns / seen.steps
        one_ns = self._of_all.guessed_ns(mean_ns)
        return planned_ns * (seen.took_ns + one_ns) / (seen.planned_ns + mean_ns)
