"""Repeats brought together: the median, and the range that says how sure it is."""

from __future__ import annotations

import pytest
from scipy import stats

from drivelab.analyse.repeats import FEWEST_FOR_QUANTILE, repeated_bounds, repeated_metric


def test_the_median_and_the_range_are_those_of_the_repeats() -> None:
    combined = repeated_metric([3.0, 1.0, 10.0], "1/s")
    assert combined is not None
    assert (combined.median, combined.lowest, combined.highest, combined.repeat_count) == (3.0, 1.0, 10.0, 3)
    assert combined.unit == "1/s"


def test_of_rounds_the_mean_is_told_as_their_criterion_takes_it() -> None:
    rounds = repeated_metric([1.0, 2.0, 9.0], "1/s", are_rounds=True)
    assert rounds is not None
    assert (rounds.median, rounds.mean, rounds.value, rounds.estimate.value) == (2.0, 4.0, 4.0, 4.0)
    repeats, alone = repeated_metric([1.0, 2.0, 9.0], "1/s"), repeated_metric([1.0], "1/s", are_rounds=True)
    assert repeats is not None
    assert alone is not None
    assert (repeats.mean, repeats.value, alone.mean) == (None, 2.0, None)


@pytest.mark.parametrize("values", [[3.0, None], [None], []])
def test_a_metric_that_one_repeat_lacks_is_left_out(values: list[float | None]) -> None:
    assert repeated_metric(values, "ns") is None


def test_a_single_repeat_keeps_its_own_interval() -> None:
    alone = repeated_metric([3.0], "ns", ends=[(2.0, 4.0)])
    assert alone is not None
    assert (alone.low, alone.high) == (2.0, 4.0)
    seen = repeated_metric([3.0], "ns", is_seen=True, ends=[(2.0, None)])
    assert seen is not None
    assert (seen.is_seen, seen.low) == (True, None)
    several = repeated_metric([3.0, 5.0], "ns", ends=[(2.0, 4.0), (4.0, 6.0)])
    assert several is not None
    assert (several.low, several.high) == (None, None)


@pytest.mark.parametrize(
    ("values", "ends", "bounds"),
    [
        ([None, None], [(0.876, 0.88), (0.87, 0.9)], (0.873, 0.89)),
        ([None, 1.0, None], [(0.9, 0.95), (None, None), (0.3, 1.2)], (0.9, 1.0)),
        ([None, None, None], [(2.5, None), (13.0, None), (14.0, None)], (13.0, None)),
        ([None, None], [(12.5, None), (None, None)], None),
        ([], [], None),
    ],
)
def test_bounds_are_those_of_the_median_over_the_repeats(
    values: list[float | None],
    ends: list[tuple[float | None, float | None]],
    bounds: tuple[float, float | None] | None,
) -> None:
    assert repeated_bounds(values, ends) == (None if bounds is None else pytest.approx(bounds))


@pytest.mark.parametrize("name", FEWEST_FOR_QUANTILE)
def test_the_fewest_values_are_those_between_whose_ranks_an_interval_exists(name: str) -> None:
    at, fewest = FEWEST_FOR_QUANTILE[name]

    def one_sided(count: int) -> float:
        return float(max(stats.binom.pmf(0, count, at), stats.binom.pmf(count, count, at)))

    assert one_sided(fewest) <= 0.025 < one_sided(fewest - 1)
