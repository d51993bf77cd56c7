"""Where more outstanding I/Os stop to pay: the knee of a rate over queue depth, and what lies beyond it.

The knee is the depth of the greatest power, rate over latency (L. Kleinrock,
"Power and Deterministic Rules of Thumb for Probabilistic Problems in Computer
Communications", ICC 1979): up to it the rate grows faster than the latency, and
behind it the latency grows faster. With a fixed number outstanding the mean
latency is that number over the rate (Little's law), so the power is the square
of the rate over the depth, and a doubling of the depth pays where it brings 41 %
more. It does not depend on how far the depths were varied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

POINTS_MIN = 3
# of the I/Os asked for, so many have to be outstanding on average
REACHED_SHARE_MIN = 0.9


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
        0 where the first doubling does not pay. None with fewer than three points, and where the last
        depth has the greatest power: the rate still grows there.
    """
    if len(depths) < POINTS_MIN:
        return None
    power = [rate * rate / depth for depth, rate in zip(depths, rates, strict=True)]
    place = max(range(len(power)), key=power.__getitem__)
    return None if place == len(power) - 1 else place


def perhaps_knees(depths: Sequence[float], lowest: Sequence[float], highest: Sequence[float]) -> tuple[int, int] | None:
    """The first and the last place that may be the knee, where repeats do not tell two neighbours from all others.

    Parameters
    ----------
    depths : sequence of float
        As for `knee_place`.
    lowest, highest : sequence of float
        Of the repeats at each depth.

    Returns
    -------
    (int, int) or None
        None where the knee is told: the greatest power of every other place lies below the least power of some place.
    """
    surely = max(low * low / depth for depth, low in zip(depths, lowest, strict=True))
    places = [
        place for place, (depth, high) in enumerate(zip(depths, highest, strict=True)) if high * high / depth >= surely
    ]
    return (places[0], places[-1]) if places[-1] - places[0] > 1 else None


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
        return f"{rate} {joined} {_two_digits(self.latency_ratio)}x latency"


def _two_digits(value: float) -> str:
    """``3.9``, ``130``: never ``1.3e+02``."""
    return f"{value:.2g}" if value < 100 else f"{float(f'{value:.2g}'):.0f}"


def saturation(
    depths: Sequence[float], rates: Sequence[float], latencies_ns: Sequence[float | None]
) -> Saturation | None:
    """What lies beyond the knee; None without a knee.

    Parameters
    ----------
    depths, rates : sequence of float
        As for `knee_place`.
    latencies_ns : sequence of float or None
        Latency at each depth.
    """
    place = knee_place(depths, rates)
    if place is None:
        return None
    at, last = latencies_ns[place], latencies_ns[-1]
    ratio = last / at if at and last else None
    return Saturation(depths[place], depths[-1], rates[-1] / rates[place], ratio)
