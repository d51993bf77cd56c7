"""What ends a job of fio by its own numbers: an I/O that is too slow, a rate that is too low, a steady state."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from drivelab.interop.fio.job_options import default_of
from drivelab.interop.fio.options import BY_NAME
from drivelab.interop.fio.sizes import Amount, ValueMistake, parse_amount
from drivelab.interop.fio.values import PerDirection, Value, parse_value

_DIRECTIONS = ("read", "write", "trim")
# fio looks at a rate from then on
_FIRST_RATE_S = 2.0
_STEADY = "steadystate"
STEADY_OPTIONS = (_STEADY, "steadystate_duration", "steadystate_ramp_time", "steadystate_check_interval")


@dataclass(frozen=True, slots=True)
class Counted:
    """What a job has counted at one moment.

    Attributes
    ----------
    elapsed_s : float
        Since it began, its ramp included.
    counted_s : float
        The time in which the rest was counted.
    counts, bytes, slowest_ns : dict of str to int
        I/Os, their bytes and the largest latency of each direction.
    """

    elapsed_s: float
    counted_s: float
    counts: Mapping[str, int]
    bytes: Mapping[str, int]
    slowest_ns: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class EndedBy:
    """Which option ended a job, why in fio's words, and the error that this is for fio; 0 is none."""

    option: str
    why: str
    errno: int


@dataclass(frozen=True, slots=True)
class SteadyGoal:
    """When fio calls a job steady: ``steadystate=iops_slope:0.3%``."""

    metric: str
    is_slope: bool
    limit: float
    is_percent: bool
    seconds: int
    ramp_s: float
    every_s: float

    def slope(self, values: list[float]) -> float:
        """The slope of a window's values from one to the next, where it decides; else 0."""
        return float(np.polyfit(np.arange(len(values)), values, 1)[0]) if self.is_slope and len(values) > 1 else 0.0

    def max_deviation(self, values: list[float]) -> float:
        """How far the value of a window that is furthest from their mean is from it, where that decides; else 0."""
        return 0.0 if self.is_slope else float(np.abs(np.array(values) - np.mean(values)).max())

    def criterion(self, values: list[float]) -> float:
        """How far values of a window are from steady."""
        off, mean = abs(self.slope(values)) + self.max_deviation(values), float(np.mean(values))
        return 100 * off / mean if self.is_percent and mean else off


@dataclass(slots=True)
class _Samples:
    """Of what is seen of a job again and again, those that lie so far apart at least."""

    every_s: float
    last: Counted | None = None

    def before(self, now: Counted) -> Counted | None:
        """The sample before, where this is the next one."""
        last = self.last
        if last is None or now.counted_s - last.counted_s >= self.every_s:
            self.last = now
            return last
        return None


