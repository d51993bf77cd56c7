"""Latencies and rates in the shape of fio's JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from drivelab.model.histogram import Histogram

# those that fio prints unless it is asked for others
PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
_NS_EDGES = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
_MS_EDGES = (*_NS_EDGES, 2000)


def latency_stats(histogram: Histogram | None, percentiles: Sequence[float] = ()) -> dict[str, Any]:
    """One of fio's ``*_ns`` objects; zeros with N = 0 without a histogram, as fio writes what was not measured.

    ``bins`` (the middle of each bucket, in ns, and its count) stands beside the
    percentiles, as with ``--output-format=json+``.
    """
    if histogram is None or not histogram.total_count:
        return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    middles = histogram.midpoints_ns()
    found: dict[str, Any] = {
        "min": histogram.minimum_ns,
        "max": histogram.maximum_ns,
        "mean": histogram.mean_ns,
        "stddev": _deviation(histogram),
        "N": histogram.total_count,
    }
    if percentiles:
        found["percentile"] = {f"{at:.6f}": round(histogram.quantile_ns(at / 100)) for at in percentiles}
        bins: dict[str, int] = {}
        for middle, count in zip(middles, histogram.count, strict=True):
            # two of the narrowest buckets may have the same middle in whole ns
            bins[str(round(middle))] = bins.get(str(round(middle)), 0) + int(count)
        found["bins"] = bins
    return found


def latency_distribution(histograms: Sequence[Histogram]) -> dict[str, dict[str, float]]:
    """The shares of latencies below each of fio's edges, in percent: ``latency_ns``, ``latency_us``, ``latency_ms``."""
    total = sum(histogram.total_count for histogram in histograms)
    found: dict[str, dict[str, float]] = {}
    low = 0.0
    for key, unit_ns, edges in (("ns", 1, _NS_EDGES), ("us", 1_000, _NS_EDGES), ("ms", 1_000_000, _MS_EDGES)):
        shares = {}
        for edge in edges:
            high = float(edge * unit_ns)
            shares[str(edge)] = _share_between(histograms, low, high, total)
            low = high
        found[f"latency_{key}"] = shares
    found["latency_ms"][">=2000"] = _share_between(histograms, low, math.inf, total)
    return found


def rate_stats(rates: np.ndarray[Any, np.dtype[np.float64]], name: str) -> dict[str, Any]:
    """``NAME_min``, ``_max``, ``_mean``, ``_dev`` or ``_stddev``, ``_samples`` of the rates of intervals."""
    deviation = f"{name}_stddev" if name == "iops" else f"{name}_dev"
    if not len(rates):
        return {f"{name}_min": 0, f"{name}_max": 0, f"{name}_mean": 0.0, deviation: 0.0, f"{name}_samples": 0}
    return {
        f"{name}_min": round(float(rates.min())),
        f"{name}_max": round(float(rates.max())),
        f"{name}_mean": float(rates.mean()),
        deviation: float(rates.std(ddof=1)) if len(rates) > 1 else 0.0,
        f"{name}_samples": len(rates),
    }


def _deviation(histogram: Histogram) -> float:
    if histogram.total_count < 2:
        return 0.0
    squares = float((histogram.count * (histogram.midpoints_ns() - histogram.mean_ns) ** 2).sum())
    return math.sqrt(squares / (histogram.total_count - 1))


def _share_between(histograms: Sequence[Histogram], low_ns: float, high_ns: float, total: int) -> float:
    if not total:
        return 0.0
    within = 0
    for histogram in histograms:
        middles = histogram.midpoints_ns()
        within += int(histogram.count[(middles >= low_ns) & (middles < high_ns)].sum())
    return 100 * within / total
