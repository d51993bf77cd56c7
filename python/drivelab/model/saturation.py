"""Where more outstanding I/Os stop to pay: the knee of a rate over queue depth, and what lies beyond it.

The knee is the point that lies furthest above the straight line from the first
to the last point, both axes logarithmic: the rule of Kneedle (V. Satopaa,
J. Albrecht, D. Irwin, B. Raghavan, "Finding a 'Kneedle' in a Haystack: Detecting
Knee Points in System Behavior", ICDCS Workshops 2011) without its smoothing,
for which queue depths are too few. On logarithmic axes a drive that serves
twice as many I/Os at twice the depth is a straight line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

POINTS_MIN = 3
# less than this from the first to the highest is no growth
LEAST_GROWTH = 1.1
# a point less than this above the line could be chance, and the line is as good as straight
LEAST_BEND = 1.1


def knee_place(depths: Sequence[float], rates: Sequence[float]) -> int | None:
    """Place of the knee among points in ascending order of depth.

    Parameters
    ----------
    depths : sequence of float
        I/Os outstanding; positive, ascending.
    rates : sequence of float
        I/Os completed per s at each depth; positive.

    Returns
    -------
    int or None
        0 where the rate grows by less than 10 % in all: one depth is as good as
        another, and the first has the shortest latency. None with fewer than
        three points, and where no point lies 10 % above the straight line: the
        rate still grows at the last depth as it did at the first.
    """
    if len(depths) < POINTS_MIN:
        return None
    if max(rates) < LEAST_GROWTH * rates[0]:
        return 0
    x, y = [math.log(depth) for depth in depths], [math.log(rate) for rate in rates]
    slope = (y[-1] - y[0]) / (x[-1] - x[0])
    above = [b - y[0] - slope * (a - x[0]) for a, b in zip(x, y, strict=True)]
    place = max(range(len(above)), key=above.__getitem__)
    return place if above[place] >= math.log(LEAST_BEND) else None


@dataclass(frozen=True, slots=True)
class Saturation:
    """What a drive does beyond the knee.

    Attributes
    ----------
    depth, last_depth : float
        I/Os outstanding at the knee, and the most that was measured.
    rate_ratio : float
        Rate at the last depth over that at the knee.
    latency_ratio : float or None
        Latency at the last depth over that at the knee; None when it is not known.
    """

    depth: float
    last_depth: float
    rate_ratio: float
    latency_ratio: float | None

    @property
    def text(self) -> str:
        """One sentence: ``More than 16 outstanding (up to 64) adds 4 % IOPS and 3.9x latency`` and a full stop."""
        return f"More than {self.depth:g} outstanding (up to {self.last_depth:g}) {self.short_text}."

    @property
    def short_text(self) -> str:
        """What more outstanding I/Os do: ``adds 4 % IOPS and 3.9x latency``."""
        percent = round(100 * (self.rate_ratio - 1))
        rate = f"adds {percent} % IOPS" if percent >= 0 else f"loses {-percent} % IOPS"
        if self.latency_ratio is None:
            return rate
        joined = "and" if percent >= 0 else "and brings"
        return f"{rate} {joined} {self.latency_ratio:.2g}x latency"


def saturation(
    depths: Sequence[float], rates: Sequence[float], latencies_ns: Sequence[float | None]
) -> Saturation | None:
    """What lies beyond the knee; None without a knee, or where it is the last depth.

    Parameters
    ----------
    depths, rates : sequence of float
        As for `knee_place`.
    latencies_ns : sequence of float or None
        Latency at each depth.
    """
    place = knee_place(depths, rates)
    if place is None or place == len(depths) - 1:
        return None
    at, last = latencies_ns[place], latencies_ns[-1]
    ratio = last / at if at and last else None
    return Saturation(depths[place], depths[-1], rates[-1] / rates[place], ratio)
