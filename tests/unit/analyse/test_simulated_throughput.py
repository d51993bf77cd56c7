"""Falls, swings and drifts put into simulated throughput are found, and nothing else: small sizes.

``tests/prove/findings.py`` counts the same over many more series; docs/findings.md has those figures.
"""

from __future__ import annotations

import numpy as np
import pytest

from judged_throughput import cliff_of, drifts, share_of, swing_of
from simulated_throughput import (
    MB,
    collections,
    falling,
    flat,
    heavy_tails,
    iid,
    line,
    made,
    pink,
    square_wave,
    stalls,
    two_levels,
    wandering,
)

MINUTE_S = 60.0


@pytest.mark.parametrize("within_s", [1, 3, 6])
def test_the_level_after_a_fall_of_seconds_is_the_one_that_stays(within_s: float) -> None:
    random = np.random.default_rng(within_s)
    covered = 0
    for _ in range(8):
        at_s = random.uniform(12, 35)
        series = made(falling(600, MINUTE_S, at_s, within_s), iid(random, 600), MINUTE_S)
        cliff = cliff_of(series)
        assert cliff is not None
        assert cliff.before.value == pytest.approx(500 * MB, rel=0.03)
        assert cliff.after.value == pytest.approx(150 * MB, rel=0.05)
        onset = np.interp(at_s, np.arange(601) * series.step_s, np.append(0, np.cumsum(series.moved)))
        covered += cliff.low_bytes <= onset <= cliff.high_bytes
    assert covered >= 6


@pytest.mark.parametrize(("at_s", "after"), [(30, 0.1), (30, 0.05), (18, 0.02), (30, 0.005)])
@pytest.mark.parametrize("noise", [iid, heavy_tails, stalls])
def test_the_worse_a_cliff_the_surer_it_is_found(at_s: float, after: float, noise) -> None:
    random = np.random.default_rng(7)
    for count in (200, 1200):
        cliff = cliff_of(
            made(falling(count, MINUTE_S, at_s, 0, after=500 * MB * after), noise(random, count), MINUTE_S)
        )
        assert cliff is not None
        assert cliff.after.value == pytest.approx(500 * MB * after, rel=0.15)


@pytest.mark.parametrize("noise", [iid, heavy_tails, stalls, pink, lambda random, count: wandering(random, count, 8)])
def test_a_flat_throughput_has_no_cliff(noise) -> None:
    for count in (50, 200):
        assert share_of(lambda random, n=count: made(flat(n), noise(random, n), MINUTE_S), cliff_of, 12) == 0


@pytest.mark.parametrize("period_s", [0.5, 0.9, 1.5])
def test_a_drive_that_is_throttled_by_turns_swings(period_s: float) -> None:
    random = np.random.default_rng(3)
    for _ in range(10):
        swing = swing_of(made(square_wave(random, 100, period_s / 0.05), iid(random, 100), 5.0))
        assert swing is not None
        assert swing.period_ns == pytest.approx(period_s * 1e9, rel=0.05)
        # intervals that hold a part of each level blur short ones
        assert swing.factor == pytest.approx(2.5, rel=0.1 if period_s > 0.5 else 0.3)
        assert swing.low_share == pytest.approx(0.3, abs=0.12)


@pytest.mark.parametrize("count", [200, 600])
@pytest.mark.parametrize("period", [10, 14.6, 40])
def test_the_period_is_told_and_no_multiple_of_it(count: int, period: float) -> None:
    random = np.random.default_rng(count)
    for jitter in (0.0, 0.05):
        swing = swing_of(made(square_wave(random, count, period, jitter=jitter), iid(random, count, 0.1), count))
        assert swing is not None
        assert swing.period_ns / 1e9 == pytest.approx(period, rel=0.06)


def test_a_slow_swing_shows_through_the_noise_of_single_intervals() -> None:
    random = np.random.default_rng(4)
    swing = swing_of(made(square_wave(random, 1200, 120), iid(random, 1200, 0.6), 60.0))
    assert swing is not None
    assert swing.period_ns == pytest.approx(6e9, rel=0.05)


def test_a_drive_that_stops_by_turns_swings_to_nothing() -> None:
    random = np.random.default_rng(5)
    swing = swing_of(made(square_wave(random, 200, 20, low=0.0), iid(random, 200), 10.0))
    assert swing is not None
    assert swing.factor > 100


WITHOUT_A_SWING = {
    "iid": iid,
    "heavy tails": heavy_tails,
    "1/f": lambda random, count: pink(random, count, 0.2),
    "forgets after 2": lambda random, count: wandering(random, count, 2, 0.15),
    "forgets after 10": lambda random, count: wandering(random, count, 10, 0.2),
    "collections": collections,
    "two levels": lambda random, count: two_levels(random, count, 10, 0.5),
}


@pytest.mark.parametrize("noise", WITHOUT_A_SWING.values(), ids=WITHOUT_A_SWING)
@pytest.mark.parametrize("count", [41, 100, 600])
def test_noise_has_no_period(noise, count: int) -> None:
    assert share_of(lambda random: made(flat(count), noise(random, count), 5.0), swing_of, 60) <= 0.02


def test_a_fall_and_a_line_are_no_swing() -> None:
    random = np.random.default_rng(6)
    assert swing_of(made(falling(200, MINUTE_S, 30, 0), iid(random, 200), MINUTE_S)) is None
    assert swing_of(made(line(200, 0.4), iid(random, 200), MINUTE_S)) is None


@pytest.mark.parametrize("count", [40, 100])
def test_the_stronger_a_drift_the_surer_it_is_found(count: int) -> None:
    def drifting(slower: float):
        return lambda random: made(line(count, 1 / slower), iid(random, count), count / 20)

    assert share_of(drifting(1.3), drifts, 100) >= 0.95
    assert share_of(drifting(1.6), drifts, 100) >= 0.95
    assert share_of(drifting(2.5), drifts, 100) >= 0.9


@pytest.mark.parametrize("count", [40, 100])
@pytest.mark.parametrize(
    "noise",
    [
        lambda random, count: iid(random, count, 0.3),
        heavy_tails,
        collections,
        lambda random, count: wandering(random, count, count / 20, 0.15),
        lambda random, count: wandering(random, count, 2, 0.15),
    ],
    ids=["iid", "heavy tails", "collections", "a twentieth of the window", "two intervals"],
)
def test_noise_faster_than_a_tenth_of_the_window_hardly_drifts(noise, count: int) -> None:
    # 0.05 and two standard errors of 200
    assert share_of(lambda random: made(flat(count), noise(random, count), 2.0), drifts, 200) <= 0.08
