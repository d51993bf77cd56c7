"""Factors and pairs of factors as a whole: how much of the variance within blocks each accounts for."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.complete_blocks import CompleteBlocks
from drivelab.model.factorial import FactorialTerm

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FactorialShares:
    """Parts of all variance within blocks, from 0 to 1.

    Attributes
    ----------
    terms : tuple of FactorialTerm
        Factors, then pairs of them.
    of_more_factors : float
        What three factors and more do together.
    of_scatter : float
        What is left between repeats.
    """

    terms: tuple[FactorialTerm, ...]
    of_more_factors: float
    of_scatter: float


def factorial_shares(complete: CompleteBlocks) -> FactorialShares:
    """The share of every factor, of every pair of factors, and of scatter.

    Parameters
    ----------
    complete : CompleteBlocks
        Logarithms by block and cell.

    Notes
    -----
    Sums of squares by least squares with sum coding: of a factor beside all
    other factors, of a pair beside all factors and other pairs (type II). In a
    full design each is what it would be alone. Where combinations are missing
    a pair has fewer degrees of freedom, down to 0.
    """
    means = complete.logarithms.mean(axis=0)
    blocks = complete.logarithms.shape[0]
    coded = {(name,): _sum_coding([cell[n] for cell in complete.cells]) for n, name in enumerate(complete.factors)}
    pairs = {
        (*one, *other): _products(coded[one], coded[other]) for one, other in itertools.combinations(tuple(coded), 2)
    }
    total = float(((complete.logarithms - complete.logarithms.mean(axis=1, keepdims=True)) ** 2).sum())

    def share(squares: float) -> float:
        return blocks * max(squares, 0.0) / total if total > 0 else 0.0

    found = []
    for terms, beside in ((coded, coded), (pairs, coded | pairs)):
        whole, whole_rank = _explained(list(beside.values()), means)
        for factors in terms:
            rest, rank = _explained([columns for name, columns in beside.items() if name != factors], means)
            found.append(FactorialTerm(factors, whole_rank - rank, share(whole - rest)))
    explained, _ = _explained([*coded.values(), *pairs.values()], means)
    of_cells = float(((means - means.mean()) ** 2).sum())
    of_scatter = share(total / blocks - of_cells) if blocks > 1 else 0.0
    return FactorialShares(tuple(found), share(of_cells - explained), of_scatter)


def _sum_coding(levels: Sequence[str]) -> Floats:
    """Columns that are 1 at one level, -1 at the last and 0 elsewhere: one fewer than levels."""
    known = list(dict.fromkeys(levels))
    rows = [[float(level == one) - float(level == known[-1]) for one in known[:-1]] for level in levels]
    return np.array(rows, dtype=np.float64)


def _products(one: Floats, other: Floats) -> Floats:
    return np.hstack([one * other[:, place : place + 1] for place in range(other.shape[1])])


def _explained(columns: Sequence[Floats], means: Floats) -> tuple[float, int]:
    """Sum of squares of the means, their own mean taken off, that columns account for, and their rank with it."""
    matrix = np.hstack([np.ones((len(means), 1)), *columns])
    solution, _, rank, _ = np.linalg.lstsq(matrix, means, rcond=None)
    return float(((matrix @ solution - means.mean()) ** 2).sum()), int(rank)
