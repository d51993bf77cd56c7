"""Factors and pairs of factors as a whole: how much of the variance each accounts for, and whether that is chance."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.complete_blocks import CompleteBlocks
from drivelab.analyse.effects import ERROR_MIN
from drivelab.analyse.strata import LENTH, Stratum, f_tail, stratum_of_factors
from drivelab.model.factorial import FactorialTerm

Floats = NDArray[np.float64]


def factorial_terms(complete: CompleteBlocks, strata: Sequence[Stratum]) -> tuple[tuple[FactorialTerm, ...], float]:
    """Every factor and every pair of factors, and the share of what three and more do together.

    Parameters
    ----------
    complete : CompleteBlocks
        Logarithms by block and cell.
    strata : sequence of Stratum
        What terms are tested against.

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
    found = []
    for terms, beside in ((coded, coded), (pairs, coded | pairs)):
        whole, whole_rank = _explained(list(beside.values()), means)
        for factors in terms:
            rest, rank = _explained([columns for name, columns in beside.items() if name != factors], means)
            squares = blocks * max(whole - rest, 0.0)
            found.append(_term(factors, whole_rank - rank, squares, total, strata))
    explained, _ = _explained([*coded.values(), *pairs.values()], means)
    higher = blocks * max(float(((means - means.mean()) ** 2).sum()) - explained, 0.0)
    return tuple(found), higher / total if total > 0 else 0.0


def _term(
    factors: tuple[str, ...], degrees: int, squares: float, total: float, strata: Sequence[Stratum]
) -> FactorialTerm:
    share = squares / total if total > 0 else 0.0
    is_lenth = strata[0].name == LENTH
    name = LENTH if is_lenth else stratum_of_factors(factors, strata)
    stratum = next(one for one in strata if one.name == name)
    if not degrees or not stratum.degrees_of_freedom:
        return FactorialTerm(factors, degrees, share, name, stratum.degrees_of_freedom)
    # nothing is known better than a bucket of the histograms is wide
    ratio = squares / degrees / max(stratum.mean_square, ERROR_MIN**2)
    p_value = f_tail(ratio, degrees, stratum.degrees_of_freedom)
    return FactorialTerm(factors, degrees, share, name, stratum.degrees_of_freedom, ratio, p_value)


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