class EndWatch:
    """Decides, as a job goes on, whether it ends.

    Parameters
    ----------
    options : mapping of str to str
        The options that hold for the job.
    job_count : int
        How many jobs are counted together: the least rates are those of one.

    Attributes
    ----------
    ended_by : EndedBy or None
        What ended it.
    """

    def __init__(self, options: Mapping[str, str], job_count: int = 1) -> None:
        self._job_count = job_count
        self._kb_base = int(options.get("kb_base", "1024"))
        self._slowest_ns = {name: value * 1000 for name, value in self._of_directions(options, "max_latency").items()}
        self._least_iops = self._of_directions(options, "rate_iops_min")
        self._least_bytes = self._of_directions(options, "rate_min")
        self._of_rates = _Samples(_amount(options, "rate_cycle", self._kb_base) / 1000)
        self._goal = steady_goal(options)
        self._of_steadiness = _Samples(self._goal.every_s if self._goal else 0.0)
        # of each second of the window: I/Os and bytes a second
        self._iops: list[float] = []
        self._bytes: list[float] = []
        self.ended_by: EndedBy | None = None
        self._is_steady = False

    @property
    def is_needed(self) -> bool:
        """Whether anything could end the job."""
        return bool(self._slowest_ns or self._least_iops or self._least_bytes or self._goal)

    def goes_on(self, now: Counted) -> bool:
        """Whether the job goes on, after what it has counted by now."""
        self.ended_by = self.ended_by or self._too_slow(now) or self._rate_too_low(now) or self._steady(now)
        return self.ended_by is None

    def steady_state(self) -> dict[str, Any] | None:
        """What fio's JSON says of the steady state; None where none was asked for."""
        goal = self._goal
        if goal is None:
            return None
        values = self._values(goal)
        criterion, slope, most = (
            (goal.criterion(values), goal.slope(values), goal.max_deviation(values)) if values else (0.0, 0.0, 0.0)
        )
        unit = "%" if goal.is_percent else ""
        return {
            "ss": f"{goal.metric}{'_slope' if goal.is_slope else ''}:{goal.limit:f}{unit}",
            "duration": goal.seconds,
            "attained": int(self._is_steady),
            "criterion": f"{criterion:f}{unit}",
            "max_deviation": most,
            "slope": slope,
            "data": {
                "bw_mean": round(float(np.mean(self._bytes))) if self._bytes else 0,
                "iops_mean": round(float(np.mean(self._iops))) if self._iops else 0,
                "iops": [round(value) for value in self._iops],
                "bw": [round(value) for value in self._bytes],
            },
        }

    def _values(self, goal: SteadyGoal) -> list[float]:
        return self._iops if goal.metric == "iops" else self._bytes

    def _too_slow(self, now: Counted) -> EndedBy | None:
        for direction, limit_ns in self._slowest_ns.items():
            found_ns = now.slowest_ns.get(direction, 0)
            if found_ns > limit_ns:
                what = f"latency of {found_ns} nsec exceeds specified max ({limit_ns} nsec): {direction}"
                return EndedBy("max_latency", what, errno.ETIMEDOUT)
        return None

    def _rate_too_low(self, now: Counted) -> EndedBy | None:
        if not (self._least_iops or self._least_bytes) or now.elapsed_s < _FIRST_RATE_S:
            return None
        before = self._of_rates.before(now)
        if before is None:
            return None
        spent_s = now.counted_s - before.counted_s
        for name, least, done, was, unit in (
            ("rate_iops_min", self._least_iops, now.counts, before.counts, "IOPS"),
            ("rate_min", self._least_bytes, now.bytes, before.bytes, "B/s"),
        ):
            for direction, wanted in least.items():
                found = (done.get(direction, 0) - was.get(direction, 0)) / spent_s / self._job_count
                if direction in done and found < wanted:
                    return EndedBy(name, f"{name}={wanted} not met, got {found:.0f} {unit}", errno.EIO)
        return None

    def _steady(self, now: Counted) -> EndedBy | None:
        goal = self._goal
        if goal is None or now.elapsed_s < goal.ramp_s:
            return None
        before = self._of_steadiness.before(now)
        if before is None:
            return None
        spent_s = now.counted_s - before.counted_s
        size = max(1, round(goal.seconds / goal.every_s))
        for values, done, was in ((self._iops, now.counts, before.counts), (self._bytes, now.bytes, before.bytes)):
            values.append(sum(done.get(name, 0) - was.get(name, 0) for name in _DIRECTIONS) / spent_s)
            del values[:-size]
        values = self._values(goal)
        if len(values) < size or goal.criterion(values) >= goal.limit:
            return None
        self._is_steady = True
        return EndedBy(_STEADY, f"steady for {goal.seconds} s", 0)

    def _of_directions(self, options: Mapping[str, str], name: str) -> dict[str, int]:
        """What an option says of each direction."""
        value = _value(options, name, self._kb_base)
        if not isinstance(value, PerDirection):
            return {}
        amounts = {direction: value.of(direction) for direction in _DIRECTIONS}
        return {direction: one.value for direction, one in amounts.items() if isinstance(one, Amount) and one.value}


def steady_goal(options: Mapping[str, str]) -> SteadyGoal | None:
    """The steady state that a job ends with; None where none is asked for.

    Raises
    ------
    ValueMistake
        It is not written as fio has it.
    """
    text, seconds = options.get(_STEADY), _amount(options, "steadystate_duration") // 1_000_000
    if not text or not seconds:
        return None
    kind, _, limit = text.partition(":")
    metric, _, slope = kind.strip().partition("_")
    if metric not in ("iops", "bw") or slope not in ("", "slope") or not limit.strip():
        raise ValueMistake("it is iops, iops_slope, bw or bw_slope, a colon, and a number or per cent: iops_slope:0.3%")
    limit = limit.strip()
    is_percent = limit.endswith("%")
    try:
        number = float(limit[:-1]) if is_percent else float(parse_amount(limit).value)
    except ValueError:
        raise ValueMistake(f"'{limit}' is no number") from None
    return SteadyGoal(
        metric=metric,
        is_slope=bool(slope),
        limit=number,
        is_percent=is_percent,
        seconds=seconds,
        ramp_s=_amount(options, "steadystate_ramp_time") / 1e6,
        every_s=max(1.0, _amount(options, "steadystate_check_interval") / 1e6),
    )


def _value(options: Mapping[str, str], name: str, kb_base: int = 1024) -> Value | None:
    return parse_value(BY_NAME[name], options[name], kb_base=kb_base)[0] if name in options else default_of(name)


def _amount(options: Mapping[str, str], name: str, kb_base: int = 1024) -> int:
    value = _value(options, name, kb_base)
    return value.value if isinstance(value, Amount) else 0
