"""Trials that end when their number is known: how often the interval that is told holds the truth, and what is saved.

`make prove ARGS="-k stopping"` shows the table that docs/metrics.md quotes.
"""

from __future__ import annotations

import pytest

from simulated_drives import hits_at_least
from stopping import BEYOND, WITHIN_REACH, stopped

TRIALS = 500
ASKED = (0.01, 0.02, 0.05)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", [*WITHIN_REACH, *BEYOND])
def test_the_interval_of_a_trial_that_may_end_early(
    name: str, asked: float, capsys: pytest.CaptureFixture[str]
) -> None:
    found = stopped((WITHIN_REACH | BEYOND)[name], asked, TRIALS)
    with capsys.disabled():
        print(f"\n{name:24} {100 * asked:g} %: {found}", end="")
    if name in WITHIN_REACH:
        assert found.covered * TRIALS >= hits_at_least(0.94, TRIALS)
        if found.early >= 0.2:
            assert found.covered_early * found.early * TRIALS >= hits_at_least(0.94, round(found.early * TRIALS))


def test_a_quiet_drive_takes_a_fifth_of_the_time_or_less() -> None:
    assert stopped(WITHIN_REACH["independent, 2 %"], 0.02, 100).seconds <= 12
