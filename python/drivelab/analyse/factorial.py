"""What the factors of a full design do in pairs, and which share of the variance each accounts for.

On the logarithm of a latency or a throughput. An interaction is a ratio of four
combinations of one block (`drivelab.analyse.paired_ratios`): whatever was set up
afresh between them is in it, and blocks are what it is averaged over.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.complete_blocks import CompleteBlocks, complete_blocks
from drivelab.analyse.effects import MATTERS_FROM, SIGNIFICANCE
from drivelab.analyse.paired_ratios import Paired, PairedRatio, paired_ratios
from drivelab.analyse.trial_value import TrialValue
from drivelab.model.factorial import Factorial, FactorialTerm, Interaction
from drivelab.model.holm import holm

Floats = NDArray[np.float64]
# above so many combinations a table of pairs tells nobody anything
CELLS_MAX = 512


@dataclass(frozen=True, slots=True)
class _Pair:
    """An interaction before it is judged.

    Attributes
    ----------
    names : tuple of str
        Factor, level, baseline, other factor, other level, other baseline.
    at_other_baseline, at_other_level : Paired
        The effect of the level in each block, at both levels of the other factor.
    """

    names: tuple[str, str, str, str, str, str]
    at_other_baseline: Paired
    at_other_level: Paired

    @property
    def both(self) -> Paired:
        """The one over the other."""
        sides = zip(self.at_other_baseline.logarithms, self.at_other_level.logarithms, strict=True)
        return Paired(tuple(high - low for low, high in sides), self.at_other_level.size)


def factorials(
    trials: Iterable[TrialValue], factors: Mapping[str, Sequence[str]], metrics: Mapping[str, str]
) -> list[Factorial]:
    """Shares of the variance and interactions of two factors, of every workload on every target.

    Parameters
    ----------
    trials : iterable of TrialValue
        Of a full design; those of the reference are left out.
    factors : mapping of str to sequence of str
        Levels of every factor in the order of the experiment's file; the first
        measured one is the baseline.
    metrics : mapping of str to str
        Name of the metric that the values of each workload are.

    Returns
    -------
    list of Factorial
        By target and workload; none where no two factors were varied together.

    Notes
    -----
    An interaction is the ratio of a level's effect at one level of another factor
    to that at another, taken within each block: the block's own speed cancels,
    and what scatters between file systems that are made afresh is in it. Its
    interval and p-value are those of `paired_ratios`, moderated over all
    interactions, and right where one file system scatters more than others.

    Only blocks and combinations of which nothing is missing are used
    (`complete_blocks`). An interaction is the mean over the combinations of the
    other factors that were measured with all four pairs; where there are none it
    cannot be estimated, and a note says so.
    """
    groups: dict[tuple[str, str], list[TrialValue]] = {}
    for trial in trials:
        groups.setdefault((trial.target, trial.workload), []).append(trial)
    found = []
    for (target, workload), members in groups.items():
        complete = complete_blocks(members, factors)
        if complete is not None and _has_pairs(complete):
            found.append(_factorial(target, workload, metrics[workload], complete, factors))
    by_target: dict[str, list[Factorial]] = {}
    for one in found:
        by_target.setdefault(one.target, []).append(one)
    return [one for members in by_target.values() for one in _corrected(members)]


def _has_pairs(complete: CompleteBlocks) -> bool:
    """Whether some two factors were crossed: two levels of each in all four combinations, alike in everything else."""
    for places in itertools.combinations(range(len(complete.factors)), 2):
        groups: dict[tuple[str, ...], dict[str, set[str]]] = {}
        for cell in complete.cells:
            rest = tuple(level for place, level in enumerate(cell) if place not in places)
            groups.setdefault(rest, {}).setdefault(cell[places[0]], set()).add(cell[places[1]])
        for group in groups.values():
            if any(len(one & other) > 1 for one, other in itertools.combinations(group.values(), 2)):
                return True
    return False


def _factorial(
    target: str, workload: str, metric: str, complete: CompleteBlocks, order: Mapping[str, Sequence[str]]
) -> Factorial:
    blocks, cells = complete.logarithms.shape
    notes = list(complete.notes)
    if cells > CELLS_MAX:
        notes.append(f"{cells} combinations are more than {CELLS_MAX}: interactions were not looked for")
        return Factorial(target, workload, metric, blocks, cells, notes=tuple(notes))
    pairs = list(_pairs(complete, complete.levels(order), notes.append))
    shares = _factorial_shares(complete)
    return Factorial(
        target=target,
        workload=workload,
        metric=metric,
        block_count=blocks,
        cell_count=cells,
        terms=shares.terms,
        interactions=tuple(_interactions(pairs)),
        higher_order_share=shares.of_more_factors,
        scatter_share=shares.of_scatter,
        notes=tuple(notes),
    )


def _pairs(
    complete: CompleteBlocks, known_levels: Mapping[str, Sequence[str]], note: Callable[[str], None]
) -> Iterator[_Pair]:
    """The later factor's effect at the levels of the earlier one, beside the first level that was measured with it."""
    names = list(known_levels)
    for other, factor in itertools.combinations(range(len(names)), 2):
        cells = _cells_by_levels(complete, (other, factor))
        others, levels = known_levels[names[other]], known_levels[names[factor]]
        for level in levels[1:]:
            known = [one for one in others if _alike(cells, (one, levels[0]), (one, level))]
            lacking = [one for one in others if one not in known]
            for other_level in known[1:]:
                low = (known[0], levels[0]), (known[0], level)
                high = (other_level, levels[0]), (other_level, level)
                if alike := _alike(cells, *low, *high):
                    words = (names[factor], level, levels[0], names[other], other_level, known[0])
                    at_both = [_effect(complete, cells, alike, *corners) for corners in (low, high)]
                    yield _Pair(words, *at_both)
                else:
                    lacking.append(other_level)
            if lacking and len(others) > 1:
                note(
                    f"{names[factor]} {level} was not measured against {levels[0]} at {names[other]} "
                    f"{', '.join(lacking)}, all else alike: what it does there cannot be estimated"
                )


