"""Puts histograms into bars of equal width on a logarithmic axis, and reads quantiles off them.

A bar is 5 % wide, or 10 % where there are few values, and the engine's buckets
are at most 0.2 % wide, so a bucket goes whole to the bar that holds its middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from drivelab.model.histogram import Histogram, bucket_high_ns, bucket_low_ns

BARS_PER_DECADE, BARS_PER_DECADE_OF_FEW = 50, 25
# with fewer values narrow bars would show chance, not shape
_FEW = 2000
# values a two-sided 95 % interval of a quantile needs beyond it: p99 needs 368 in all, p99.9 3688
_VALUES_BEYOND = 3.69


def bars_per_decade(histograms: Sequence[Histogram]) -> int:
    """How many bars there are to a decade: as many as the middle one of the histograms has values for."""
    counts = sorted(histogram.total_count for histogram in histograms if histogram.total_count)
    return BARS_PER_DECADE if counts and counts[len(counts) // 2] >= _FEW else BARS_PER_DECADE_OF_FEW


def bar_edges_ns(histograms: Sequence[Histogram]) -> NDArray[np.float64]:
    """Edges of the bars that hold every value of the histograms, shape (bars + 1,)."""
    filled = [histogram for histogram in histograms if histogram.total_count]
    per_decade = bars_per_decade(filled)
    low = max(1, min((histogram.minimum_ns for histogram in filled), default=1))
    high = max(low, max((histogram.maximum_ns for histogram in filled), default=1))
    first = np.floor(np.log10(low) * per_decade)
    last = np.floor(np.log10(high) * per_decade) + 1
    return np.asarray(10 ** (np.arange(first, last + 1) / per_decade))


def centres(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Middle of each bar on a logarithmic axis, shape (bars,)."""
    return np.asarray(np.sqrt(edges[:-1] * edges[1:]))


