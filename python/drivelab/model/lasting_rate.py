"""The rate that is left of a measured one when a cache is full or a burst has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.metric import metric_of

METHOD = "what lasts, once the cache is full"
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


def lasting_share(findings: Iterable[Finding], measured: Mapping[str, float | None]) -> float | None:
    """What lasts of the rates of a trial, over what was measured; None where no finding names it.

    Parameters
    ----------
    findings : iterable of Finding
        About the trial.
    measured : mapping of str to float or None
        Its metrics by name; of throughput and I/Os a second the first that a finding tells of counts.
    """
    told = list(findings)
    for metric in (THROUGHPUT, RATE):
        lasting, value = lasting_rate(told, metric), measured.get(metric)
        if lasting is not None and value:
            return lasting.per_s / value
    return None


def as_it_lasts(estimates: Mapping[str, Estimate], findings: Iterable[Finding]) -> dict[str, Estimate]:
    """The estimates of a trial with the rates that last in place of those of a cache, which have no interval."""
    share = lasting_share(findings, {name: one.value for name, one in estimates.items()})
    if share is None:
        return dict(estimates)
    rates = {name: one for name in (THROUGHPUT, RATE) if (one := estimates.get(name)) is not None}
    return dict(estimates) | {
        name: Estimate(one.value * share, None, None, one.unit, one.sample_count, 0.0, METHOD)
        for name, one in rates.items()
        if one.value is not None
    }
