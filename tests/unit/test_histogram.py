"""The latency histogram against exact values held by numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.model.histogram import (
    EMPTY,
    SUB_BUCKET_COUNT,
    Histogram,
    bucket_high_ns,
    bucket_low_ns,
    merge,
)

HALF_BUCKET = 2**-10
LATENCIES = st.lists(st.integers(0, 2**50), min_size=1, max_size=200)
QUANTILES = st.sampled_from([0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0])


def bucket_of(value_ns: int) -> int:
    """Index of a value's bucket, by whole numbers alone: the oracle of the layout."""
    octave = max(0, value_ns.bit_length() - (SUB_BUCKET_COUNT.bit_length()))
    return octave * SUB_BUCKET_COUNT + (value_ns >> octave)


def histogram_of(values_ns: Sequence[int]) -> Histogram:
    """The histogram of some values, counted one by one."""
    buckets, counts = np.unique([bucket_of(value) for value in values_ns], return_counts=True)
    return Histogram(
        bucket=buckets.astype(np.int64),
        count=counts.astype(np.int64),
        minimum_ns=min(values_ns),
        maximum_ns=max(values_ns),
        sum_ns=sum(values_ns),
    )


@given(st.integers(0, 2**53))
def test_a_value_lies_in_its_bucket(value_ns: int) -> None:
    bucket = np.array([bucket_of(value_ns)])
    assert bucket_low_ns(bucket)[0] <= value_ns <= bucket_high_ns(bucket)[0]


def test_buckets_follow_each_other_without_gap_or_overlap() -> None:
    bucket = np.arange(40 * SUB_BUCKET_COUNT)
    assert bucket_low_ns(bucket)[0] == 0
    assert np.array_equal(bucket_high_ns(bucket)[:-1] + 1, bucket_low_ns(bucket)[1:])


def test_a_bucket_is_at_most_a_512th_of_its_values_wide() -> None:
    bucket = np.arange(SUB_BUCKET_COUNT, 40 * SUB_BUCKET_COUNT)
    width = bucket_high_ns(bucket) - bucket_low_ns(bucket)
    assert np.all(width <= bucket_low_ns(bucket) / SUB_BUCKET_COUNT)


def test_the_whole_range_of_64_bits_has_buckets() -> None:
    assert bucket_low_ns(np.array([bucket_of(2**64 - 1)]))[0] <= 2**64 - 1


@given(LATENCIES, QUANTILES)
def test_a_quantile_is_the_sorted_value_of_its_rank_to_half_a_bucket(values_ns: list[int], at: float) -> None:
    exact = np.quantile(np.array(values_ns), at, method="inverted_cdf")
    assert math.isclose(histogram_of(values_ns).quantile_ns(at), exact, rel_tol=HALF_BUCKET)


@given(LATENCIES)
def test_the_ends_the_count_and_the_mean_are_exact(values_ns: list[int]) -> None:
    histogram = histogram_of(values_ns)
    assert histogram.quantile_ns(0) == min(values_ns)
    assert histogram.quantile_ns(1) == max(values_ns)
    assert histogram.total_count == len(values_ns)
    assert math.isclose(histogram.mean_ns, np.mean(np.array(values_ns, dtype=np.float64)), rel_tol=1e-12)


@given(st.lists(st.integers(0, SUB_BUCKET_COUNT - 1), min_size=1, max_size=200), QUANTILES)
def test_below_512_ns_every_quantile_is_exact(values_ns: list[int], at: float) -> None:
    exact = np.quantile(np.array(values_ns), at, method="inverted_cdf")
    assert histogram_of(values_ns).quantile_ns(at) == exact


@given(LATENCIES)
def test_quantiles_never_fall(values_ns: list[int]) -> None:
    histogram = histogram_of(values_ns)
    found = [histogram.quantile_ns(at) for at in np.linspace(0, 1, 101)]
    assert found == sorted(found)


@given(st.lists(LATENCIES, max_size=6))
def test_merged_parts_are_the_whole(parts: list[list[int]]) -> None:
    merged = merge([histogram_of(part) for part in parts] + [EMPTY])
    values_ns = [value for part in parts for value in part]
    whole = histogram_of(values_ns) if values_ns else EMPTY
    assert np.array_equal(merged.bucket, whole.bucket)
    assert np.array_equal(merged.count, whole.count)
    assert (merged.minimum_ns, merged.maximum_ns, merged.sum_ns) == (whole.minimum_ns, whole.maximum_ns, whole.sum_ns)


def test_a_nanosecond_of_zero_counts_in_a_merge() -> None:
    merged = merge([histogram_of([0]), histogram_of([5])])
    assert (merged.minimum_ns, merged.total_count) == (0, 2)


def test_an_empty_histogram_has_no_mean() -> None:
    assert EMPTY.total_count == 0
    assert math.isnan(EMPTY.mean_ns)


@pytest.mark.parametrize("at", [0.5, 0.999])
def test_one_value_is_every_quantile(at: float) -> None:
    assert histogram_of([123_456_789]).quantile_ns(at) == 123_456_789
