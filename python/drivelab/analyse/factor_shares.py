"""How much of the differences between drives a factor explains, by a permutation test.

The levels of a factor are dealt to the drives at random, within their model, as often as `DEALS`. How often chance does
as well is the p-value (Phipson and Smyth, "Permutation p-values should never be zero", 2010); what it does on average
is taken off the share, which then is the adjusted R squared of an analysis of variance.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from drivelab.analyse.drive_spread import robust_deviation
from drivelab.model.drive_values import FactorLevel

DEALS = 999
_SEED = 1
# a drive that stands apart counts as if it were no farther than that from the others of its model
_FAR = 5.0
_SCALE_MIN = 0.001
# drives that a test within groups needs where both levels occur
_MIXED_MIN = 4


@dataclass(frozen=True, slots=True)
class Explained:
    """Share of the variance that a factor explains beyond chance, and how often chance does as well."""

    share: float
    p_value: float


def bounded(logs: np.ndarray, groups: Sequence[str]) -> np.ndarray:
    """The values with those that lie far from the median of their group brought nearer, so that one moves no share."""
    found = np.array(logs, dtype=float)
    for rows in _rows_of(groups):
        middle = float(np.median(found[rows]))
        limit = _FAR * max(robust_deviation(found[rows]), _SCALE_MIN)
        found[rows] = np.clip(found[rows], middle - limit, middle + limit)
    return found


def explained(logs: np.ndarray, levels: Sequence[str], groups: Sequence[str], seed: int = _SEED) -> Explained | None:
    """What a factor explains of values, within groups.

    Parameters
    ----------
    logs : numpy.ndarray
        One value per drive.
    levels, groups : sequence of str
        Level of the factor, and the group within which levels are dealt: the model.

    Returns
    -------
    Explained or None
        None where nothing can be told: no group with drives of two levels, or no level with two drives.
    """
    if not _is_testable(levels, groups):
        return None
    order = np.argsort(_codes(groups), kind="stable")
    group, level = _codes(groups)[order], _codes(levels)[order]
    centred = np.array(logs, dtype=float)[order]
    for rows in _rows_of(group):
        centred[rows] -= centred[rows].mean()
    total = float(centred @ centred)
    if total <= 0:
        return None
    between = _between(centred[np.newaxis, :], level)[0]
    by_chance = _between(centred[_deals(group.tobytes(), seed)], level)
    usual = float(by_chance.mean())
    as_good = int((by_chance >= between - 1e-9 * total).sum())
    share = (between - usual) / (total - usual) if total > usual else 0.0
    return Explained(max(0.0, float(share)), (1 + as_good) / (DEALS + 1))


# of the model and of all other factors, whose groups are the same for every number of the same drives
@functools.lru_cache(maxsize=2)
def _deals(group: bytes, seed: int) -> np.ndarray:
    """The rows as often dealt as `DEALS`, each time within the groups of the drives, whose codes are given."""
    groups = np.frombuffer(group, dtype=np.intp)
    # the order of random numbers within each group deals its drives anew
    return np.argsort(np.random.default_rng(seed).random((DEALS, len(groups))) + groups, axis=1)


def _is_testable(levels: Sequence[str], groups: Sequence[str]) -> bool:
    """Whether drives of two levels share a group, enough of them, and some level has two drives."""
    mixed = 0
    for rows in _rows_of(groups):
        if len({levels[row] for row in rows}) > 1:
            mixed += len(rows)
    return mixed >= _MIXED_MIN and len(set(levels)) < len(levels)


def levels_beside(logs: np.ndarray, levels: Sequence[str], groups: Sequence[str]) -> tuple[FactorLevel, ...]:
    """What the drives of each level show beside the others of their group, the one that stands out most first.

    Parameters
    ----------
    logs : numpy.ndarray
        One value per drive.
    levels, groups : sequence of str
        Level of the factor, and the group within which drives are alike: the model.
    """
    level, group = _codes(levels), _codes(groups)
    found = []
    for rows in _rows_of(level):
        apart, counts = [], []
        for inside in _rows_of(group[rows]):
            own = rows[inside]
            others = np.flatnonzero((group == group[own[0]]) & (level != level[rows[0]]))
            if len(others):
                apart.append(float(np.median(logs[own]) - np.median(logs[others])))
                counts.append(len(own))
        if apart:
            far = float(np.average(apart, weights=counts))
            told = FactorLevel(levels[rows[0]], len(rows), float(np.exp(np.median(logs[rows]))), float(np.exp(far)))
            found.append((far**2 * len(rows) * (len(level) - len(rows)), told))
    # of two that part the drives the smaller one
    ordered = sorted(found, key=lambda one: (-round(one[0], 9), one[1].drive_count, one[1].level))
    return tuple(told for _, told in ordered)


def standing_out(logs: np.ndarray, levels: Sequence[str], groups: Sequence[str]) -> str:
    """The level that adds most to what a factor explains."""
    centred = np.array(logs, dtype=float)
    for rows in _rows_of(groups):
        centred[rows] -= centred[rows].mean()
    added = {str(levels[rows[0]]): float(centred[rows].sum()) ** 2 / len(rows) for rows in _rows_of(levels)}
    return max(added, key=lambda level: added[level])


def _between(rows: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Of each row the sum of squares between levels."""
    order = np.argsort(level, kind="stable")
    begins = np.flatnonzero(np.diff(level[order], prepend=-1))
    counts = np.diff(begins, append=len(level))
    sums = np.add.reduceat(rows[:, order], begins, axis=1)
    found: np.ndarray = (sums**2 / counts).sum(axis=1)
    return found


def _codes(texts: Sequence[str] | np.ndarray) -> np.ndarray:
    codes: np.ndarray = np.unique(np.asarray(texts), return_inverse=True)[1]
    return codes


def _rows_of(groups: Sequence[str] | np.ndarray) -> list[np.ndarray]:
    """The rows of each group."""
    codes = _codes(groups)
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
