"""What scatters between things that are set up anew: error strata of a plan in which some changes are slow.

Within a block a file system is made once, everything that is measured on it
follows, and settings are changed within that (`plan/order.py`): a split-plot
design. Two trials on the same made file system share whatever that making
brought with it. An effect between file systems must be held against the scatter
between file systems, which repeats of trials on one of them do not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.distributions import incomplete_beta
from drivelab.model.setting import SETTING_NAMES

Floats = NDArray[np.float64]
Classes = NDArray[np.intp]

# what is changed least often first; everything else may change from trial to trial
_SLOW: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("file systems", ("filesystem",)),
    ("mounts", ("mount",)),
    ("settings", SETTING_NAMES),
)
TRIALS = "trials"
LENTH = "effects"
# Lenth's estimate needs a few effects of which most are none
LENTH_EFFECTS_MIN = 7
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Stratum:
    """A stratum, and what things scatter in it.

    Attributes
    ----------
    name : str
        As of `ErrorStratum`.
    classes, coarser : ndarray of int
        Of each cell: which plot it lies in, in this stratum and in the one above.
    mean_square : float
        Of natural logarithms.
    degrees_of_freedom : float
        0 where it is unknown.
    sum_of_squares : float
        Of the residuals in this stratum.
    """

    name: str
    classes: Classes
    coarser: Classes
    mean_square: float = 0.0
    degrees_of_freedom: float = 0.0
    sum_of_squares: float = 0.0

    def part(self, values: Floats) -> Floats:
        """The part of values, one per cell along the last axis, that lies in this stratum."""
        return _class_means(values, self.classes) - _class_means(values, self.coarser)


def strata_of(cells: Sequence[Mapping[str, str]]) -> list[Stratum]:
    """The strata of the cells of one block, the coarsest first; those in which nothing differs are left out.

    Parameters
    ----------
    cells : sequence of mapping of str to str
        Level of every factor; all cells differ.
    """
    known: list[str] = []
    found: list[Stratum] = []
    coarser = np.zeros(len(cells), dtype=np.intp)
    every = tuple(dict.fromkeys(name for cell in cells for name in cell))
    for name, factors in (*_SLOW, (TRIALS, every)):
        known += factors
        keys = [tuple(cell.get(factor, "") for factor in known) for cell in cells]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        classes = np.array([numbers[key] for key in keys], dtype=np.intp)
        if classes.max() > coarser.max():
            found.append(Stratum(name, classes, coarser))
            coarser = classes
    return found


def stratum_of_factors(factors: Sequence[str], strata: Sequence[Stratum]) -> str:
    """The name of the stratum in which a term of these factors lies: that of the one that changes most often."""
    order = [name for name, _ in _SLOW]
    places = [next((n for n, (_, slow) in enumerate(_SLOW) if factor in slow), len(order)) for factor in factors]
    names = [stratum.name for stratum in strata]
    wanted = (*order, TRIALS)[max(places)]
    return wanted if wanted in names else names[-1]


def with_scatter(strata: Sequence[Stratum], residuals: Floats) -> list[Stratum]:
    """The strata with their mean squares.

    Parameters
    ----------
    strata : sequence of Stratum
        As of `strata_of`.
    residuals : ndarray, shape (blocks, cells)
        What is left of the logarithms when the means of cells and blocks are taken off.
    """
    found = []
    for stratum in strata:
        degrees = (residuals.shape[0] - 1) * int(stratum.classes.max() - stratum.coarser.max())
        squares = float((stratum.part(residuals) ** 2).sum())
        scatter = squares / degrees if degrees else 0.0
        found.append(Stratum(stratum.name, stratum.classes, stratum.coarser, scatter, float(degrees), squares))
    return found


def lenth_stratum(means: Floats, signs: Floats) -> Stratum | None:
    """The scatter of a two-level design that was measured once, by Lenth's pseudo standard error.

    Parameters
    ----------
    means : ndarray, shape (cells,)
        Logarithms.
    signs : ndarray, shape (cells, factors)
        -1 for the first and 1 for the second level; every combination once.

    Returns
    -------
    Stratum or None
        None below `LENTH_EFFECTS_MIN` effects.

    Notes
    -----
    Most effects are none and show nothing but scatter: 1.5 times the median of
    their sizes, those above 2.5 times a first such estimate left out, estimates
    its standard deviation. It is referred to Student's t with a third as many
    degrees of freedom as effects.

    References
    ----------
    Lenth (1989), Quick and easy analysis of unreplicated factorials, Technometrics 31(4).
    """
    count = len(means)
    if count - 1 < LENTH_EFFECTS_MIN:
        return None
    columns = np.ones((count, 1))
    for place in range(signs.shape[1]):
        columns = np.hstack([columns, columns * signs[:, place : place + 1]])
    sizes = np.abs(2 / count * columns[:, 1:].T @ means).tolist()
    first = 1.5 * median(sizes)
    kept = [size for size in sizes if size < 2.5 * first]
    pseudo_error = 1.5 * median(kept) if kept else 0.0
    one = np.zeros(count, dtype=np.intp)
    # an effect's contrast has a squared length of 4 / count
    scatter = pseudo_error**2 * count / 4
    return Stratum(LENTH, np.arange(count, dtype=np.intp), one, scatter, (count - 1) / 3, 0.0)


def contrast_error(contrast: Floats, strata: Sequence[Stratum], block_count: int) -> tuple[float, float] | None:
    """Standard error of a contrast of cell means, and its degrees of freedom.

    Parameters
    ----------
    contrast : ndarray, shape (cells,)
        Weights; their sum is 0.
    strata : sequence of Stratum
        With their mean squares.
    block_count : int
        Blocks behind each mean.

    Returns
    -------
    float, float, or None
        None where it lies in a stratum of which the scatter is unknown.

    Notes
    -----
    A contrast that lies in several strata has a variance that is a sum of mean
    squares; its degrees of freedom are those of Satterthwaite (1946).
    """
    total, per_degree = 0.0, 0.0
    degrees = []
    for stratum in strata:
        size = float((stratum.part(contrast) ** 2).sum())
        if size < _TINY:
            continue
        if not stratum.degrees_of_freedom:
            return None
        variance = size * stratum.mean_square / block_count
        total += variance
        per_degree += variance**2 / stratum.degrees_of_freedom
        degrees.append(stratum.degrees_of_freedom)
    if not degrees:
        return None
    return total**0.5, total**2 / per_degree if per_degree > 0 else min(degrees)


def f_tail(ratio: float, over: float, under: float) -> float:
    """Probability that Fisher's F with `over` and `under` degrees of freedom exceeds a ratio."""
    return incomplete_beta(under / 2, over / 2, under / (under + over * ratio))


def _class_means(values: Floats, classes: Classes) -> Floats:
    members = np.zeros((len(classes), int(classes.max()) + 1))
    members[np.arange(len(classes)), classes] = 1.0
    return np.asarray((values @ members / members.sum(axis=0))[..., classes], dtype=np.float64)
