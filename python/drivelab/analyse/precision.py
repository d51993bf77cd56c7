"""When a trial may end because its number is known well enough, and what that costs its interval.

A trial that ends as soon as its interval is narrow ends rather when chance has made it too narrow: looked at again and
again, a 95 % interval would cover 80 to 90 % where the level wanders. So it is looked at seldom, at distances that
grow; not before a sixth of the time that was allowed, for what changes more slowly than a part of that would go unseen;
and the interval that is compared with what was asked, and told in the end, is one and a half times as wide.
``tests/prove/stopping.py`` measures what is covered then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from drivelab.analyse.judged_metric import TrialKind, judged_metric
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.measurement import Measurement
from drivelab.model.workload import Workload

# so an engine calls the end of a trial whose number was known well enough
ENDED_EARLY = "precision"
WIDENED = 1.5
# the first look is after so much of the runtime, and after so many intervals
FIRST_LOOK_SHARE = 1 / 6
INTERVALS_LEAST = 20
# each look is so much later than the one before
LOOKS_GROW = 1.25
_SAME_INTERVAL = (RATE, THROUGHPUT)


def looks_ns(workload: Workload) -> list[int]:
    """The moments of its window at which a workload may end; none where no precision is asked for."""
    limits = workload.limits
    if not limits.precision:
        return []
    look = max(limits.runtime_ns * FIRST_LOOK_SHARE, INTERVALS_LEAST * workload.interval_ns)
    looks = []
    while look < limits.runtime_ns:
        looks.append(round(look))
        look *= LOOKS_GROW
    return looks


def precise_metric(workload: Workload) -> str:
    """The metric whose interval has to become narrow: the one that the workload alone would be judged by."""
    sizes = {share.bytes for share in workload.block_sizes}
    kind = TrialKind(
        block_size_bytes=sizes.pop() if len(sizes) == 1 else None,
        outstanding=workload.queue_depth * workload.job_count,
        is_durable=workload.is_durable,
        has_response=workload.is_open_loop,
        is_on_files=workload.tree is not None,
    )
    return judged_metric([kind])


def half_width(estimate: Estimate | None) -> float | None:
    """The larger distance of an interval's ends from its value, as a share of that; None where there is no interval."""
    if estimate is None or not estimate.value or estimate.low is None or estimate.high is None:
        return None
    return max(estimate.value - estimate.low, estimate.high - estimate.value) / estimate.value


def is_known_well(estimate: Estimate | None, asked: float) -> bool:
    """Whether a number that is looked at while it is measured is known as well as was asked."""
    found = half_width(estimate)
    return found is not None and WIDENED * found <= asked


def widened(estimates: Mapping[str, Estimate], measured: Measurement) -> dict[str, Estimate]:
    """The numbers of a trial, with the interval of the one that ended it as wide as the looks cost it."""
    if measured.engine.get("stopped_by") != ENDED_EARLY:
        return dict(estimates)
    metric = precise_metric(measured.workload)
    names = _SAME_INTERVAL if metric in _SAME_INTERVAL else (metric,)
    return {name: _wider(found) if name in names else found for name, found in estimates.items()}


def _wider(found: Estimate) -> Estimate:
    if found.value is None or found.low is None or found.high is None:
        return found
    low = max(0.0, found.value - WIDENED * (found.value - found.low))
    high = found.value + WIDENED * (found.high - found.value)
    return replace(found, low=low, high=high, method=f"{found.method}; {WIDENED} times as wide for ending early")


@dataclass(frozen=True, slots=True)
class Precision:
    """What was asked of a trial's precision, and what came of it.

    Attributes
    ----------
    metric : str
        The number that was looked at.
    asked, reached : float
        Half of its interval, as a share of the number; None where there is no interval.
    has_ended_early : bool
        Whether it ended the trial.
    times_sooner : float
        The time that was allowed over the time that was measured.
    """

    metric: str
    asked: float
    reached: float | None
    has_ended_early: bool
    times_sooner: float


def precision_of(measured: Measurement, estimates: Mapping[str, Estimate]) -> Precision | None:
    """What came of the precision that was asked of a trial; None where none was, or nothing was measured."""
    limits = measured.workload.limits
    measured_ns = int(measured.engine.get("measured_ns", 0))
    if not limits.precision or not measured_ns:
        return None
    metric = precise_metric(measured.workload)
    return Precision(
        metric=metric,
        asked=limits.precision,
        reached=half_width(estimates.get(metric)),
        has_ended_early=measured.engine.get("stopped_by") == ENDED_EARLY,
        times_sooner=limits.runtime_ns / measured_ns,
    )
