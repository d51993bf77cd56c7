"""What the factors of a full design do, alone and in pairs: ratios with intervals, and shares of the variance.

On the logarithm of a latency or a throughput, with block effects, each effect
held against the scatter of what was set up anew equally often
(`drivelab.analyse.strata`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.complete_blocks import CompleteBlocks, complete_blocks
from drivelab.analyse.distributions import student_t
from drivelab.analyse.effects import ERROR_MIN, MATTERS_FROM, SIGNIFICANCE, TrialValue, holm, two_sided_p
from drivelab.analyse.factorial_terms import factorial_terms
from drivelab.analyse.strata import LENTH, Stratum, contrast_error, lenth_stratum, strata_of, with_scatter
from drivelab.model.estimate import Estimate
from drivelab.model.factorial import ErrorStratum, Factorial, Interaction, MainEffect

Floats = NDArray[np.float64]
# above so many combinations a table of pairs tells nobody anything
CELLS_MAX = 512
_ONE_REPEAT = "one repeat: no interval; Lenth's needs a full design of three or more factors with two levels each"


@dataclass(frozen=True, slots=True)
class _Design:
    """Cell means, and what they are held against."""

    complete: CompleteBlocks
    levels: Mapping[str, Sequence[str]]
    means: Floats
    strata: Sequence[Stratum]
    method: str

    def contrast(self, plus: Sequence[int], minus: Sequence[int]) -> Floats:
        weights = np.zeros(len(self.means))
        np.add.at(weights, list(plus), 1.0)
        np.add.at(weights, list(minus), -1.0)
        return weights

    def ratio(self, contrast: Floats) -> tuple[Estimate, float | None]:
        """The ratio that a contrast of logarithms is, and the p-value of none."""
        middle, blocks = float(contrast @ self.means), len(self.complete.blocks)
        found = contrast_error(contrast, self.strata, blocks)
        if found is None:
            return Estimate(math.exp(middle), None, None, "1", blocks, float(blocks), self.method), None
        error, degrees = max(ERROR_MIN, found[0]), found[1]
        half = student_t(degrees) * error
        method = f"{self.method}, Student t with {degrees:.3g} degrees of freedom"
        low, high = math.exp(middle - half), math.exp(middle + half)
        return Estimate(math.exp(middle), low, high, "1", blocks, float(blocks), method), two_sided_p(
            middle, error, degrees
        )


def factorials(
    trials: Iterable[TrialValue], factors: Mapping[str, Sequence[str]], metrics: Mapping[str, str]
) -> list[Factorial]:
    """Main effects and interactions of two factors, of every workload on every target.

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
    Every combination of levels has a mean of its own (all interactions are in
    the model), blocks have theirs: what is left is scatter, and nothing else.
    It is told apart by strata: an effect of a file system is held against the
    scatter between file systems that were made anew, one of a setting against
    that between times at which it was set, one of the workload against that
    between trials. An effect that lies in several strata (that of the cache on
    one file system) has a variance put together from them, with Satterthwaite's
    degrees of freedom. With one repeat there is nothing to be left: of a full
    two-level design Lenth's pseudo standard error is used, otherwise there are
    ratios without intervals.

    Only blocks and combinations of which nothing is missing are used
    (`complete_blocks`). An effect is the mean over the combinations of the
    other factors that were measured with both levels, an interaction the mean
    over those that were measured with all four pairs; where there are none it
    cannot be estimated, and a note says so.

    References
    ----------
    Box, Hunter, Hunter (2005), Statistics for experimenters, chapters 5 and 9;
    Montgomery (2017), Design and analysis of experiments, chapter 14.
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
    design = _design(complete, order)
    terms, higher = factorial_terms(complete, design.strata)
    total = _total_squares(complete.logarithms)
    main_effects = tuple(_main_effects(design, notes.append))
    interactions = tuple(_interactions(design, notes.append))
    if any(stratum.name == LENTH for stratum in design.strata) and len(strata_of(complete.mappings())) > 1:
        notes.append("one repeat: the scatter between what is slow to change cannot be told from that between trials")
    return Factorial(
        target=target,
        workload=workload,
        metric=metric,
        block_count=blocks,
        cell_count=cells,
        terms=terms,
        main_effects=main_effects,
        interactions=interactions,
        strata=tuple(_error_stratum(one, total) for one in design.strata),
        higher_order_share=higher,
        method=design.method,
        notes=tuple(notes),
    )


def _design(complete: CompleteBlocks, order: Mapping[str, Sequence[str]]) -> _Design:
    logarithms, levels = complete.logarithms, complete.levels(order)
    means = logarithms.mean(axis=0)
    blocks, cells = logarithms.shape
    if blocks > 1:
        residuals = logarithms - logarithms.mean(axis=1, keepdims=True) - means + means.mean()
        strata = with_scatter(strata_of(complete.mappings()), residuals)
        return _Design(complete, levels, means, strata, f"means of {cells} combinations over {blocks} blocks")
    if all(len(known) == 2 for known in levels.values()) and cells == 2 ** len(levels):
        rows = [
            [1.0 if cell[n] == levels[name][1] else -1.0 for n, name in enumerate(levels)] for cell in complete.cells
        ]
        lenth = lenth_stratum(means, np.array(rows))
        if lenth is not None:
            return _Design(complete, levels, means, [lenth], "one repeat, Lenth's pseudo standard error")
    return _Design(complete, levels, means, strata_of(complete.mappings()), _ONE_REPEAT)


