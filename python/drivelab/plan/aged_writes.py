"""Which blocks are written again, so that a drive is at any moment as random writes without end would leave it.

A drive that is written at random for long settles: it collects the block with the fewest valid pages, and what is left
valid in a block falls with its age. With T of flash for U of data, a = T/U, the share x of a collected block that was
invalid is the solution of x = 1 - exp(-a x), and of what was written a distance d of flash ago exp(-x d / U) is valid
(Desnoyers, Analytic Models of SSD Write Performance, ACM ToS 10(2), 2014). How much flash there is a drive does not
tell. So, after one pass in order, blocks are overwritten such that *whatever* has been written so far is just what a
drive of that much flash holds when it has settled: when W has been written, w = W/U, and a block was last written u
capacities ago, it is chosen with a probability in proportion to

    h(w, u) = x(w) + u x'(w),   x'(w) = x (1 - x) / (1 - w (1 - x))

the rate at which exp(-x(w) u) falls while w grows. When the drive runs out of flash, and has to collect for the first
time, it is settled: after one pass over all its flash, however much that is.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# writes come in parts of so much of the capacity, and the last one ends at 1.57 capacities
PARTS_PER_CAPACITY = 448
PARTS_MOST = 255
MOST_CAPACITIES = 1 + PARTS_MOST / PARTS_PER_CAPACITY


class AgedWrites:
    """Blocks to write after a pass in order, in parts.

    Parameters
    ----------
    block_count : int
        Blocks that the drive has; a byte of memory is kept for each.
    seed : int
        The same seed gives the same blocks.
    """

    def __init__(self, block_count: int, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._block_count = block_count
        # the part in which a block was last written, from 1; 0 is the pass in order
        self._part_of = np.zeros(block_count, dtype=np.uint8)
        self._part = 0

    @property
    def is_done(self) -> bool:
        """Whether the last part was given."""
        return self._part == PARTS_MOST

    def next_part(self) -> NDArray[np.int64]:
        """The blocks of the next part, in the order in which they are written."""
        wanted = max(1, self._block_count // PARTS_PER_CAPACITY)
        written = 1 + (self._part + 0.5) / PARTS_PER_CAPACITY
        share, slope = settled_share(written)
        found: list[NDArray[np.int64]] = []
        while (missing := wanted - sum(map(len, found))) > 0:
            block = self._random.integers(0, self._block_count, 2 * missing + 16)
            age = written - self._last_written(block)
            # no block is older than all that was written
            chance = (share + age * slope) / (share + written * slope)
            found.append(block[self._random.random(len(block)) < chance][:missing])
        self._part += 1
        chosen = np.concatenate(found)
        self._part_of[chosen] = self._part
        return chosen

    def _last_written(self, block: NDArray[np.int64]) -> NDArray[np.float64]:
        """What had been written before each block, in capacities."""
        part = self._part_of[block]
        return np.where(part > 0, 1 + (part - 0.5) / PARTS_PER_CAPACITY, block / self._block_count)


def settled_share(capacities: float) -> tuple[float, float]:
    """The invalid share of a collected block once a drive with so many capacities of flash has settled, and its slope.

    The write amplification is one over that share.
    """
    low, high = 0.0, 1.0
    # the share is where 1 - exp(-a x) falls below x; close to one capacity it is about 2 (a - 1)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if -math.expm1(-capacities * middle) > middle else (low, middle)
    share = (low + high) / 2
    return share, share * (1 - share) / (1 - capacities * (1 - share))