def _effect(
    complete: CompleteBlocks,
    cells: Mapping[tuple[str, ...], Mapping[tuple[str, ...], int]],
    alike: Sequence[tuple[str, ...]],
    baseline: tuple[str, ...],
    level: tuple[str, ...],
) -> Paired:
    """Level over baseline in each block, over the same combinations of all other factors."""
    above, below = (complete.logarithms[:, [cells[one][key] for key in alike]] for one in (level, baseline))
    return Paired(tuple((above - below).mean(axis=1).tolist()), len(alike))


def _interactions(pairs: Sequence[_Pair]) -> Iterator[Interaction]:
    # the effect at a level of the other factor stands in several pairs, and is to lend its scatter once
    effects = dict.fromkeys(one for pair in pairs for one in (pair.at_other_baseline, pair.at_other_level))
    known: dict[Paired, PairedRatio] = dict(zip(effects, paired_ratios(list(effects)), strict=True))
    for pair, both in zip(pairs, paired_ratios([pair.both for pair in pairs]), strict=True):
        at_both = known[pair.at_other_baseline].ratio, known[pair.at_other_level].ratio
        yield Interaction(*pair.names, both.ratio, *at_both, both.p_value)


def _alike(
    cells: Mapping[tuple[str, ...], Mapping[tuple[str, ...], int]], *levels: tuple[str, ...]
) -> list[tuple[str, ...]]:
    """What all other factors are in the combinations that were measured with every one of some levels."""
    first, *rest = (cells.get(each, {}) for each in levels)
    return [key for key in first if all(key in each for each in rest)]


def _cells_by_levels(
    complete: CompleteBlocks, places: Sequence[int]
) -> dict[tuple[str, ...], dict[tuple[str, ...], int]]:
    """Number of the cell by its levels at some places, and by those at all others."""
    found: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}
    for number, cell in enumerate(complete.cells):
        rest = tuple(level for place, level in enumerate(cell) if place not in places)
        found.setdefault(tuple(cell[place] for place in places), {})[rest] = number
    return found


def _corrected(members: Sequence[Factorial]) -> list[Factorial]:
    """The factorials of one target, corrected for how many interactions were looked at."""
    pairs = [pair for one in members for pair in one.interactions if pair.p_value is not None]
    of_pairs = dict(zip(map(id, pairs), holm([pair.p_value or 0.0 for pair in pairs]), strict=True))
    return [
        replace(one, interactions=tuple(_judged(pair, of_pairs.get(id(pair))) for pair in one.interactions))
        for one in members
    ]


def _judged(pair: Interaction, adjusted_p_value: float | None) -> Interaction:
    low, high = pair.ratio.low, pair.ratio.high
    verdict = "not settled"
    if adjusted_p_value is not None and low is not None and high is not None:
        if low >= 1 / MATTERS_FROM and high <= MATTERS_FROM:
            verdict = "no effect"
        elif adjusted_p_value <= SIGNIFICANCE:
            verdict = "matters" if low >= MATTERS_FROM or high <= 1 / MATTERS_FROM else "differs"
    return replace(pair, adjusted_p_value=adjusted_p_value, verdict=verdict)


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


def _factorial_shares(complete: CompleteBlocks) -> FactorialShares:
    """The share of every factor, of every pair of factors, and of scatter.

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
