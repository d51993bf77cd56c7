"""Latencies as the engine keeps them: in the buckets of its histogram."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.interval_series import IntervalSeries
from drivelab.model.histogram import SUB_BUCKET_BITS, SUB_BUCKET_COUNT, Histogram


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
    )
