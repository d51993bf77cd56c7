"""Many made-up histories of a drive: how often one that does not change is an alarm, and which changes are found.

``.venv/bin/python -m pytest tests/prove/newest_run.py -s`` prints them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "analyse"))

from simulated_histories import Scatter, full, heavy, history, normal, two_modes, unequal

pytestmark = pytest.mark.timeout(3600)
HISTORIES = 2000
# three standard errors of so many
ALARMS_MAX = 0.02 + 3 * (0.02 * 0.98 / HISTORIES) ** 0.5


@pytest.mark.parametrize("earlier", [6, 10, 30])
@pytest.mark.parametrize("scatter", [normal, heavy, unequal, two_modes])
def test_drives_that_stay_as_they_are_give_hardly_an_alarm(earlier: int, scatter: Scatter) -> None:
    random = np.random.default_rng(earlier)
    share = sum(bool(full(history(random, earlier, scatter)).changed) for _ in range(HISTORIES)) / HISTORIES
    print(f"{scatter.__name__}, {earlier} earlier runs: {100 * share:.2f} % alarms")
    assert share <= ALARMS_MAX


@pytest.mark.parametrize(("earlier", "least"), [(6, 0.9), (10, 0.95), (30, 0.95)])
def test_a_fifth_is_found_in_one_number_of_nine(earlier: int, least: float) -> None:
    random = np.random.default_rng(earlier)
    found = sum(
        "w3" in [row.workload for row in full(history(random, earlier, normal, 1.2)).changed] for _ in range(HISTORIES)
    )
    print(f"{earlier} earlier runs: {100 * found / HISTORIES:.1f} % found")
    assert found >= least * HISTORIES
