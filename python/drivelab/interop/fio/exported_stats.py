"""Latencies and rates in the shape of fio's JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivelab.model.histogram import Histogram, bucket_low_ns

# those that fio prints unless it is asked for others
PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
_NS_EDGES = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
_MS_EDGES = (*_NS_EDGES, 2000)
# fio's buckets of latencies: so many for each octave, and in all
_BUCKET_BITS = 6
_IN_OCTAVE = 1 << _BUCKET_BITS
BUCKETS = 29 * _IN_OCTAVE
Integers = NDArray[np.int64]


def latency_stats(histogram: Histogram | None, percentiles: Sequence[float] = ()) -> dict[str, Any]:
    """One of fio's ``*_ns`` objects; zeros with N = 0 without a histogram, as fio writes what was not measured.

    ``bins`` (counts by the values that fio's buckets stand for, in ns) stands beside the
    percentiles, as with ``--output-format=json+``.
    """
    if histogram is None or not histogram.total_count:
        return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    found: dict[str, Any] = {
        "min": histogram.minimum_ns,
        "max": histogram.maximum_ns,
        "mean": histogram.mean_ns,
        "stddev": _deviation(histogram),
        "N": histogram.total_count,
    }
    if percentiles:
        found["percentile"] = {f"{at:.6f}": round(histogram.quantile_ns(at / 100)) for at in percentiles}
        # each of ours is a part of one of fio's
        bucket = buckets_of(bucket_low_ns(histogram.bucket).astype(np.int64))
        filled, place = np.unique(bucket, return_inverse=True)
        counts = np.bincount(place, weights=histogram.count).astype(np.int64)
        found["bins"] = dict(zip(map(str, _bucket_values_ns(filled)), counts.tolist(), strict=True))
    return found


def buckets_of(ns: Integers) -> Integers:
    """Which of fio's buckets each latency is in: those below 128 ns have one each, further ones 64 an octave."""
    above = np.maximum(np.frexp(np.maximum(ns, 1).astype(np.float64))[1] - 1 - _BUCKET_BITS, 0)
    in_octave = (above + 1 << _BUCKET_BITS) + ((ns >> above) & _IN_OCTAVE - 1)
    return np.minimum(np.where(above > 0, in_octave, ns), BUCKETS - 1).astype(np.int64)


def _bucket_values_ns(bucket: Integers) -> list[int]:
    """The latencies that buckets of fio stand for: their middles, but for the first ones, which are one number each."""
    above = np.maximum((bucket >> _BUCKET_BITS) - 1, 0)
    middle = (1 << above + _BUCKET_BITS) + ((bucket % _IN_OCTAVE + 0.5) * (1 << above)).astype(np.int64)
    values: list[int] = np.where(bucket < 2 * _IN_OCTAVE, bucket, middle).tolist()
    return values


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
