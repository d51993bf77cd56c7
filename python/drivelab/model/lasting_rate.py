"""The rate that is left of a measured one when a cache is full or a burst has ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from drivelab.model.finding import Finding
from drivelab.model.metric import metric_of

_UNITS = {"bytes": "B/s", "I/Os": "1/s"}


@dataclass(frozen=True, slots=True)
class LastingRate:
    """What lasts, in the unit of its metric, and what it was before; None where that is what the trial tells."""

    per_s: float
    at_first_per_s: float | None = None


def lasting_rate(findings: Iterable[Finding], metric: str) -> LastingRate | None:
    """The lowest rate that findings about a trial name as what lasts (`base_per_s`); None where none does.

    Parameters
    ----------
    findings : iterable of Finding
        About the trial.
    metric : str
        The throughput or the rate that is shown.
    """
    unit = metric_of(metric).unit
    told = [one.evidence for one in findings if _UNITS.get(one.evidence.get("token", "")) == unit]
    bases = [float(one["base_per_s"]) for one in told if one.get("base_per_s")]
    if not bases:
        return None
    first = [float(one["burst_per_s"]) for one in told if one.get("burst_per_s")]
    return LastingRate(min(bases), max(first, default=None))
