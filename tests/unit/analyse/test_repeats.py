"""Repeats brought together: the median, and the range that says how sure it is."""

from __future__ import annotations

import numpy as np
import pytest

from drivelab.analyse.repeats import over_repeats, repeatable
from drivelab.model.estimate import Estimate
from drivelab.model.histogram import Histogram


def one(value: float | None) -> dict[str, Estimate]:
    return {"iops": Estimate(value, None, None, "1/s", 10, 10.0, "made up")}


def histogram_of(values: list[int]) -> Histogram:
    bucket, count = np.unique(np.array(values), return_counts=True)
    return Histogram(bucket, count, min(values), max(values), sum(values))


def test_the_median_and_the_range_are_those_of_the_repeats() -> None:
    combined = over_repeats([one(3.0), one(1.0), one(10.0)])["iops"]
    assert (combined.median, combined.lowest, combined.highest, combined.repeat_count) == (3.0, 1.0, 10.0, 3)
    assert combined.unit == "1/s"


def test_a_metric_that_one_repeat_lacks_is_left_out() -> None:
    assert over_repeats([one(3.0), one(None)]) == {}
    assert over_repeats([one(3.0), {}]) == {}


@pytest.mark.parametrize(
    ("count", "known"), [(5, []), (6, ["p50"]), (367, ["p50", "p90"]), (368, ["p50", "p90", "p99"])]
)
def test_a_quantile_has_a_value_when_there_are_enough_ios_for_it(count: int, known: list[str]) -> None:
    names = ("p50", "p90", "p99", "p999")
    open_ended = {f"total_latency_ns_{name}": Estimate(None, 1.0, None, "ns", count, 1.0, "") for name in names}
    values = [100 + index % 300 for index in range(count)]
    found = repeatable(open_ended, histogram_of(values))
    assert [name for name in names if found[f"total_latency_ns_{name}"].value is not None] == known
    if "p99" in known:
        assert found["total_latency_ns_p99"].value == sorted(values)[int(np.ceil(0.99 * count)) - 1]


def test_a_quantile_of_too_few_ios_loses_its_value() -> None:
    published = {"total_latency_ns_p99": Estimate(7.0, None, None, "ns", 4, 0.0, "")}
    assert repeatable(published, histogram_of([1, 2, 3, 7]))["total_latency_ns_p99"].value is None
