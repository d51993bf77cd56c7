"""Repeats brought together: the median, and the range that says how sure it is."""

from __future__ import annotations

import pytest
from scipy import stats

from drivelab.analyse.repeats import FEWEST_FOR_QUANTILE, repeated_metric


def test_the_median_and_the_range_are_those_of_the_repeats() -> None:
    combined = repeated_metric([3.0, 1.0, 10.0], "1/s")
    assert combined is not None
    assert (combined.median, combined.lowest, combined.highest, combined.repeat_count) == (3.0, 1.0, 10.0, 3)
    assert combined.unit == "1/s"


@pytest.mark.parametrize("values", [[3.0, None], [None], []])
def test_a_metric_that_one_repeat_lacks_is_left_out(values: list[float | None]) -> None:
    assert repeated_metric(values, "ns") is None


@pytest.mark.parametrize("name", FEWEST_FOR_QUANTILE)
def test_the_fewest_values_are_those_between_whose_ranks_an_interval_exists(name: str) -> None:
    at, fewest = FEWEST_FOR_QUANTILE[name]

    def one_sided(count: int) -> float:
        return float(max(stats.binom.pmf(0, count, at), stats.binom.pmf(count, count, at)))

    assert one_sided(fewest) <= 0.025 < one_sided(fewest - 1)
