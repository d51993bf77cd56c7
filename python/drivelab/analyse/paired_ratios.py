"""Ratios that were measured in pairs, block by block, with intervals that few blocks carry.

A ratio within a block holds everything that was set up afresh between its two
sides, and what drifts from block to block is in neither. How far such ratios
scatter three blocks hardly tell, but the levels of a scan tell it together
(`drivelab.analyse.moderation`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.moderation import Moderated, moderated
from drivelab.model.distributions import student_t, two_sided_p
from drivelab.model.estimate import Estimate
from drivelab.model.histogram import SUB_BUCKET_COUNT

Floats = NDArray[np.float64]
BLOCKS_MIN = 3
# the width of a histogram's bucket, relative: no median is known better, however often it falls into the same one
ERROR_MIN = 1 / SUB_BUCKET_COUNT
# a ratio that misses blocks borrows from the others, but not everything
_DEGREES_MIN = BLOCKS_MIN - 1.0
# more blocks than this are no advice; how often what is there is to be shown
_BLOCKS_MAX, _POWER = 100, 0.8


@dataclass(frozen=True, slots=True)
class Paired:
    """One ratio, as it was measured in each block.

    Attributes
    ----------
    logarithms : tuple of float
        Of the ratio in each block that has it.
    size : int
        Over how many combinations each of them is a mean.
    is_unchanged : bool
        Whether both sides are known to be the same thing, so that every difference between them is none of theirs.
    """

    logarithms: tuple[float, ...]
    size: int = 1
    is_unchanged: bool = False


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """What the blocks come to.

    Attributes
    ----------
    ratio : Estimate
        The geometric mean with its 95 % interval; without ends below `BLOCKS_MIN` blocks.
    p_value : float or None
        Of no effect at all; None without an interval.
    unchanged_error : float
        How far things that are the same lie apart beyond scatter, as a logarithm: it is in the interval.
    error, degrees_of_freedom : float
        The standard error of its logarithm, and the degrees of freedom of the p-value; 0 without one.
    """

    ratio: Estimate
    p_value: float | None
    unchanged_error: float = 0.0
    error: float = 0.0
    degrees_of_freedom: float = 0.0

    def at_level(self, significance: float) -> Estimate:
        """The ratio with the interval that leaves out 1 where the p-value is at most this, if that is the wider one."""
        value, low, high = self.ratio.value, self.ratio.low, self.ratio.high
        if self.p_value is None or not value or low is None or high is None:
            return self.ratio
        half = student_t(self.degrees_of_freedom, significance / 2) * self.error
        return replace(self.ratio, low=min(low, value * math.exp(-half)), high=max(high, value * math.exp(half)))

    def blocks_to_show(self, change: float, significance: float) -> int:
        """How many blocks would show such a change in four of five runs; 0 where nobody knows, or none advisable would.

        Parameters
        ----------
        change : float
            A ratio above 1.

        Notes
        -----
        The smallest number of blocks n at which the quantile of the p-value, or that of the interval where it is
        wider, and the one of a power of 80 % come to at most the change in standard errors, whose scatter shrinks
        with the root of n while the degrees of freedom grow. What things that are the same differ by does not shrink.
        """
        blocks = self.ratio.sample_count
        if self.p_value is None or not self.error:
            return 0
        borrowed = self.degrees_of_freedom - (blocks - 1)
        scatter = max(0.0, self.error**2 - self.unchanged_error**2) * blocks
        for count in range(BLOCKS_MIN, _BLOCKS_MAX + 1):
            degrees = max(1.0, count - 1 + borrowed)
            least = max(student_t(degrees, significance / 2), student_t(count - 1.0))
            error = max(ERROR_MIN, math.sqrt(scatter / count + self.unchanged_error**2))
            if (least + student_t(degrees, 1 - _POWER)) * error <= math.log(change):
                return count
        return 0


def paired_ratios(pairs: Sequence[Paired]) -> list[PairedRatio]:
    """Ratios of one scan, each with its interval.

    Parameters
    ----------
    pairs : sequence of Paired
        Of things that were measured alike: the levels of one workload on one target.

    Notes
    -----
    The variance of a ratio between blocks is moderated over all of them, per
    combination that it is a mean of. The p-value has the degrees of freedom of
    its own blocks and those that are borrowed; the interval has those of the
    blocks of the scan and no more, since a baseline that scatters is in all
    ratios alike. A ratio that misses blocks has both as long as that leaves two
    degrees of freedom.

    Where some ratios are of things that are the same, no other is known better
    than these: none scatters less than they do, and how far their means lie
    from 1 beyond their own standard errors is added to the variance of all.
    """
    blocks = max((len(one.logarithms) for one in pairs), default=0)
    if blocks < BLOCKS_MIN:
        return [PairedRatio(_alone(one.logarithms), None) for one in pairs]
    scatter = moderated(*_own(pairs))
    variances = scatter.variances / np.array([one.size for one in pairs])
    unchanged = [place for place, one in enumerate(pairs) if one.is_unchanged and one.logarithms]
    if unchanged:
        variances = np.maximum(variances, variances[unchanged].mean())
    squares = variances / np.array([max(1, len(one.logarithms)) for one in pairs])
    beyond = 0.0
    if unchanged:
        means = np.array([fmean(pairs[place].logarithms) for place in unchanged])
        beyond = max(0.0, float((means**2 - squares[unchanged]).mean()))
    errors = np.maximum(ERROR_MIN, np.sqrt(squares + beyond)).tolist()
    return [_ratio(one, error, blocks, scatter, math.sqrt(beyond)) for one, error in zip(pairs, errors, strict=True)]


def ratio_of_blocks(logarithms: Sequence[float]) -> tuple[Estimate, float | None]:
    """The geometric mean of paired ratios that nothing else was measured beside, and the p-value of no effect at all.

    Parameters
    ----------
    logarithms : sequence of float
        Logarithm of level over baseline in each block.

    Returns
    -------
    Estimate, float or None
        Below `BLOCKS_MIN` blocks there are neither ends nor a p-value. The
        standard error is taken to be `ERROR_MIN` at least.
    """
    (found,) = paired_ratios([Paired(tuple(logarithms))])
    return found.ratio, found.p_value


def _own(pairs: Sequence[Paired]) -> tuple[Floats, Floats]:
    """The variance of each ratio by itself, as if it were of one combination, and its degrees of freedom."""
    several = [len(one.logarithms) > 1 for one in pairs]
    variances = [
        one.size * stdev(one.logarithms) ** 2 if known else math.nan for one, known in zip(pairs, several, strict=True)
    ]
    return np.array(variances), np.array([max(0.0, len(one.logarithms) - 1.0) for one in pairs])


def _ratio(one: Paired, error: float, blocks: int, scatter: Moderated, unchanged_error: float) -> PairedRatio:
    count = len(one.logarithms)
    degrees = count - 1 + scatter.prior_degrees
    if not count or degrees < _DEGREES_MIN:
        return PairedRatio(_alone(one.logarithms), None)
    middle, own = fmean(one.logarithms), min(blocks - 1.0, degrees)
    half = student_t(own) * error
    method = f"geometric mean over {count} blocks, Student t with {own:.3g} degrees of freedom"
    if scatter.prior_degrees:
        method += f", {degrees:.3g} for the p-value; variances moderated over the levels"
    low, high = math.exp(middle - half), math.exp(middle + half)
    estimate = Estimate(math.exp(middle), low, high, "1", count, float(count), method)
    return PairedRatio(estimate, two_sided_p(middle, error, degrees), unchanged_error, error, degrees)


def _alone(logarithms: Sequence[float]) -> Estimate:
    """A ratio without an interval."""
    count = len(logarithms)
    if not count:
        return Estimate(None, None, None, "1", 0, 0.0, "no block has both levels")
    method = f"{count} {'block' if count == 1 else 'blocks'}: an interval needs {BLOCKS_MIN}"
    return Estimate(math.exp(fmean(logarithms)), None, None, "1", count, float(count), method)