def bar_counts(histogram: Histogram, edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many values fall into each bar, shape (bars,); they add up to the histogram's."""
    place = _bar_of(histogram.midpoints_ns(), edges)
    return np.bincount(place, weights=histogram.count, minlength=edges.size - 1).astype(np.int64)


def carried_quantile(value_count: float) -> float:
    """The highest quantile that so many independent values carry with a two-sided 95 % interval; 0 when none."""
    return max(0.0, 1 - _VALUES_BEYOND / value_count) if value_count > 0 else 0.0


def quantiles_ns(histogram: Histogram, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Latencies at or below which the fractions `at` of the values lie, shape as given."""
    total = histogram.total_count
    ranks = np.maximum(1, np.ceil(at * total - 1e-9))
    running = np.cumsum(histogram.count)
    values = histogram.midpoints_ns()[np.searchsorted(running, ranks)]
    values = np.where(ranks >= total, histogram.maximum_ns, values)
    return np.asarray(np.where(ranks <= 1, histogram.minimum_ns, values))


@dataclass(frozen=True, slots=True)
class IntervalSeries:
    """Latency over time, in columns of equal length.

    Attributes
    ----------
    start_ns, duration_ns : ndarray of int64, shape (columns,)
        When each column begins, since the start of the measured window, and how long it is.
    count, errors : ndarray of int64, shape (columns,)
        Operations completed and failed.
    p50_ns, p99_ns, max_ns : ndarray of float64, shape (columns,)
        Not a number where nothing completed.
    counts : ndarray of int64, shape (bars, columns)
        How many latencies fall into each bar of the edges given.
    intervals_per_column : int
        Stored intervals that were joined to one column, without loss.
    """

    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    count: NDArray[np.int64]
    errors: NDArray[np.int64]
    p50_ns: NDArray[np.float64]
    p99_ns: NDArray[np.float64]
    max_ns: NDArray[np.float64]
    counts: NDArray[np.int64]
    intervals_per_column: int


def interval_series(
    intervals: pa.Table, operation: str, latency: str, edges: NDArray[np.float64], columns_at_most: int
) -> IntervalSeries:
    """One kind of latency of a trial over time.

    Parameters
    ----------
    intervals : pyarrow.Table
        The trial's rows of the intervals table.
    operation, latency : str
        Which of them.
    edges : ndarray
        Edges of the bars, from `bar_edges_ns`.
    columns_at_most : int
        When there are more intervals, neighbours are joined by adding their histograms.

    Returns
    -------
    IntervalSeries
        Empty columns for intervals in which nothing completed.
    """
    chosen = pc.and_(pc.equal(intervals["operation"], operation), pc.equal(intervals["latency"], latency))
    rows = intervals.filter(chosen).sort_by("interval").combine_chunks()
    number = _integers(rows, "interval")
    joined = -(-(int(number.max(initial=0)) + 1) // columns_at_most)
    column = number // joined
    size = int(column.max(initial=-1)) + 1
    flat_column, bucket, count = _flat_buckets(rows, column)
    quantiles = _quantiles_by_column(flat_column, bucket, count, size)
    maximum = np.full(size, np.nan)
    filled = _integers(rows, "count") > 0
    np.fmax.at(maximum, column[filled], _integers(rows, "max_ns")[filled].astype(np.float64))
    start = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(start, column, _integers(rows, "start_ns"))
    return IntervalSeries(
        start_ns=start,
        duration_ns=_sum(column, _integers(rows, "duration_ns"), size),
        count=_sum(column, _integers(rows, "count"), size),
        errors=_sum(column, _integers(rows, "errors"), size),
        p50_ns=np.fmin(quantiles[0], maximum),
        p99_ns=np.fmin(quantiles[1], maximum),
        max_ns=maximum,
        counts=_grid(flat_column, bucket, count, edges, size),
        intervals_per_column=joined,
    )


def _flat_buckets(
    rows: pa.Table, column: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Column, bucket and count of every bucket of every row, ordered by column and bucket."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(rows["bucket"]), 0), dtype=np.int64)
    flat_column = np.repeat(column, lengths)
    bucket = np.asarray(pc.list_flatten(rows["bucket"]), dtype=np.int64)
    count = np.asarray(pc.list_flatten(rows["bucket_count"]), dtype=np.int64)
    order = np.lexsort((bucket, flat_column))
    return flat_column[order], bucket[order], count[order]


def _quantiles_by_column(
    column: NDArray[np.int64], bucket: NDArray[np.int64], count: NDArray[np.int64], size: int
) -> NDArray[np.float64]:
    """Quantiles 0.5 and 0.99 of each column, shape (2, size)."""
    result = np.full((2, size), np.nan)
    if bucket.size == 0:
        return result
    running = np.cumsum(count)
    totals = np.bincount(column, weights=count, minlength=size).astype(np.int64)
    before = np.cumsum(totals) - totals
    filled = totals > 0
    middle = (bucket_low_ns(bucket) + bucket_high_ns(bucket)) / 2
    for place, at in enumerate((0.5, 0.99)):
        ranks = before[filled] + np.maximum(1, np.ceil(at * totals[filled])).astype(np.int64)
        result[place, filled] = middle[np.searchsorted(running, ranks)]
    return result


def _grid(
    column: NDArray[np.int64],
    bucket: NDArray[np.int64],
    count: NDArray[np.int64],
    edges: NDArray[np.float64],
    size: int,
) -> NDArray[np.int64]:
    bars = edges.size - 1
    place = _bar_of((bucket_low_ns(bucket) + bucket_high_ns(bucket)) / 2, edges)
    cells = np.bincount(place * size + column, weights=count, minlength=bars * size)
    return cells.reshape(bars, size).astype(np.int64)


def _bar_of(values_ns: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.clip(np.searchsorted(edges, values_ns, side="right") - 1, 0, edges.size - 2)


def _sum(column: NDArray[np.int64], values: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return np.bincount(column, weights=values, minlength=size).astype(np.int64)


def _integers(rows: pa.Table, name: str) -> NDArray[np.int64]:
    return np.asarray(pc.fill_null(rows[name], 0), dtype=np.int64)
