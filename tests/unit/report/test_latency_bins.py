"""Bars, quantiles and interval series against slow exact versions from the raw latencies."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "golden"))

from synthetic import INTERVAL_SCHEMA, histogram_of

from drivelab.model.histogram import Histogram, merge
from drivelab.report.latency_bins import (
    BARS_PER_DECADE_OF_FEW,
    bar_counts,
    bar_edges_ns,
    bars_per_decade,
    carried_quantile,
    centres,
    interval_series,
    quantiles_ns,
)

LATENCIES = st.lists(st.integers(min_value=1, max_value=10**11), min_size=1, max_size=200)


@given(LATENCIES)
def test_every_value_falls_into_exactly_one_bar(latencies: list[int]) -> None:
    histogram = histogram_of(np.array(latencies))
    edges = bar_edges_ns([histogram])
    assert bar_counts(histogram, edges).sum() == len(latencies)
    assert edges[0] <= min(latencies)
    assert max(latencies) < edges[-1]


@given(LATENCIES)
def test_bars_agree_with_counting_the_latencies_themselves(latencies: list[int]) -> None:
    histogram = histogram_of(np.array(latencies))
    edges = bar_edges_ns([histogram])
    counted, _ = np.histogram(latencies, bins=edges)
    # a bucket is 0.2 % wide: a value that close to an edge may fall on its other side
    near = sum(min(abs(math.log(value / edge)) for edge in edges) < 0.002 for value in latencies)
    assert np.abs(bar_counts(histogram, edges) - counted).sum() <= 2 * near


def test_bars_are_equally_wide_on_a_logarithmic_axis(histogram: Callable[..., Histogram]) -> None:
    edges = bar_edges_ns([histogram(*range(1000, 5000)), histogram(90_000, 10**7)])
    widths = np.diff(np.log10(edges))
    assert np.allclose(widths, widths[0])
    assert np.allclose(np.log(centres(edges)), (np.log(edges[1:]) + np.log(edges[:-1])) / 2)


def test_few_values_get_wider_bars(histogram: Callable[..., Histogram]) -> None:
    assert bars_per_decade([histogram(*range(1000, 1100))]) == BARS_PER_DECADE_OF_FEW
    assert bars_per_decade([histogram(*range(1000, 9000))]) == 2 * BARS_PER_DECADE_OF_FEW


@given(LATENCIES, st.floats(min_value=0, max_value=1))
def test_quantiles_agree_with_those_of_the_histogram(latencies: list[int], at: float) -> None:
    histogram = histogram_of(np.array(latencies))
    assert quantiles_ns(histogram, np.array([at]))[0] == pytest.approx(histogram.quantile_ns(at))


@pytest.mark.parametrize(("at", "count"), [(0.9, 37), (0.99, 369), (0.999, 3690), (0.9999, 36900)])
def test_a_quantile_is_carried_from_as_many_values_as_an_interval_needs(at: float, count: int) -> None:
    assert carried_quantile(count) >= at - 1e-12
    assert carried_quantile(0.95 * count) < at


def test_no_values_carry_nothing() -> None:
    assert carried_quantile(0) == 0


def interval_rows(series: list[list[int]], length_ns: int = 100) -> pa.Table:
    """A table of intervals, each with its latencies."""
    rows = []
    for number, latencies in enumerate(series):
        inside = histogram_of(np.array(latencies, dtype=np.int64))
        rows.append(
            {
                "operation": "read",
                "latency": "total",
                "interval": number,
                "start_ns": number * length_ns,
                "duration_ns": length_ns,
                "count": inside.total_count,
                "bytes": 0,
                "errors": number % 2,
                "min_ns": inside.minimum_ns,
                "max_ns": inside.maximum_ns,
                "sum_ns": inside.sum_ns,
                "bucket": inside.bucket,
                "bucket_count": inside.count,
            }
        )
    return pa.Table.from_pylist(rows, schema=INTERVAL_SCHEMA)


@given(
    st.lists(st.lists(st.integers(min_value=1, max_value=10**10), max_size=40), min_size=1, max_size=20),
    st.integers(min_value=1, max_value=25),
)
def test_joined_intervals_are_the_merged_histograms(latencies: list[list[int]], columns: int) -> None:
    histograms = [histogram_of(np.array(values, dtype=np.int64)) for values in latencies]
    edges = bar_edges_ns(histograms)
    series = interval_series(interval_rows(latencies), "read", "total", edges, columns)
    joined = series.intervals_per_column
    assert len(series.count) == math.ceil(len(latencies) / joined) <= columns
    for column in range(len(series.count)):
        whole = merge(histograms[column * joined : (column + 1) * joined])
        assert series.count[column] == whole.total_count == series.counts[:, column].sum()
        if whole.total_count:
            assert series.max_ns[column] == whole.maximum_ns
            assert series.p50_ns[column] == pytest.approx(whole.quantile_ns(0.5), rel=2**-9)
            assert series.p99_ns[column] == pytest.approx(whole.quantile_ns(0.99), rel=2**-9)
        else:
            assert np.isnan(series.p50_ns[column])
            assert np.isnan(series.max_ns[column])


def test_joined_intervals_keep_their_time_and_their_errors() -> None:
    rows = interval_rows([[5], [], [7, 8], [9], [10]])
    series = interval_series(rows, "read", "total", bar_edges_ns([histogram_of(np.arange(1, 20))]), 3)
    assert series.start_ns.tolist() == [0, 200, 400]
    assert series.duration_ns.tolist() == [200, 200, 100]
    assert series.errors.tolist() == [1, 1, 0]


def test_intervals_of_other_operations_are_left_out() -> None:
    rows = interval_rows([[5], [6]])
    series = interval_series(rows, "write", "total", bar_edges_ns([histogram_of(np.arange(1, 20))]), 3)
    assert series.count.size == 0
