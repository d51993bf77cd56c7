"""Quantiles of simulated drives are always printed, and cover the truth as docs/metrics.md says.

As many windows as a few seconds allow, with what chance allows for so few; `make prove` takes 500 of each.
"""

from __future__ import annotations

import pytest

import simulated_drives as drives
from interval_coverage import coverage

WINDOWS = 40
OPERATIONS = 12_000
AT = [0.5, 0.9, 0.99]


@pytest.mark.parametrize("drive", drives.ALL, ids=lambda drive: drive.name)
def test_what_every_drive_covers(drive: drives.SimulatedDrive) -> None:
    promised = {
        drives.WANDERS_200_MS: 0.90,
        drives.WANDERS_200_MS_CLEARLY: 0.90,
        drives.TWO_LEVELS: 0.84,
        drives.THROTTLES_SLOWLY: 0.0,
    }
    found = coverage(drive, AT, WINDOWS, OPERATIONS)
    assert [one.intervals for one in found] == [WINDOWS] * len(AT)
    assert min(one.hits for one in found) >= drives.hits_at_least(promised.get(drive, 0.93), WINDOWS)


@pytest.mark.parametrize(
    "drive",
    [drives.INDEPENDENT, drives.WANDERS_20_MS, drives.WANDERS_200_MS, drives.TWO_LEVELS, drives.BURSTS, drives.BIMODAL],
    ids=lambda drive: drive.name,
)
def test_intervals_are_not_wide_without_need(drive: drives.SimulatedDrive) -> None:
    """Over the half width of an oracle that knows how the sample's quantile scatters."""
    assert max(one.width for one in coverage(drive, AT, WINDOWS, OPERATIONS)) <= 2.2
