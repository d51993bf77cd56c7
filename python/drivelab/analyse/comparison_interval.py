"""The ratios of two sides of runs, with intervals that hold for three runs a side as for twenty.

A run is one observation, the median of its repeats: what varies from boot to
boot and from day to day is in the interval. Numbers that are judged together
lend each other what they know of the scatter (`drivelab.analyse.moderation`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.effects import SIGNIFICANCE
from drivelab.analyse.moderation import moderated
from drivelab.analyse.paired_ratios import ERROR_MIN
from drivelab.model.apart import RUNS_MIN
from drivelab.model.distributions import student_t, two_sided_p

Floats = NDArray[np.float64]
# with three runs a side scatter hides most differences below seven times itself
RUNS_ADVISED = 5
# a difference that is said to be found is found in so many of such comparisons
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Shift:
    """How far NEW is from BASE, in natural logarithms.

    Attributes
    ----------
    value : float
        Difference of the means over runs.
    run_counts : (int, int)
        Runs of BASE and of NEW.
    ends, inner_ends : (float, float) or None
        The 95 % interval, and the 90 % interval that equivalence is judged by;
        None where a side has fewer runs than `RUNS_MIN`.
    p_value : float or None
        Two-sided, of no difference at all.
    degrees_of_freedom, own_degrees : float
        Behind the p-value, and behind the interval.
    """

    value: float
    run_counts: tuple[int, int]
    ends: tuple[float, float] | None = None
    inner_ends: tuple[float, float] | None = None
    p_value: float | None = None
    error: float = math.nan
    degrees_of_freedom: float = 0.0
    own_degrees: float = 0.0
    method: str = ""

    def detectable(self, significance: float) -> float | None:
        """The shift that would have been found with a probability of `POWER`; None without an interval.

        Parameters
        ----------
        significance : float
            Two-sided level of the test, after whatever correction there is.
        """
        if self.ends is None:
            return None
        needed = max(
            student_t(self.degrees_of_freedom, significance / 2), student_t(self.own_degrees, SIGNIFICANCE / 2)
        )
        return (needed + student_t(self.degrees_of_freedom, 1 - POWER)) * self.error


def shifts_between(pairs: Sequence[tuple[Floats, Floats]]) -> list[Shift]:
    """How far NEW is from BASE in each of several numbers that are judged together.

    Parameters
    ----------
    pairs : sequence of (ndarray, ndarray)
        Natural logarithms of one number: of each run of BASE, and of each of NEW; none of them empty.

    Returns
    -------
    list of Shift
        In the order given; without an interval where a side has fewer runs than `RUNS_MIN`.

    Notes
    -----
    Each side has a scatter of its own, moderated over the numbers. The statistic
    is Welch's, referred to Student's t with the degrees of freedom of the side
    that has fewer (Hsu's rule, which never claims too much, however unequal the
    sides). The p-value has the degrees of freedom that were borrowed from other
    numbers, the interval only its own: were one disturbance of the runs the
    scatter of all numbers, they would know no more together than one of them.
    """
    enough = [place for place, pair in enumerate(pairs) if min(map(len, pair)) >= RUNS_MIN]
    found = [Shift(_middle(pair), _counts(pair), method=_too_few(_counts(pair))) for pair in pairs]
    if not enough:
        return found
    squares, borrowed = np.zeros(len(enough)), math.inf
    for side in (0, 1):
        counts = np.array([float(len(pairs[place][side])) for place in enough])
        variances = np.array([pairs[place][side].var(ddof=1) for place in enough])
        of_side = moderated(variances, counts - 1)
        squares += of_side.variances / counts
        borrowed = min(borrowed, of_side.prior_degrees)
    for place, square in zip(enough, squares.tolist(), strict=True):
        found[place] = _shift(pairs[place], max(ERROR_MIN, math.sqrt(square)), borrowed)
    return found


def _shift(pair: tuple[Floats, Floats], error: float, borrowed: float) -> Shift:
    middle, counts = _middle(pair), _counts(pair)
    own = float(min(counts) - 1)
    ends, inner = ((middle - half, middle + half) for half in (student_t(own, tail) * error for tail in (0.025, 0.05)))
    method = (
        f"geometric means over {counts[0]} and {counts[1]} runs, Welch's t with {own:.0f} degrees of freedom, "
        f"and {borrowed:.1f} more for the p-value; variances moderated over the numbers that are judged together"
    )
    p_value = two_sided_p(middle, error, own + borrowed)
    return Shift(middle, counts, ends, inner, p_value, error, own + borrowed, own, method)


def _middle(pair: tuple[Floats, Floats]) -> float:
    return float(pair[1].mean() - pair[0].mean())


def _counts(pair: tuple[Floats, Floats]) -> tuple[int, int]:
    return len(pair[0]), len(pair[1])


def _too_few(counts: tuple[int, int]) -> str:
    return f"{counts[0]} and {counts[1]} runs: an interval needs {RUNS_MIN} a side"
