"""Latencies as the engine keeps them: in the buckets of its histogram."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.interval_series import IntervalSeries
from drivelab.analyse.quantile import quantile_estimates_from_intervals
from drivelab.model.estimate import Estimate
from drivelab.model.histogram import SUB_BUCKET_BITS, SUB_BUCKET_COUNT, Histogram, merge


def bucket_of(values_ns: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bucket of each latency, whole nanoseconds."""
    whole = values_ns.astype(np.int64)
    octave = np.maximum(np.frexp(np.maximum(whole, 1).astype(np.float64))[1] - 1 - SUB_BUCKET_BITS, 0)
    return octave * SUB_BUCKET_COUNT + (whole >> octave)


def histogram_of(values_ns: NDArray[np.float64]) -> Histogram:
    """The histogram of latencies, whole nanoseconds."""
    bucket, count = np.unique(bucket_of(values_ns), return_counts=True)
    return Histogram(bucket, count, int(values_ns.min()), int(values_ns.max()), int(values_ns.sum()))


def interval_series_of(values_ns: NDArray[np.float64], intervals: int) -> IntervalSeries:
    """Latencies cut into intervals of as many operations each, without a Python loop over them."""
    per_interval = values_ns.shape[0] // intervals
    place = np.arange(values_ns.shape[0]) // per_interval
    keys, count = np.unique(place * (1 << 20) + bucket_of(values_ns), return_counts=True)
    return IntervalSeries(
        duration_ns=np.full(intervals, 1e8),
        count=np.full(intervals, float(per_interval)),
        bytes=np.zeros(intervals),
        sum_ns=values_ns.reshape(intervals, per_interval).sum(axis=1),
        entry_interval=keys >> 20,
        entry_bucket=keys & ((1 << 20) - 1),
        entry_count=count.astype(np.int64),
        merged=histogram_of(values_ns),
        window=np.zeros(intervals, np.int64),
    )


def series_from_histograms(histograms: Sequence[Histogram]) -> IntervalSeries:
    """Intervals of equal length from a histogram of each."""
    sizes = [h.bucket.shape[0] for h in histograms]
    zeros = np.zeros(len(histograms))
    return IntervalSeries(
        duration_ns=zeros + 1,
        count=np.array([h.total_count for h in histograms], dtype=np.float64),
        bytes=zeros,
        sum_ns=np.array([h.sum_ns for h in histograms], dtype=np.float64),
        entry_interval=np.repeat(np.arange(len(histograms), dtype=np.int64), sizes),
        entry_bucket=np.concatenate([h.bucket for h in histograms]),
        entry_count=np.concatenate([h.count for h in histograms]),
        merged=merge(list(histograms)),
        window=np.zeros(len(histograms), np.int64),
    )


def quantile_of_histograms(histograms: Sequence[Histogram], at: float) -> Estimate:
    """One latency quantile from a histogram per interval."""
    return quantile_estimates_from_intervals(series_from_histograms(histograms), [at])[0]
