"""The ratio of two sides with an interval that holds for three values a side as for a hundred.

Each side is one run or several, each run one repeat or several. Where there are
several runs a side, the run is the unit: what varies from boot to boot and from
day to day is in the interval. Between one run and one run, the repeats are.

A percentile bootstrap of three to five values covers 80 to 90 % instead of 95 %,
so it never stands alone: its ends are moved out to those of Welch's t, or with
many units to those of Moses' exact rank interval, wherever these are wider.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.distributions import incomplete_beta, student_t
from drivelab.analyse.effects import ERROR_MIN
from drivelab.analyse.rank_shift import hodges_lehmann, mann_whitney_p, moses_interval, smallest_p

Floats = NDArray[np.float64]
Units = Literal["runs", "repeats"]
# logarithms of the values of each repeat, run by run
Side = Sequence[Floats]
RESAMPLES = 10_000
# from so many units a side on ranks decide: exact, deaf to outliers, and fine enough for a few hundred comparisons
RANKS_FROM = 8
# two repeats that fell into one of two modes of a drive look certain: 8 % of such pairs are told apart that are alike
REPEATS_MIN = 3
# one run beside several is judged by how these scatter, which takes a few of them
BESIDE_ONE_MIN = 3
# a difference that is said to be found is found in so many of such comparisons
POWER = 0.8
_PAIRS_AT_ONCE = 2_000_000
_PAIRS_IN_ALL = 50_000_000
_RESAMPLES_MIN = 2000


@dataclass(frozen=True, slots=True)
class Shift:
    """How far NEW is from BASE, in natural logarithms.

    Attributes
    ----------
    value : float
        Hodges and Lehmann's shift.
    units : str
        What the interval is made of: runs, or the repeats within one run each.
    unit_counts : (int, int)
        Units of BASE and of NEW.
    ends, inner_ends : (float, float) or None
        The 95 % interval, and the 90 % interval that equivalence is judged by;
        None where there are too few units.
    p_value : float or None
        Two-sided, of no difference at all.
    error : float
        Standard error, or for ranks what comes nearest to it.
    degrees_of_freedom : float
        Behind `error`.
    method : str
        How all this was made.
    """

    value: float
    units: Units
    unit_counts: tuple[int, int]
    ends: tuple[float, float] | None = None
    inner_ends: tuple[float, float] | None = None
    p_value: float | None = None
    error: float = math.nan
    degrees_of_freedom: float = 0.0
    method: str = ""

    def detectable(self, significance: float) -> float | None:
        """The shift that would have been found with a probability of `POWER`.

        Parameters
        ----------
        significance : float
            Two-sided level of the test, after whatever correction there is.

        Returns
        -------
        float or None
            None without an interval, and where no p-value could have been small enough.
        """
        if self.ends is None or (_has_ranks(*self.unit_counts) and smallest_p(*self.unit_counts) > significance):
            return None
        tails = student_t(self.degrees_of_freedom, significance / 2) + student_t(self.degrees_of_freedom, 1 - POWER)
        return tails * self.error


def shift_between(base: Side, new: Side, seed: int = 1, resamples: int = RESAMPLES) -> Shift:
    """How far NEW is from BASE, with its interval.

    Parameters
    ----------
    base, new : sequence of ndarray
        Natural logarithms of one metric: an array of repeats for each run, none of them empty.
    seed : int
        Of the bootstrap.
    resamples : int
        How often it draws.

    Returns
    -------
    Shift
        Without an interval where one side of one run has fewer repeats than
        `REPEATS_MIN`, or is a single run and the other fewer than `BESIDE_ONE_MIN`.
    """
    units: Units = "runs" if max(len(base), len(new)) > 1 else "repeats"
    ours, theirs = (_units_of(side, units) for side in (base, new))
    counts = (ours.size, theirs.size)
    value = hodges_lehmann(ours, theirs)
    if not _is_enough(units, counts):
        return Shift(value, units, counts, method=_too_few(units, counts))
    draws = bootstrap_shifts(base, new, seed, resamples)
    middle, error, freedom = _welch(ours, theirs)
    if _has_ranks(*counts):
        name, p_value = "Moses' exact rank interval", mann_whitney_p(ours, theirs, ERROR_MIN)
    else:
        name, p_value = f"Welch's t with {freedom:.1f} degrees of freedom", _two_sided_p(middle / error, freedom)

    def ends(tail: float) -> tuple[float, float]:
        low, high = np.quantile(draws, [tail, 1 - tail])
        safe = moses_interval(ours, theirs, tail) if _has_ranks(*counts) else None
        if safe is None:
            half = student_t(freedom, tail) * error
            safe = middle - half, middle + half
        else:
            # no median is known better than the bucket of a histogram
            safe = safe[0] - ERROR_MIN, safe[1] + ERROR_MIN
        return min(float(low), safe[0], value), max(float(high), safe[1], value)

    outer = ends(0.025)
    if _has_ranks(*counts):
        error, freedom = (outer[1] - outer[0]) / 2 / student_t(sum(counts) - 2), sum(counts) - 2
    method = f"Hodges-Lehmann over {units}; the wider of {name} and a hierarchical bootstrap of {len(draws)}"
    return Shift(value, units, counts, outer, ends(0.05), p_value, error, freedom, method)


def bootstrap_shifts(base: Side, new: Side, seed: int = 1, resamples: int = RESAMPLES) -> Floats:
    """Hodges-Lehmann shifts of resampled sides: runs with replacement, then repeats within them.

    Parameters
    ----------
    base, new : sequence of ndarray
        As for `shift_between`.
    seed : int
        Same seed, same draws.
    resamples : int
        Draws; fewer, but at least 2000, where there are very many pairs of units.

    Returns
    -------
    ndarray of float64, shape (draws,)
        Where one side is one run, its repeats stand for how that side scatters.
    """
    random = np.random.default_rng(seed)
    by_run = max(len(base), len(new)) > 1
    pairs = len(base) * len(new) if by_run else base[0].size * new[0].size
    count = max(_RESAMPLES_MIN, min(resamples, _PAIRS_IN_ALL // pairs))
    found = []
    for begin in range(0, count, at_once := max(1, _PAIRS_AT_ONCE // pairs)):
        number = min(at_once, count - begin)
        ours, theirs = (_resampled(side, random, number, by_run=by_run) for side in (base, new))
        found.append(np.median((theirs[:, :, None] - ours[:, None, :]).reshape(number, -1), axis=1))
    return np.concatenate(found)


def _resampled(side: Side, random: np.random.Generator, number: int, *, by_run: bool) -> Floats:
    """Units of so many resamples, shape (number, units)."""
    runs = random.integers(0, len(side), (number, len(side)))
    # as many repeats as the run with the fewest has: never more certain than that
    repeats = min(run.size for run in side)
    sizes = np.array([run.size for run in side])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    within = np.floor(random.random((*runs.shape, repeats)) * sizes[runs][..., None]).astype(np.int64)
    drawn = np.concatenate(side)[starts[runs][..., None] + within]
    units: Floats = np.median(drawn, axis=2) if by_run else drawn[:, 0, :]
    return units


def _units_of(side: Side, units: Units) -> Floats:
    return np.array([float(np.median(run)) for run in side]) if units == "runs" else np.asarray(side[0], np.float64)


def _is_enough(units: Units, counts: tuple[int, int]) -> bool:
    if units == "repeats":
        return min(counts) >= REPEATS_MIN
    return min(counts) > 1 or max(counts) >= BESIDE_ONE_MIN


def _has_ranks(base_count: int, new_count: int) -> bool:
    return min(base_count, new_count) >= RANKS_FROM


def _too_few(units: Units, counts: tuple[int, int]) -> str:
    return f"{counts[0]} and {counts[1]} {units}: too few for an interval"


def _welch(base: Floats, new: Floats) -> tuple[float, float, float]:
    """Difference of the means, its standard error, and degrees of freedom (Welch 1947).

    A side of one unit is taken to scatter as the other does.
    """
    middle = float(new.mean() - base.mean())
    if min(base.size, new.size) == 1:
        several = max(base, new, key=lambda side: side.size)
        error = float(several.std(ddof=1)) * math.sqrt(1 + 1 / several.size)
        return middle, max(error, ERROR_MIN), several.size - 1.0
    parts = [float(side.var(ddof=1)) / side.size for side in (base, new)]
    total = sum(parts)
    if total <= ERROR_MIN**2:
        return middle, ERROR_MIN, base.size + new.size - 2.0
    freedom = total**2 / sum(part**2 / (side.size - 1) for part, side in zip(parts, (base, new), strict=True))
    # a small side that happens to scatter little must not borrow the certainty of a large one
    return middle, math.sqrt(total), min(freedom, 2.0 * (min(base.size, new.size) - 1))


def _two_sided_p(t: float, degrees_of_freedom: float) -> float:
    return incomplete_beta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / (degrees_of_freedom + t * t))
