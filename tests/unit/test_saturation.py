"""The knee of a rate over queue depth: found where it was put, also by queueing theory, and not where none is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.model.saturation import Saturation, knee_place, perhaps_knees, saturation

DEPTHS = [1, 2, 4, 8, 16, 32, 64, 128]


def rates(served: float, exponent: float = 1.0) -> list[float]:
    """A drive that serves so many I/Os at once, and no more."""
    return [1000 * min(depth, served) ** exponent for depth in DEPTHS]


@pytest.mark.parametrize("served", [2, 4, 8, 16, 32, 64])
def test_a_drive_that_serves_so_many_at_once_has_its_knee_there(served: int) -> None:
    place = knee_place(DEPTHS, rates(served))
    assert place is not None
    assert DEPTHS[place] == served


def test_a_rate_that_grows_to_the_end_has_no_knee() -> None:
    assert knee_place(DEPTHS, rates(1000)) is None
    assert knee_place(DEPTHS, rates(1000, exponent=0.6)) is None


def test_a_rate_that_never_grows_is_best_at_the_first_depth() -> None:
    assert knee_place(DEPTHS, [500, 510, 505, 500, 490, 512, 500, 508]) == 0


def test_chance_on_a_straight_line_is_no_knee() -> None:
    random = np.random.default_rng(3)
    for _ in range(50):
        noisy = np.array(DEPTHS) * np.exp(0.015 * random.standard_normal(len(DEPTHS)))
        assert knee_place(DEPTHS, noisy.tolist()) is None


def test_two_points_have_no_knee() -> None:
    assert knee_place([1, 32], [1000, 20_000]) is None


def test_a_rate_that_falls_again_has_its_knee_before() -> None:
    assert knee_place(DEPTHS, [1000, 2000, 4000, 7900, 8000, 7000, 5000, 3000]) == 3


@pytest.mark.parametrize("channels", [3, 5, 9, 17, 33])
def test_requests_that_meet_at_random_at_channels_have_their_knee_one_below_the_channels(channels: int) -> None:
    """Mean value analysis of a balanced closed network, which knows nothing of power."""
    depths = list(range(1, 4 * channels))
    rates, waiting = [], 0.0
    for depth in depths:
        # an I/O finds at its channel a share of all others
        latency = channels * (1.0 / channels) * (1 + waiting / channels)
        rates.append(depth / latency)
        waiting = float(depth)
    place = knee_place(depths, rates)
    assert place is not None
    assert abs(depths[place] - (channels - 1)) <= 1


@given(st.lists(st.floats(1, 1e6), min_size=3, max_size=8))
def test_behind_the_knee_the_latency_grows_by_more_than_the_rate(values: list[float]) -> None:
    depths = DEPTHS[: len(values)]
    place = knee_place(depths, values)
    chosen = len(depths) - 1 if place is None else place
    latencies = [depth / rate for depth, rate in zip(depths, values, strict=True)]
    for other in range(len(depths)):
        more, slower = values[other] / values[chosen], latencies[other] / latencies[chosen]
        assert more <= slower * (1 + 1e-9)


def test_a_doubling_that_brings_42_per_cent_still_pays() -> None:
    # of sim:consumer-ssd; by its distance from the chord the knee was 16, where twice as many bring 69 % more
    measured = [12_550, 24_900, 49_100, 94_900, 176_000, 298_000, 424_000]
    assert knee_place(DEPTHS[:7], measured) is None
    assert knee_place(DEPTHS, [*measured, 1.41 * measured[-1]]) == DEPTHS.index(64)


def test_beyond_the_knee_a_sentence_says_what_is_won_and_lost() -> None:
    found = saturation(DEPTHS, rates(16), [16.0 * max(1, depth / 16) for depth in DEPTHS])
    assert found == Saturation(16, 128, 1.0, 8.0)
    assert found.text == "More than 16 outstanding (up to 128) adds 0 % IOPS and 8x latency."
    assert Saturation(8, 32, 0.9, 3.9).short_text == "loses 10 % IOPS and brings 3.9x latency"
    assert Saturation(8, 32, 1.04, None).short_text == "adds 4 % IOPS"


def test_without_anything_beyond_the_knee_there_is_no_sentence() -> None:
    assert saturation(DEPTHS, rates(1000), [1.0] * len(DEPTHS)) is None


def test_a_latency_that_grows_a_hundredfold_is_written_out() -> None:
    found = saturation([1, 2, 128], [100, 100, 100], [1e7, 2e7, 1.284e9])
    assert found is not None
    assert found.short_text == "adds 0 % IOPS and 130x latency"


def test_what_may_be_the_knee_holds_it_whatever_the_repeats_are() -> None:
    random = np.random.default_rng(8)
    for _ in range(200):
        repeats = np.array(rates(8))[:, None] * np.exp(random.normal(0, random.uniform(0, 0.5), (len(DEPTHS), 3)))
        knees = [knee_place(DEPTHS, of.tolist()) for of in repeats.T]
        places = perhaps_knees(DEPTHS, repeats.min(axis=1).tolist(), repeats.max(axis=1).tolist())
        if places is not None:
            assert all(places[0] <= (len(DEPTHS) - 1 if knee is None else knee) <= places[1] for knee in knees)
    assert perhaps_knees(DEPTHS, rates(8), rates(8)) is None
