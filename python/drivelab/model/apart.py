"""Whether two numbers are further apart than the repeats behind them scatter, and when runs tell that at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

from drivelab.model.distributions import NORMAL_975, binomial_cdf, two_sided_p
from drivelab.model.estimate import Estimate
from drivelab.model.holm import holm

# expectation of the range of 2, 3, 4 ... independent standard normal values (Tippett 1925); of more the last one,
# which takes the scatter for larger than it is
_EXPECTED_RANGES = (1.128, 1.693, 2.059, 2.326, 2.534, 2.704, 2.847, 2.970, 3.078, 3.173, 3.258, 3.336, 3.407, 3.472)
# more degrees of freedom are not counted on
_FREEDOM_MAX = 15
SIGNIFICANCE = 0.05
# standard error of a median over that of a mean, at most
_MEDIAN_OVER_MEAN = math.sqrt(math.pi / 2)
# the width of a histogram's bucket: no median is known better
_ERROR_MIN = 2.0**-9
# rates of which none is so many times the other are about the same, however far an interval reaches
ABOUT_THE_SAME = 1.25
# two runs that fell into one of two modes of a drive look certain: one pair in fourteen and more, if there are two
RUNS_MIN = 3
# what fewer do not tell, however large the difference
MAY_DIFFER = "another run may differ"


def too_few_runs(counts: tuple[int, int]) -> str:
    """How few runs of two sides there are, where nothing can be judged by them: ``one run each``; else empty."""
    if min(counts) >= RUNS_MIN:
        return ""
    return "one run each" if counts == (1, 1) else f"{counts[0]} and {counts[1]} runs"


def are_apart(
    one: Estimate,
    other: Estimate,
    trial_counts: tuple[int, int],
    runs: tuple[str, str] = ("", ""),
    scatter: tuple[float, int] | None = None,
) -> bool | None:
    """Whether two numbers differ by more than chance, as far as their ends and repeats tell.

    Parameters
    ----------
    one, other : Estimate
        Of several repeats the median with the lowest and the highest of them;
        of one trial its value with its 95 % interval.
    trial_counts : (int, int)
        How many trials are behind each.
    runs : (str, str)
        Which run each is of; left out, both are of one.
    scatter : (float, int), optional
        `scatter_of` numbers among which these are and that may scatter alike.

    Returns
    -------
    bool or None
        None where one of them has no ends: then nothing is known. None, too, where they lie apart and are of two
        runs: what changes from run to run is in neither, and one run of each does not tell it (`too_few_runs`).

    Notes
    -----
    The ends must not overlap. That alone happens to three repeats beside three
    that are no different once in ten times, to two beside two once in three
    times. So where there are repeats, the logarithms of the medians must also
    lie further apart than Student's t allows at 5 %, with standard deviations
    from the ranges. A trial beside repeats is taken to scatter as these do.
    With a scatter of more numbers each is taken to scatter as all of them do,
    or as it does itself where that is more, so that three repeats suffice; of
    pairs that are alike at most one in twenty lies apart, also where two scatter
    three times as far as the others (tests/unit/test_apart.py).
    """
    chance = chance_apart(one, other, trial_counts, runs, scatter)
    return None if chance is None else chance <= SIGNIFICANCE


def chance_apart(
    one: Estimate,
    other: Estimate,
    trial_counts: tuple[int, int],
    runs: tuple[str, str] = ("", ""),
    scatter: tuple[float, int] | None = None,
) -> float | None:
    """How often chance puts two numbers that are no different as far apart as these: a p-value, or more than that.

    Returns
    -------
    float or None
        1 where the ends overlap; None where `are_apart` is None.
    """
    found = _chance(one, other, trial_counts, scatter)
    # the repeats of two runs that lie apart tell how far repeats scatter, and not how far runs do
    return None if found is not None and found < 1 and runs[0] != runs[1] else found


def surely_apart(
    chances: Sequence[float], together: Sequence[float] = (), significance: float = SIGNIFICANCE
) -> list[bool]:
    """Which of several differences are more than what looking at so many of them gives by chance.

    Parameters
    ----------
    chances : sequence of float
        Of each how often chance alone makes it, in [0, 1], by its own scatter.
    together : sequence of float, optional
        The same by the scatter of all of them; left out, `chances`.
    significance : float
        How often some difference may be told of a set that has none.

    Returns
    -------
    list of bool
        All `chances` that are at most `significance`, where these are more than chance makes of so many; else
        those that hold by themselves after Holm's correction (1979). Each of the two ways has half of the
        `significance` (tests/unit/test_apart.py).
    """
    half = significance / 2
    seen = [chance <= significance for chance in chances]
    by_chance = 1 - binomial_cdf(sum(seen) - 1, len(seen), significance)
    if by_chance <= half or len(seen) == 1:
        return seen
    # where one scatters less than the others it is apart by its own scatter
    corrected = list(map(min, chances, together)) if together else chances
    return [adjusted <= half for adjusted in holm(corrected)]


def scatter_of(numbers: Sequence[tuple[Estimate, int]]) -> tuple[float, int] | None:
    """Standard deviation of the logarithm of one repeat, of all numbers together, and its degrees of freedom.

    Parameters
    ----------
    numbers : sequence of (Estimate, int)
        Medians with the lowest and the highest repeat, and how many repeats; those that tell nothing are left out.

    Returns
    -------
    (float, int) or None
        None where no number has repeats.
    """
    told = [(one, count) for one, count in numbers if count > 1 and one.low and one.high]
    freedom = sum(count - 1 for _, count in told)
    squares = sum((count - 1) * _deviation(one.low or 0.0, one.high or 0.0, count) ** 2 for one, count in told)
    return (math.sqrt(squares / freedom), freedom) if freedom else None


def _deviation(low: float, high: float, count: int) -> float:
    return math.log(high / low) / _EXPECTED_RANGES[min(count, 15) - 2]


def _chance(
    one: Estimate, other: Estimate, trial_counts: tuple[int, int], scatter: tuple[float, int] | None
) -> float | None:
    for number, interval in ((one, other), (other, one)):
        # what overlaps can't be told apart, whatever else is not known
        value, low, high = number.value, interval.low, interval.high
        if value is not None and low is not None and high is not None and low <= value <= high:
            return 1.0
    ends = (one.low, one.high, other.low, other.high)
    if any(end is None for end in ends) or one.value is None or other.value is None:
        return None
    low, high, other_low, other_high = (float(end or 0.0) for end in ends)
    if low <= other_high and other_low <= high:
        return 1.0
    if min(low, other_low, one.value, other.value) <= 0:
        return 0.0
    distance = abs(math.log(one.value / other.value))
    counts = [max(1, count) for count in trial_counts]
    if max(counts) == 1:
        # of each the half that faces the other
        (below, above) = sorted(((one.value, low, high), (other.value, other_low, other_high)))
        halves = math.log(below[2] / below[0]), math.log(above[0] / above[1])
        return math.erfc(distance * NORMAL_975 / (math.sqrt(2.0) * max(math.hypot(*halves), _ERROR_MIN)))
    deviations = [
        _deviation(begin, end, count) if count > 1 else None
        for begin, end, count in ((low, high, counts[0]), (other_low, other_high, counts[1]))
    ]
    known = max(one for one in deviations if one is not None)
    of_all = scatter[0] if scatter else 0.0
    parts = [
        max(known if one is None else one, of_all) ** 2 * (_MEDIAN_OVER_MEAN**2 / count if count > 2 else 1 / count)
        for one, count in zip(deviations, counts, strict=True)
    ]
    error = max(math.sqrt(sum(parts)), _ERROR_MIN)
    freedom = scatter[1] if scatter else _freedom(parts, counts)
    return two_sided_p(distance, error, min(max(1, freedom), _FREEDOM_MAX))


def _freedom(parts: list[float], counts: list[int]) -> int:
    """Welch's degrees of freedom, rounded down."""
    if min(counts) == 1:
        freedom = max(counts) - 1.0
    else:
        squares = sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
        freedom = sum(parts) ** 2 / squares if squares else float(sum(counts) - 2)
        # a small side that happens to scatter little must not borrow the certainty of a large one
        freedom = min(freedom, 2.0 * (min(counts) - 1))
    return math.floor(freedom + 1e-9)