def _total_squares(logarithms: Floats) -> float:
    return float(((logarithms - logarithms.mean(axis=1, keepdims=True)) ** 2).sum())


def _error_stratum(stratum: Stratum, total: float) -> ErrorStratum:
    share = stratum.sum_of_squares / total if total > 0 else 0.0
    known = stratum.mean_square if stratum.degrees_of_freedom else None
    return ErrorStratum(stratum.name, stratum.degrees_of_freedom, known, share)


def _main_effects(design: _Design, note: Callable[[str], None]) -> Iterator[MainEffect]:
    for place, (factor, levels) in enumerate(design.levels.items()):
        by_level = _cells_by_levels(design, (place,))
        for level in levels[1:]:
            at, beside = by_level[level,], by_level[levels[0],]
            alike = [key for key in at if key in beside]
            if not alike:
                note(f"{factor} {level}: never measured beside {levels[0]}, all else alike; it cannot be estimated")
                continue
            contrast = design.contrast([at[key] for key in alike], [beside[key] for key in alike]) / len(alike)
            yield MainEffect(factor, level, levels[0], design.ratio(contrast)[0])


def _interactions(design: _Design, note: Callable[[str], None]) -> Iterator[Interaction]:
    """The later factor's effect at the levels of the earlier one, beside the first level that was measured with it."""
    names = list(design.levels)
    for other, factor in itertools.combinations(range(len(names)), 2):
        cells = _cells_by_levels(design, (other, factor))
        others, levels = design.levels[names[other]], design.levels[names[factor]]
        for level in levels[1:]:
            known = [one for one in others if _alike(cells, (one, levels[0]), (one, level))]
            lacking = [one for one in others if one not in known]
            for other_level in known[1:]:
                corners = tuple(itertools.product((known[0], other_level), (levels[0], level)))
                if _alike(cells, *corners):
                    words = (names[factor], level, levels[0], names[other], other_level, known[0])
                    yield _interaction(design, words, cells, corners)
                else:
                    lacking.append(other_level)
            if lacking and len(others) > 1:
                note(
                    f"{names[factor]} {level} was not measured beside {levels[0]} at {names[other]} "
                    f"{', '.join(lacking)}, all else alike: what it does there cannot be estimated"
                )


def _interaction(
    design: _Design,
    words: tuple[str, str, str, str, str, str],
    cells: Mapping[tuple[str, ...], Mapping[tuple[str, ...], int]],
    corners: Sequence[tuple[str, ...]],
) -> Interaction:
    """From the four corners, the first level of the other factor and of the factor itself first."""
    alike = _alike(cells, *corners)
    low, high = (
        design.contrast([cells[level][key] for key in alike], [cells[baseline][key] for key in alike]) / len(alike)
        for baseline, level in (corners[:2], corners[2:])
    )
    ratio, p_value = design.ratio(high - low)
    return Interaction(*words, ratio, design.ratio(low)[0], design.ratio(high)[0], p_value)


def _alike(
    cells: Mapping[tuple[str, ...], Mapping[tuple[str, ...], int]], *levels: tuple[str, ...]
) -> list[tuple[str, ...]]:
    """What all other factors are in the combinations that were measured with every one of some levels."""
    first, *rest = (cells.get(each, {}) for each in levels)
    return [key for key in first if all(key in each for each in rest)]


def _cells_by_levels(design: _Design, places: Sequence[int]) -> dict[tuple[str, ...], dict[tuple[str, ...], int]]:
    """Number of the cell by its levels at some places, and by those at all others."""
    found: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}
    for number, cell in enumerate(design.complete.cells):
        rest = tuple(level for place, level in enumerate(cell) if place not in places)
        found.setdefault(tuple(cell[place] for place in places), {})[rest] = number
    return found


def _corrected(members: Sequence[Factorial]) -> list[Factorial]:
    """The factorials of one target, corrected for how many terms and interactions were looked at."""
    terms = [term for one in members for term in one.terms if term.p_value is not None]
    of_terms = dict(zip(map(id, terms), holm([term.p_value or 0.0 for term in terms]), strict=True))
    pairs = [pair for one in members for pair in one.interactions if pair.p_value is not None]
    of_pairs = dict(zip(map(id, pairs), holm([pair.p_value or 0.0 for pair in pairs]), strict=True))
    return [
        replace(
            one,
            terms=tuple(replace(term, adjusted_p_value=of_terms.get(id(term))) for term in one.terms),
            interactions=tuple(_judged(pair, of_pairs.get(id(pair))) for pair in one.interactions),
        )
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
