"""What a load's calls took where it was issued again, beside what the same calls took where it was recorded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.interval_series import series_from_measurement
from drivelab.analyse.quantile import (
    is_carried,
    median_and_p99,
    quantile_estimates_from_intervals,
    quantile_estimates_from_series,
)
from drivelab.model.estimate import Estimate
from drivelab.model.measurement import Measurement
from drivelab.model.recording import CallPairs

_P99 = 0.99
_ATS = (0.5, _P99)
_FILES_TOLD = 3
Floats = NDArray[np.float64]
Quantiles = dict[str, float | None]


def changed_calls(pairs: CallPairs, names: Sequence[str], files: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What each kind of call took there and here, those that took longest first.

    Returns
    -------
    list of dict
        ``call``, ``count``, ``recorded`` and ``replayed`` and ``response`` (``p50_ns``, ``p99_ns``, or where the count
        does not carry that ``p99_at_least_ns``), ``times`` (how many times as long the median is: ``value``, ``low``,
        ``high``), ``added_ns`` (all of them together), ``files`` (those with the most of it: ``name``, ``count``,
        ``added_ns``).
    """
    found = [_changed(pairs, number, name, files) for number, name in enumerate(names) if (pairs.name == number).any()]
    return sorted(found, key=lambda one: -one["waited_ns"])


def _changed(pairs: CallPairs, number: int, name: str, files: Sequence[str]) -> dict[str, Any]:
    mine = pairs.name == number
    recorded, replayed = pairs.recorded_ns[mine], pairs.replayed_ns[mine]
    there, here = (quantile_estimates_from_series(side, _ATS) for side in (recorded, replayed))
    added: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for place in np.unique(pairs.file[mine]).tolist() if files else ():
        of_file = mine & (pairs.file == place)
        added[files[place]] = int((pairs.replayed_ns - pairs.recorded_ns)[of_file].sum())
        counts[files[place]] = int(of_file.sum())
    return {
        "call": name,
        "count": int(mine.sum()),
        "waited_ns": int(max(recorded.sum(), replayed.sum())),
        "recorded": _quantiles_of(there),
        "replayed": _quantiles_of(here),
        "response": None if pairs.response_ns is None else quantiles_of_series(pairs.response_ns[mine]),
        "times": _times_as_long(there[0], here[0]),
        "added_ns": int(replayed.sum() - recorded.sum()),
        "files": [
            {"name": one, "count": counts[one], "added_ns": more} for one, more in added.most_common(_FILES_TOLD)
        ],
    }


def quantiles_of_operation(measured: Measurement, operation: str, latency: str) -> Quantiles | None:
    """What an operation took here, as `changed_calls` gives it; None where none came to an end."""
    histogram = measured.histograms.get((operation, latency))
    if histogram is None or not histogram.total_count:
        return None
    p50_ns, p99_ns = map(histogram.quantile_ns, _ATS)
    if is_carried(_P99, histogram.total_count):
        return _quantiles(p50_ns, p99_ns)
    series = series_from_measurement(measured, operation, latency)
    estimates = [] if series is None else quantile_estimates_from_intervals(series, _ATS)
    return _quantiles(p50_ns, None, estimates)


def quantiles_of_series(series: NDArray[Any]) -> Quantiles:
    """What I/Os took, in the order of their times, as `changed_calls` gives it."""
    return dict(zip(("p50_ns", "p99_ns", "p99_at_least_ns"), median_and_p99(series), strict=True))


def _quantiles_of(estimates: Sequence[Estimate]) -> Quantiles:
    p50, p99 = estimates
    return _quantiles(float((p50.observed if p50.value is None else p50.value) or 0), p99.value, estimates)


def _quantiles(p50_ns: float, p99_ns: float | None, estimates: Sequence[Estimate] = ()) -> Quantiles:
    # a few that drift bound it by less than the median beside it
    at_least_ns = None if p99_ns is not None else max(p50_ns, *(one.low or 0.0 for one in estimates), 0.0)
    told = {"p50_ns": p50_ns, "p99_ns": p99_ns, "p99_at_least_ns": at_least_ns}
    return {name: None if value is None else float(value) for name, value in told.items()}


def _times_as_long(there: Estimate, here: Estimate) -> dict[str, float | None] | None:
    """How many times as long one median is as another, with its 95 % interval; None where one of them is not known.

    The interval is made of those of both medians: in the logarithm the distances of their ends add up as squares do
    (Zou and Donner 2008, "method of variance estimates recovery").
    """
    base, new = (one.value if one.value is not None else one.observed for one in (there, here))
    if not base or not new:
        return None
    value = new / base
    ends = (there.low, there.high, here.low, here.high)
    if any(end is None or end <= 0 for end in ends):
        return {"value": value, "low": None, "high": None}
    low, high, here_low, here_high = (math.log(end) for end in ends if end is not None)
    down = math.hypot(math.log(new) - here_low, high - math.log(base))
    up = math.hypot(here_high - math.log(new), math.log(base) - low)
    return {"value": value, "low": value * math.exp(-down), "high": value * math.exp(up)}
