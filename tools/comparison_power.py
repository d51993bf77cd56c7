"""How many repeats a comparison needs to find a difference of 5 %: the table of docs/metrics.md.

``python tools/comparison_power.py``
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from drivelab.analyse.comparison_interval import POWER, shift_between

NOISES = (0.01, 0.02, 0.03, 0.05, 0.10)
COUNTS = (3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80)
CELLS = (1, 10)
DIFFERENCE = math.log(1.05)
PAIRS = 200
# the bootstrap is the narrower of the two ends nearly always
DRAWS = 100
SIGNIFICANCE = 0.05


def shares_found(
    count: int, noise: float, cells: Sequence[int] = CELLS, pairs: int = PAIRS, seed: int = 1
) -> list[float]:
    """Shares of simulated pairs of sides in which a difference of 5 % is found.

    Parameters
    ----------
    count : int
        Units (repeats of one run each, or runs) on each side.
    noise : float
        Standard deviation of the logarithm between them: 0.02 is 2 %.
    cells : sequence of int
        How many numbers are compared at once, of which one differs; a share for each.
    pairs, seed : int
        How many to simulate, and from where.
    """
    random = np.random.default_rng(seed)
    found = np.zeros(len(cells))
    for number in range(pairs):
        base, new = random.normal(0, noise, count), random.normal(DIFFERENCE, noise, count)
        shift = shift_between([base], [new], seed=number, resamples=DRAWS)
        if shift.p_value is not None and shift.ends is not None and shift.ends[0] > 0:
            # the smallest p-value of Holm's is multiplied by how many there are
            found += [shift.p_value * one <= SIGNIFICANCE for one in cells]
    return [float(one) / pairs for one in found]


def fewest(noise: float) -> list[int | None]:
    """The fewest units a side that find it with a probability of `POWER`, for each of `CELLS`; None when too many."""
    needed: list[int | None] = [None] * len(CELLS)
    for count in COUNTS:
        shares = shares_found(count, noise)
        needed = [one or (count if share >= POWER else None) for one, share in zip(needed, shares, strict=True)]
        if all(needed):
            break
    return needed


def table() -> Iterator[str]:
    """The lines of the table, as docs/metrics.md has it."""
    yield f"| scatter between repeats, or runs | {' | '.join(_head(cells) for cells in CELLS)} |"
    yield f"|---|{'---|' * len(CELLS)}"
    for noise in NOISES:
        needed = [str(one or f"more than {COUNTS[-1]}") for one in fewest(noise)]
        yield f"| {100 * noise:.0f} % | {' | '.join(needed)} |"


def _head(cells: int) -> str:
    return "one number" if cells == 1 else f"{cells} numbers at once"


if __name__ == "__main__":
    print("\n".join(table()))
