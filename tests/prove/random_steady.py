"""Write amplification after `random-steady`, over its asymptote, and after what fio's `sprandom` writes.

`make prove ARGS="-k random_steady"` shows the table that docs/simulated_drives.md quotes.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from drivelab.run.preconditioning import RANDOM_STEADY
from random_steady import Written, settled, written_by, written_with_guess

SPARE = (0.07, 0.10, 0.15, 0.20, 0.28, 0.35, 0.44, 0.50)
SMALLER = 2
# what sprandom is told where nobody tells it
GUESS = 0.15


@cache
def in_the_end(spare: float, collection: str = "greedy") -> float:
    return settled(spare, smaller=SMALLER, collection=collection)


def told(name: str, spare: float, written: Written, asymptote: float, capsys: pytest.CaptureFixture[str]) -> float:
    """The amplification of the windows right after over the asymptote, which is printed."""
    found = np.array(written.amplifications()) / asymptote
    with capsys.disabled():
        windows = " ".join(f"{one:.3f}" for one in found)
        print(
            f"\n{100 * spare:2.0f} % spare, {name:22} {written.passes:.3f} passes, {found.mean():.3f} ({windows})",
            end="",
        )
    return float(found.mean())


@pytest.mark.parametrize("collection", ["greedy", "two-regions"])
@pytest.mark.parametrize("spare", SPARE)
def test_one_pass_makes_a_drive_steady(spare: float, collection: str, capsys: pytest.CaptureFixture[str]) -> None:
    written = written_by(RANDOM_STEADY, spare, smaller=SMALLER, collection=collection)
    found = told(collection, spare, written, in_the_end(spare, collection), capsys)
    assert found == pytest.approx(1, abs=0.05)
    assert written.passes <= 1.006
    assert written.told["collecting_after_bytes"] / written.told["bytes_written"] >= 0.99


@pytest.mark.parametrize("spare", SPARE)
def test_beside_it_sprandom_needs_to_know_the_spare(spare: float, capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for guess in (spare, GUESS):
        written = written_with_guess(guess, spare, smaller=SMALLER)
        found[guess] = told(f"sprandom, {100 * guess:.0f} % told", spare, written, in_the_end(spare), capsys)
    if abs(spare - GUESS) >= 0.1:
        assert abs(found[GUESS] - 1) > 0.05
