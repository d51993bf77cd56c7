"""Rates of many targets over their common window, against a count of single I/Os."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from drivelab.analyse.fleet_together import done_together
from drivelab.model.fleet_together import TogetherPart
from drivelab.model.histogram import Histogram

SECOND = 1_000_000_000
INTERVAL = 100_000_000
SIZE = 4096


def part_of(key: str, began: int, length: int, ends: Sequence[int], latencies: Sequence[int]) -> TogetherPart:
    """What a target measured whose I/Os ended then, from the begin of its window."""
    numbers = np.asarray(ends) // INTERVAL
    rows = [
        {
            "operation": "read",
            "latency": "total",
            "start_ns": int(number) * INTERVAL,
            "duration_ns": INTERVAL,
            "count": int((numbers == number).sum()),
            "bytes": int((numbers == number).sum()) * SIZE,
        }
        for number in sorted(set(numbers))
    ]
    buckets, counts = np.unique(latencies, return_counts=True)
    histogram = Histogram(
        buckets.astype(np.int64), counts.astype(np.int64), min(latencies), max(latencies), sum(latencies)
    )
    return TogetherPart(
        key, began, (began + 10, began + 40), 25, length, pa.Table.from_pylist(rows), {("read", "total"): histogram}
    )


def test_rates_are_those_of_the_time_in_which_all_worked() -> None:
    random = np.random.default_rng(5)
    parts, moments = [], []
    for number in range(4):
        began, length = 7 * SECOND + number * 30_000_000, 3 * SECOND - number * 200_000_000
        ends = np.sort(random.integers(0, length, 4000 + 900 * number))
        parts.append(part_of(f"h{number}/d", began, length, ends, [100 + number] * ends.size))
        moments.append(ends + began)
    answer = done_together(parts)
    # the last job of the last target began 40 ns after its window
    begin, end = 7 * SECOND + 90_000_040, 7 * SECOND + 90_000_000 + 2_400_000_000
    assert answer.window_ns == end - begin
    for rate, ended in zip(answer.rates, moments, strict=True):
        exact = np.count_nonzero((ended >= begin) & (ended < end)) / (answer.window_ns / 1e9)
        assert rate.rate_per_s == pytest.approx(exact, rel=0.01)
        assert rate.throughput_bytes_per_s == pytest.approx(exact * SIZE, rel=0.01)
    total = sum(np.count_nonzero((ended >= begin) & (ended < end)) for ended in moments)
    assert answer.totals["read"][0] == pytest.approx(total, rel=0.005)
    told = answer.to_json()
    assert told["totals"]["read"]["rate_per_s"] == pytest.approx(total / 2.4, rel=0.005)
    assert told["totals"]["read"]["latency_count"] == sum(map(len, moments)) > told["totals"]["read"]["count"]
    assert [one["latency_count"] for one in told["targets"]] == [len(ended) for ended in moments]


def test_each_latency_is_in_the_histogram_of_all_once() -> None:
    random = np.random.default_rng(6)
    latencies = [random.integers(1, 400, 500).tolist() for _ in range(3)]
    parts = [part_of(f"h{n}/d", n, SECOND, range(500), taken) for n, taken in enumerate(latencies)]
    merged = done_together(parts).latencies["read"]
    buckets, counts = np.unique(np.concatenate(latencies), return_counts=True)
    assert merged.bucket.tolist() == buckets.tolist()
    assert merged.count.tolist() == counts.tolist()


def test_the_spread_is_from_the_first_job_to_the_last_and_both_clocks_may_be_off() -> None:
    parts = [part_of("a/d", 0, SECOND, [1], [5]), part_of("b/d", 1000, SECOND, [1], [5])]
    answer = done_together(parts)
    assert (answer.begin_spread_ns, answer.clock_error_ns) == (1030, 50)


def test_targets_that_never_worked_at_once_have_no_rate_together() -> None:
    parts = [part_of("a/d", 0, SECOND, [1], [5]), part_of("b/d", 2 * SECOND, SECOND, [1], [5])]
    answer = done_together(parts)
    assert answer.window_ns == 0
    assert answer.totals["read"] == (0, 0)
