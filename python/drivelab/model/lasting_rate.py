"""The rate that is left of a measured one when a cache is full or a burst has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from drivelab.model.estimate import Estimate, Unit
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.metric import metric_of
from drivelab.model.units import format_quantity, quantity_in_words

METHOD = "what lasts, once the cache is full"
# whether a drive is still fast when nearly full is asked of what is left, not of its cache
ASKS_WHAT_LASTS = "fill-level"
# experiments whose rates are told by what lasts; any other tells what was measured
TELL_WHAT_LASTS = ("check", "burst", ASKS_WHAT_LASTS)
# of evidence: the other run that found it
KNOWN_FROM = "known_from"
# what was before is so many times what lasts, or both are one rate: what was in the cache is known no better
LESS_BY = 1.1
TOKEN_UNITS: Mapping[str, Unit] = {"bytes": "B/s", "I/Os": "1/s"}


@dataclass(frozen=True, slots=True)
class LastingRate:
    """What lasts, in the unit of its metric, and what it was before; None where that is what the trial tells."""

    per_s: float
    at_first_per_s: float | None = None


def lasting_rate(findings: Iterable[Finding], metric: str) -> LastingRate | None:
    """The lowest rate that findings about a trial name as what lasts (`base_per_s`); None where none does."""
    unit = metric_of(metric).unit
    told = [one.evidence for one in findings if TOKEN_UNITS.get(one.evidence.get("token", "")) == unit]
    bases = [float(one["base_per_s"]) for one in told if one.get("base_per_s")]
    if not bases:
        return None
    first = [float(one["burst_per_s"]) for one in told if one.get("burst_per_s")]
    return LastingRate(min(bases), max(first, default=None))


def seen_here(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without what another run found: runs beside each other tell what each of them saw."""
    return [one for one in findings if KNOWN_FROM not in one.evidence]


def is_what_lasts(estimate: Estimate) -> bool:
    """Whether a number is what lasts, and not what was measured."""
    return estimate.method == METHOD


def left_without_credit(finding: Finding) -> str:
    """``300 I/Os a second are left, as run NAME found``: of a finding that another run's burst is behind."""
    metric = THROUGHPUT if finding.evidence.get("token") == "bytes" else RATE
    rate = rates_in_words({metric: float(finding.evidence["base_per_s"])})
    return f"{rate} are left, as run {finding.evidence[KNOWN_FROM]} found"


def rates_in_words(rates: Mapping[str, float]) -> str:
    """The first of some rates by metric: ``300 I/Os a second``, ``134 MB/s``; empty where there is none."""
    for metric, per_s in rates.items():
        is_counted = metric == RATE
        return f"{format_quantity(per_s, '1/s')} I/Os a second" if is_counted else quantity_in_words(per_s, "B/s")
    return ""


def lasting_rates(findings: Sequence[Finding]) -> dict[str, float]:
    """What lasts of throughput and I/Os a second, as far as findings about a trial name it."""
    found = {metric: lasting_rate(findings, metric) for metric in (THROUGHPUT, RATE)}
    return {metric: one.per_s for metric, one in found.items() if one is not None}


def rates_at_first(findings: Sequence[Finding]) -> dict[str, float]:
    """What the same rates were before, as far as findings name it."""
    found = {metric: lasting_rate(findings, metric) for metric in (THROUGHPUT, RATE)}
    return {metric: one.at_first_per_s for metric, one in found.items() if one and one.at_first_per_s}


def lasting_share(lasting: Mapping[str, float], measured: Mapping[str, float | None]) -> float | None:
    """What lasts of the rates of a trial, over what was measured; None where nobody knows it.

    Parameters
    ----------
    lasting : mapping of str to float
        What lasts of each metric; the first that was measured counts.
    measured : mapping of str to float or None
        The metrics of the trial by name.
    """
    return next((per_s / value for metric, per_s in lasting.items() if (value := measured.get(metric))), None)


def lasting_of(metric: str, estimates: Mapping[str, Estimate], findings: Sequence[Finding]) -> LastingRate | None:
    """What lasts of a rate of a trial, and the rate before: of I/Os where findings tell bytes, too, and the other way.

    None where both are nearly the same.

    Parameters
    ----------
    metric : str
        Of anything but throughput and I/Os a second nothing is known: None.
    """
    measured = {name: one.value for name in (THROUGHPUT, RATE) if (one := estimates.get(name)) and one.value}
    told = next((name for name in (metric, *measured) if name in measured and lasting_rate(findings, name)), None)
    found = lasting_rate(findings, told) if told else None
    if found is None or told is None or metric not in measured:
        return None
    first = found.at_first_per_s or measured[told]
    if first < LESS_BY * found.per_s:
        return None
    scale = measured[metric] / measured[told]
    return LastingRate(scale * found.per_s, scale * first)


def as_it_lasts(estimates: Mapping[str, Estimate], findings: Sequence[Finding]) -> dict[str, Estimate]:
    """The estimates of a trial with the rates that last in place of those of a cache, which have no interval."""
    lasting = {name: found for name in (THROUGHPUT, RATE) if (found := lasting_of(name, estimates, findings))}
    return dict(estimates) | {
        name: Estimate(one.per_s, None, None, estimates[name].unit, estimates[name].sample_count, 0.0, METHOD)
        for name, one in lasting.items()
    }
