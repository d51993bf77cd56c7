"""Result sets for the tests of tables."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from drivelab.model.result_set import ResultSet
from made_result_sets import Cell, bandwidth, latencies, result_set


@pytest.fixture
def make() -> Callable[..., ResultSet]:
    """Makes a result set of observations."""
    return result_set


@pytest.fixture
def two_drives() -> ResultSet:
    """A run of two drives: every file system with and without discard, write cache on and off, and the bandwidth."""
    quick, slow = "Quick 480 GB", "Slow 1 TB"
    cells: list[Cell] = []
    for drive, factor in ((quick, 1.0), (slow, 10.0)):
        for cache, share in (("on", 1.0), ("off", 0.25)):
            at = factor * share
            cells.append((drive, "raw", "", cache, at, 0.95 * at, 1.05 * at))
            for filesystem, times in (("ext4", 3.0), ("xfs", 2.0)):
                for mount, more in (("nodiscard", 1.0), ("discard", 1.04)):
                    value = at * times * more
                    cells.append((drive, filesystem, mount, cache, value, 0.97 * value, 1.03 * value))
    rates = [bandwidth(quick, 500, 490, 510, "on"), bandwidth(quick, 125, 120, 130, "off")]
    rates += [bandwidth(slow, 100, 95, 105, "on"), bandwidth(slow, 103, 97, 108, "off")]
    return result_set("2026-01-31-run", *latencies(*cells), *rates)
