"""Quantiles of 500 simulated windows of each kind of drive: what is printed, what it covers, and how wide it is.

`make prove` shows the table that docs/metrics.md quotes; nothing else runs this.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import simulated_drives as drives
from interval_coverage import Coverage, coverage

WINDOWS = 500
AT = [0.5, 0.9, 0.99, 0.999]
# what p50, p90 and p99 cover at least, and p99.9 (two stalls in ten thousand are few)
_AS_PROMISED = (0.93, 0.93)
COVERED = {
    **{drive.name: _AS_PROMISED for drive in drives.ALL},
    drives.WANDERS_200_MS.name: (0.90, 0.90),
    # four or five excursions in the window, and p99 lies in the highest of them; in 10 % of windows none reaches p99.9,
    # and the tail is continued beyond the largest observation
    drives.WANDERS_200_MS_CLEARLY.name: (0.89, 0.89),
    drives.TWO_LEVELS.name: (0.84, 0.90),
}
# of which no interval can know: what they cover is told and not promised
NOT_PROMISED = {drives.THROTTLES_SLOWLY.name}
# a swing that averages out exactly within the window is taken for one that does not
WIDE = {drives.SLOW_TICKS.name, drives.DRIFTS.name, drives.THROTTLES.name, drives.QUANTISED.name}
WIDTH_MOST = 1.75
OPERATIONS = 25_000
# those of which intervals fall short of 93 %, or are wide at p99.9, and what one could have at best
ORACLES = [drives.RARE_BURSTS, drives.WANDERS_200_MS, drives.WANDERS_200_MS_CLEARLY, drives.INDEPENDENT, drives.STALLS]


@pytest.mark.parametrize("drive", drives.ALL, ids=lambda drive: drive.name)
def test_intervals_of_two_seconds(drive: drives.SimulatedDrive, capsys: pytest.CaptureFixture[str]) -> None:
    found = coverage(drive, AT, WINDOWS)
    with capsys.disabled():
        tell(drive.name, found)
    assert all(one.printed == 1 for one in found)
    if drive.name in NOT_PROMISED:
        return
    most, rarest = COVERED[drive.name]
    assert min(one.share for one in found[:3]) >= most
    assert found[3].share >= rarest
    if drive.name not in WIDE:
        assert max(one.width for one in found) <= WIDTH_MOST


@pytest.mark.parametrize(
    ("operations", "window_s"), [(126_000, 2.0), (25_000, 5.0), (5_000, 0.4), (1_000, 2.0)], ids=str
)
def test_other_sizes(operations: int, window_s: float, capsys: pytest.CaptureFixture[str]) -> None:
    for drive in (drives.INDEPENDENT, drives.WANDERS_20_MS, drives.WANDERS_200_MS, drives.TWO_LEVELS, drives.BURSTS):
        found = coverage(drive, AT, WINDOWS // 5, operations, window_s)
        with capsys.disabled():
            tell(f"{drive.name}; {operations} in {window_s:g} s", found)
        assert found[0].printed == 1
        if window_s >= 2:
            assert found[0].share >= 0.8


def tell(name: str, found: list[Coverage]) -> None:
    """One line of the table: printed/covers/width over the ideal."""
    cells = "  ".join(f"p{100 * at:g} {one}" for at, one in zip(AT, found, strict=True))
    print(f"\n{name:44} {cells}", end="")


@pytest.mark.parametrize("drive", ORACLES, ids=lambda drive: drive.name)
def test_what_an_oracle_reaches(drive: drives.SimulatedDrive, capsys: pytest.CaptureFixture[str]) -> None:
    """It knows, from other windows of the drive, what share lies below the truth in 95 of 100: no rule can."""
    known = shares_below_truth(drawn(drive, 1), drive)
    windows = np.sort(drawn(drive, 2), axis=1)
    missed = []
    for place, at in enumerate(AT):
        truth = drive.quantile_ns(at)
        low, high = np.quantile(known[:, place], [0.025, 0.975]) * OPERATIONS
        lows = windows[:, max(0, int(low) - 1)]
        highs = windows[:, min(OPERATIONS - 1, math.ceil(high))]
        found = windows[:, math.ceil(at * OPERATIONS - 1e-9) - 1]
        hits = float(((lows <= truth) & (truth <= highs)).mean())
        width = float(np.median(np.log(highs / lows)) / 2 / (1.96 * np.log(found).std()))
        missed.append(float((windows[:, -1] < truth).mean()))
        with capsys.disabled():
            reached = f"oracle of p{100 * at:g} {hits:.3f}/{width:.2f}"
            print(f"\n{drive.name:44} {reached}, none beyond {missed[-1]:.3f}", end="")
        # 95 %, less three standard errors of 500 windows
        assert hits >= 0.92 - missed[-1]
    assert max(missed[:3]) == 0


def drawn(drive: drives.SimulatedDrive, seed: int) -> NDArray[np.float64]:
    """Windows of 2 s, one in each row."""
    return drive.draw(np.random.default_rng(seed), WINDOWS, OPERATIONS, 2.0)


def shares_below_truth(windows: NDArray[np.float64], drive: drives.SimulatedDrive) -> NDArray[np.float64]:
    """Of each window (row) the share of operations below each true quantile (column)."""
    return np.stack([(windows <= drive.quantile_ns(at)).mean(axis=1) for at in AT], axis=1)
