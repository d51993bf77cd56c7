"""How often findings are right, in full: the figures of docs/findings.md.

``python -m pytest -s tests/prove/findings.py`` prints a line for each setting; some minutes. The gate runs the same
simulators in small (``tests/unit/analyse/test_simulated_throughput.py``, ``test_not_alone.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from simulated_neighbours import any_trial, neighbour_share, own_bytes, programs_of, with_neighbours

from drivelab.analyse.findings import foreign_work
from judged_throughput import cliff_of, drifts, share_of, swing_of
from simulated_throughput import (
    MB,
    Floats,
    Made,
    Random,
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

Noise = Callable[[Random, int], Floats]
MINUTE_S = 60.0


def wanders(intervals: float, scale: float) -> Noise:
    """Noise that forgets after so many intervals."""
    return lambda random, count: wandering(random, count, intervals, scale)


FAST: dict[str, Noise] = {
    "iid 5 %": iid,
    "iid 30 %": lambda random, count: iid(random, count, 0.3),
    "t3": heavy_tails,
    "stalls": stalls,
    "collections": collections,
    "forgets after 2": wanders(2, 0.15),
}
SLOW: dict[str, Noise] = {
    "forgets after 8": wanders(8, 0.15),
    "forgets after 20": wanders(20, 0.15),
    "1/f": pink,
    "two levels for 20": lambda random, count: two_levels(random, count, 20),
}


def told(what: str, share: float) -> float:
    """The share, printed."""
    print(f"\n  {what:<60} {share:.3f}", end="")
    return share


@pytest.mark.parametrize("count", [200, 600, 1200])
@pytest.mark.parametrize("within_s", [0, 0.5, 1, 3, 6])
def test_level_after_a_fall(count: int, within_s: float) -> None:
    random = np.random.default_rng([count, round(10 * within_s)])
    ratios, covered = [], 0
    for _ in range(200):
        at_s = random.uniform(12, 35)
        series = made(falling(count, MINUTE_S, at_s, within_s), iid(random, count), MINUTE_S)
        cliff = cliff_of(series)
        if cliff is None:
            continue
        ratios.append(cliff.after.value / (150 * MB))
        onset = np.interp(at_s, np.arange(count + 1) * series.step_s, np.append(0, np.cumsum(series.moved)))
        covered += cliff.low_bytes <= onset <= cliff.high_bytes
    low, high = min(ratios), max(ratios)
    name = f"fall within {within_s} s, {count} intervals"
    told(f"{name}: found", len(ratios) / 200)
    told(f"{name}: level after / true, lowest", low)
    told(f"{name}: level after / true, highest", high)
    told(f"{name}: begin in its interval", covered / len(ratios))
    assert len(ratios) >= 190
    assert low >= 0.95
    assert high <= 1.05
    assert covered / len(ratios) >= (0.95 if within_s <= 1 else 0.75)


@pytest.mark.parametrize("count", [200, 600, 1200])
@pytest.mark.parametrize(("at_s", "after"), [(30, 0.1), (30, 0.05), (45, 0.05), (18, 0.02), (30, 0.01), (30, 0.005)])
def test_severe_cliffs(count: int, at_s: float, after: float) -> None:
    for name, noise in {**FAST, "forgets after 8": SLOW["forgets after 8"]}.items():

        def fallen(random: Random, noise: Noise = noise) -> Made:
            return made(falling(count, MINUTE_S, at_s, 0, after=500 * MB * after), noise(random, count), MINUTE_S)

        def is_found(series: Made) -> bool:
            cliff = cliff_of(series)
            return cliff is not None and abs(cliff.after.value / (500 * MB * after) - 1) < 0.25

        assert told(f"to {after:.1%} at {at_s} s, {count} intervals, {name}", share_of(fallen, is_found, 40)) >= 0.95


@pytest.mark.parametrize("capacity", [1e12, 1e10])
@pytest.mark.parametrize("count", [50, 200])
def test_false_cliffs(count: int, capacity: float) -> None:
    shares = []
    for name, noise in (FAST | SLOW).items():
        share = share_of(
            lambda random, noise=noise: made(flat(count), noise(random, count), MINUTE_S),
            lambda series: cliff_of(series, capacity),
            200,
        )
        shares.append(told(f"false cliffs, {count} intervals, {capacity / 1e9:.0f} GB, {name}", share))
    assert np.mean(shares) <= 0.01


@pytest.mark.parametrize("period_s", [0.5, 0.7, 0.9, 1.1, 1.3, 1.5])
def test_swings_in_5_s(period_s: float) -> None:
    share = share_of(
        lambda random: made(square_wave(random, 100, period_s / 0.05), iid(random, 100), 5.0),
        lambda series: is_period(series, period_s),
        200,
    )
    assert told(f"x0.4 for 30 % of {period_s} s in 5 s", share) >= 0.95


@pytest.mark.parametrize("count", [200, 600])
@pytest.mark.parametrize("period", [10, 14.6, 23, 40])
def test_swings_of_10_to_40_intervals(count: int, period: float) -> None:
    for jitter, scatter in ((0.0, 0.05), (0.1, 0.05), (0.0, 0.2)):
        share = share_of(
            lambda random, jitter=jitter, scatter=scatter: made(
                square_wave(random, count, period, jitter=jitter), iid(random, count, scatter), float(count)
            ),
            lambda series: is_period(series, period),
            200,
        )
        name = f"period of {period} of {count} intervals, +-{jitter:.0%}, scatter {scatter:.0%}"
        assert told(name, share) >= (0.95 if scatter < 0.1 else 0.9)


def is_period(series: Made, period_s: float) -> bool:
    """Whether a swing of this period is found, and no other."""
    swing = swing_of(series)
    return swing is not None and abs(swing.period_ns / 1e9 / period_s - 1) < 0.08


@pytest.mark.parametrize("count", [41, 100, 200, 600, 1200])
def test_false_swings(count: int) -> None:
    wild = {"two levels, half, for 10": lambda random, count: two_levels(random, count, 10, 0.5)}
    for name, noise in (FAST | SLOW | wild).items():
        share = share_of(lambda random, noise=noise: made(flat(count), noise(random, count), 5.0), swing_of, 400)
        assert told(f"false swings, {count} intervals, {name}", share) <= 0.01


@pytest.mark.parametrize("count", [40, 100])
def test_drifts(count: int) -> None:
    for slower in (1.15, 1.3, 1.6, 2.5):
        for name, noise in {"iid 5 %": iid, "t3": heavy_tails, "forgets after 2": wanders(2, 0.1)}.items():
            share = share_of(
                lambda random, noise=noise, slower=slower: made(line(count, 1 / slower), noise(random, count), 5.0),
                drifts,
                400,
            )
            told(f"drift x{slower} in {count} intervals, {name}", share)
            assert share >= 0.95 or name != "iid 5 %" or slower < 1.3


@pytest.mark.parametrize("count", [40, 100])
def test_false_drifts(count: int) -> None:
    within = {f"forgets after 1/{part} of it": wanders(count / part, 0.15) for part in (40, 20, 10)}
    for name, noise in (FAST | within).items():
        share = share_of(lambda random, noise=noise: made(flat(count), noise(random, count), 5.0), drifts, 1000)
        assert told(f"false drifts, {count} intervals, {name}", share) <= 0.05
    beyond = {f"forgets after 1/{part} of it": wanders(count / part, 0.15) for part in (4, 2)}
    for name, noise in (SLOW | beyond).items():
        share = share_of(lambda random, noise=noise: made(flat(count), noise(random, count), 5.0), drifts, 1000)
        told(f"false drifts beyond that, {count} intervals, {name}", share)


@pytest.mark.parametrize("own", ["read", "write"])
@pytest.mark.parametrize("foreign", ["reads", "writes"])
def test_bytes_of_neighbours(own: str, foreign: str) -> None:
    random = np.random.default_rng(len(own + foreign))
    found: dict[str, list[bool]] = {"": [], " durable": [], " durable, as an ordinary user": []}
    for _ in range(600):
        trial = any_trial(random, own)
        journals = foreign == "writes" and trial.durability != "none" and trial.filesystem != "raw"
        share = {foreign: neighbour_share(random)}
        moved = own_bytes(random, trial)
        programs = programs_of(random, trial, **share)
        judged = foreign_work.find(with_neighbours(trial, moved, **share, other_programs=programs))
        found[" durable" if journals else ""].append(bool(judged))
        if journals:
            as_user = foreign_work.find(with_neighbours(trial, moved, **share))
            found[" durable, as an ordinary user"].append(bool(as_user))
    for kind, shares in found.items():
        if shares:
            told(f"{foreign} of others beside{kind} {own}s", float(np.mean(shares)))
    assert np.mean(found[""]) >= 0.95
    assert not found[" durable"] or np.mean(found[" durable"]) >= 0.95


@pytest.mark.parametrize("own", ["read", "write"])
def test_false_neighbours(own: str) -> None:
    random = np.random.default_rng(len(own))
    alarms = 0
    for number in range(1000):
        trial = any_trial(random, own)
        trial = replace(trial, block=512) if number % 10 == 0 and own == "write" else trial
        programs = programs_of(random, trial)
        alarms += bool(foreign_work.find(with_neighbours(trial, own_bytes(random, trial), other_programs=programs)))
    assert told(f"neighbours that are none, {own}s", alarms / 1000) <= 0.02
