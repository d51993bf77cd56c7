"""What each level of a factor does: paired within blocks, as a ratio to the factor's first level.

A block is one repeat of everything on one target. Within it both levels are
measured close together, so a drive that drifts from block to block changes both
alike, and their ratio stays. What a run measured before it was cut off and what
it measured after it was resumed may lie days apart: only trials of the same
session are paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean

from drivelab.analyse.command_changes import command_changes
from drivelab.analyse.left_out import left_out_note, split_blocks
from drivelab.analyse.paired_ratios import BLOCKS_MIN, Paired, PairedRatio, paired_ratios
from drivelab.analyse.trial_value import TrialValue
from drivelab.model.estimate import Estimate
from drivelab.model.holm import holm, holm_levels
from drivelab.model.judged_metric import RATE
from drivelab.model.level_words import is_quantity
from drivelab.model.metric import metric_of
from drivelab.model.run_answer import EffectVerdict, LevelEffect

# smaller changes of a median latency or a throughput matter to nobody
MATTERS_FROM = 1.05
SIGNIFICANCE = 0.05
# from here on what a level without change does is told with the effects that it widens
_UNCHANGED_TOLD = math.log(1.01)

Levels = tuple[tuple[str, str], ...]
# block of the randomised order, and session of the run
Block = tuple[int, int]
Key = tuple[Levels, Block]
# of the levels of a factor that were measured, which is held against which: baseline and level
Compared = Callable[[Sequence[str]], Sequence[tuple[str, str]]]


Cells = dict[Key, list[TrialValue]]
_Tried = tuple[LevelEffect, PairedRatio]
_WORKLOAD = "workload"


def level_effects(
    trials: Iterable[TrialValue], factors: Mapping[str, Sequence[str]], metrics: Mapping[str, str]
) -> list[LevelEffect]:
    """The effect of every level beside the first measured level of its factor.

    Parameters
    ----------
    trials : iterable of TrialValue
        Of the reference those alone that stand in for a repeat (`drivelab.analyse.run_answer.stand_ins`).
    factors : mapping of str to sequence of str
        Levels of every factor in the order of the experiment's file; the first
        one that was measured is the baseline.
    metrics : mapping of str to str
        Name of the metric that the values of each workload are.

    Returns
    -------
    list of LevelEffect
        By target and workload, in the order of the file. A level that was never
        measured beside the baseline, all other factors alike, has none.

    Notes
    -----
    In each block the logarithms of level over baseline are averaged over all
    combinations of the other factors that have both: in a one-at-a-time design
    that is one, in a full one it is the main effect. A factor that a combination
    does not have (mount options on the bare drive) counts as its first level
    there. A block that was measured in two sessions is two. The ratio is the
    geometric mean over blocks, its 95 % interval and p-value as of
    `paired_ratios`: scatter is moderated over all levels of the workload on the
    target. A level that was found set already, beside the same left as found,
    is no change, nor is one that was refused: what they do widens all
    intervals.

    *matters*: the whole interval lies beyond `MATTERS_FROM`, either way, and no
    effect at all is refused at 5 % after Holm's correction for the number of
    levels that were tried on the target. *differs*: the latter only, and the
    interval reaches below that threshold. *no effect*: the interval lies within
    the threshold on both sides. *not judged*: some of its trials do not describe
    the drive, or had another level than the one asked for. Anything else is not settled, and its interval is
    as wide as the correction makes it.

    A setting that was left as found is one level only as long as it was found
    the same. Where it was not, the blocks with the value that most of them have
    are compared, and the effect has a note.
    """
    found = [_with_intervals(_effects(members, factors, metrics, _beside_first)) for members in _groups(trials)]
    return _judged(found)


def level_pairs(
    trials: Iterable[TrialValue], factors: Mapping[str, Sequence[str]], metrics: Mapping[str, str]
) -> list[LevelEffect]:
    """The effect of every level beside each other one that is not the first of its factor: xfs beside ext4.

    Parameters and order are those of `level_effects`. Levels that are numbers
    have an order and no pairs.

    Returns
    -------
    list of LevelEffect
        Judged as the effects are, and a family of their own: Holm's correction is for the number of pairs on the
        target.

    Notes
    -----
    A factor of three levels has one pair, which three blocks alone would not
    tell from chance: scatter is moderated over effects and pairs together.
    """
    found = []
    for members in _groups(trials):
        effects = _effects(members, factors, metrics, _beside_first)
        pairs = _effects(members, factors, metrics, _beside_each_other)
        found.append(_with_intervals([*effects, *pairs])[len(effects) :])
    return _judged(found)


def overall_effects(
    trials: Iterable[TrialValue], factors: Mapping[str, Sequence[str]], metrics: Mapping[str, str]
) -> list[LevelEffect]:
    """The effect of every level beside each one before it over all workloads: which of several is the fastest.

    Parameters are those of `level_effects`. Levels that are numbers have no
    effects, nor is anything told of a single workload.

    Returns
    -------
    list of LevelEffect
        By target, named after no workload; `combination_count` is that of the workloads and other levels behind it.

    Notes
    -----
    A workload counts as a factor of a full design, so the ratio is the geometric
    mean over the workloads of a block, and its scatter that between blocks. Each
    counts the same, and a latency as the rate that it allows. What does not
    describe the drive is left out on all levels.
    """
    valid = [trial for trial in trials if not trial.is_invalid]
    workloads = list(dict.fromkeys(trial.workload for trial in valid))
    if len(workloads) < 2:
        return []
    together = [_of_all_workloads(trial, metrics[trial.workload]) for trial in valid]
    by_factor = {_WORKLOAD: workloads, **factors}
    found = []
    for members in _groups(together):
        effects = _effects(members, by_factor, {"": RATE}, _each_beside_each)
        found.append(_with_intervals([one for one in effects if one.factor != _WORKLOAD]))
    return _judged(found)


def _of_all_workloads(trial: TrialValue, metric: str) -> TrialValue:
    """The trial as a rate, its workload one of its levels; commands of one workload say nothing of another."""
    rate = 1 / trial.value if metric_of(metric).better == "low" else trial.value
    levels = {_WORKLOAD: trial.workload, **trial.levels}
    return replace(trial, workload="", levels=levels, commands={}, value=rate)


def _groups(trials: Iterable[TrialValue]) -> list[list[TrialValue]]:
    """Trials of one workload on one target."""
    groups: dict[tuple[str, str], list[TrialValue]] = {}
    for trial in trials:
        groups.setdefault((trial.target, trial.workload), []).append(trial)
    return list(groups.values())


def _beside_first(levels: Sequence[str]) -> list[tuple[str, str]]:
    return [(levels[0], level) for level in levels[1:]]


def _each_beside_each(levels: Sequence[str]) -> list[tuple[str, str]]:
    return [] if all(map(is_quantity, levels)) else list(combinations(levels, 2))


def _beside_each_other(levels: Sequence[str]) -> list[tuple[str, str]]:
    return [(one, other) for one, other in _each_beside_each(levels) if one != levels[0]]


def _effects(
    trials: Sequence[TrialValue], factors: Mapping[str, Sequence[str]], metrics: Mapping[str, str], compared: Compared
) -> list[LevelEffect]:
    """Effects of one workload on one target, without intervals yet."""
    metric = metrics[trials[0].workload]
    return [
        effect
        for factor, order in factors.items()
        for effect in _effects_of_factor(trials, factor, order, factors, metric, compared)
    ]


def _judged(groups: Iterable[Sequence[_Tried]]) -> list[LevelEffect]:
    by_target: dict[str, list[_Tried]] = {}
    for one in (one for tried in groups for one in tried):
        by_target.setdefault(one[0].target, []).append(one)
    return [effect for tried in by_target.values() for effect in _corrected(tried)]


def _effects_of_factor(
    trials: Sequence[TrialValue],
    factor: str,
    order: Sequence[str],
    factors: Mapping[str, Sequence[str]],
    metric: str,
    compared: Compared,
) -> list[LevelEffect]:
    measured = {trial.levels[factor] for trial in trials if factor in trial.levels}
    levels = [level for level in order if level in measured]
    if len(levels) < 2:
        return []
    others = {name: known[0] for name, known in factors.items() if name != factor and known}
    by_level: dict[str, Cells] = {level: {} for level in levels}
    for trial in trials:
        level = trial.levels.get(factor, "")
        # a level that the file does not name cannot be put in order, and is left out
        if level in by_level:
            key = tuple((name, trial.levels.get(name, first)) for name, first in others.items())
            by_level[level].setdefault((key, (trial.block, trial.session)), []).append(trial)
    found = []
    for first, level in compared(levels):
        baseline = by_level[first]
        keys = [key for key in by_level[level] if key in baseline]
        alike, note = _found_alike(keys, factor, by_level[level], baseline)
        pairs = _balanced(alike)
        if pairs:
            effect = _effect(level, first, factor, metric, pairs, by_level[level], baseline)
            split = split_blocks(by_level[level], baseline, pairs)
            notes = [note or _too_few_note(first, baseline, trials), left_out_note(factor, level, alike, pairs, split)]
            found.append(replace(effect, note="; ".join(filter(None, notes)), split_blocks=split))
    return found


def _too_few_note(first: str, baseline: Cells, trials: Sequence[TrialValue]) -> str:
    """That it is the baseline that left no intervals, where the levels would have had them."""
    measured = len({number for _, (number, _) in baseline})
    blocks = len({trial.block for trial in trials})
    if measured >= BLOCKS_MIN or blocks < BLOCKS_MIN:
        return ""
    return f"{first} was measured in {measured} of {blocks} blocks, and intervals need {BLOCKS_MIN}"


def _found_alike(keys: Sequence[Key], factor: str, at_level: Cells, at_baseline: Cells) -> tuple[list[Key], str]:
    """The pairs in which what was left as found was most often the same, and which others there are."""
    groups: dict[tuple[str, ...], list[Key]] = {}
    for key in keys:
        values = {one.found[factor] for one in (*at_level[key], *at_baseline[key]) if factor in one.found}
        groups.setdefault(tuple(sorted(values)), []).append(key)
    if len(groups) < 2:
        return list(keys), ""
    most = max(groups, key=lambda values: len(groups[values]))
    left = [" and ".join(values) or "unknown" for values in groups if values != most]
    blocks = len({block for _, block in groups[most]})
    note = (
        f"{factor} was found as {' and '.join(most) or 'unknown'} in {blocks} {'block' if blocks == 1 else 'blocks'} "
        f"and as {', '.join(left)} in others: only the former are compared"
    )
    return groups[most], note


def _balanced(pairs: Sequence[Key]) -> dict[Block, list[Levels]]:
    """Combinations of the other factors by block, the same ones in every block.

    Where some are missing, either the blocks or the combinations that are not
    complete are left out, whichever leaves more: an average over other
    combinations in other blocks would mix up their own differences.
    """
    blocks: dict[Block, list[Levels]] = {}
    for combination, block in pairs:
        blocks.setdefault(block, []).append(combination)
    if not blocks:
        return {}
    everywhere = set.intersection(*(set(members) for members in blocks.values()))
    all_of_them = {combination for members in blocks.values() for combination in members}
    whole = {block for block, members in blocks.items() if len(members) == len(all_of_them)}
    if len(whole) * len(all_of_them) > len(blocks) * len(everywhere):
        return {block: blocks[block] for block in sorted(whole)}
    if not everywhere:
        return {}
    return {block: [one for one in blocks[block] if one in everywhere] for block in sorted(blocks)}


def _effect(
    level: str,
    baseline: str,
    factor: str,
    metric: str,
    pairs: Mapping[Block, Sequence[Levels]],
    at_level: Cells,
    at_baseline: Cells,
) -> LevelEffect:
    logarithms = [
        fmean(_logarithm(at_level[one, block]) - _logarithm(at_baseline[one, block]) for one in combinations)
        for block, combinations in pairs.items()
    ]
    keys = [(one, block) for block, combinations in pairs.items() for one in combinations]
    first = at_level[keys[0]][0]
    of_baseline = [trial for key in keys for trial in at_baseline[key]]
    of_level = [trial for key in keys for trial in at_level[key]]
    invalid = sum(trial.is_invalid for trial in (*of_baseline, *of_level))
    refused = sorted({trial.refused[factor] for trial in (*of_baseline, *of_level) if factor in trial.refused})
    set_to = {trial.set_to(factor) for trial in (*of_baseline, *of_level)}
    return LevelEffect(
        target=first.target,
        workload=first.workload,
        factor=factor,
        level=level,
        baseline=baseline,
        metric=metric,
        ratio=Estimate(None, None, None, "1", 0, 0.0, ""),
        block_ratios=tuple(math.exp(one) for one in logarithms),
        verdict="not judged" if invalid or refused else "not settled",
        bound=round(MATTERS_FROM - 1, 6),
        p_value=None,
        adjusted_p_value=None,
        combination_count=len({one for one, _ in keys}),
        commands=command_changes([trial.commands for trial in of_baseline], [trial.commands for trial in of_level]),
        trial_count=len(of_baseline) + len(of_level),
        invalid_trials=invalid,
        blocks=tuple(block for block, _ in pairs),
        block_baselines=tuple(
            math.exp(fmean(_logarithm(at_baseline[one, block]) for one in combinations))
            for block, combinations in pairs.items()
        ),
        refused_for=" or ".join(refused),
        is_unchanged=len(set_to) == 1,
    )


def _with_intervals(effects: Sequence[LevelEffect]) -> list[_Tried]:
    """The effects of one workload on one target with their ratios; what is invalid lends nothing to the others."""
    found: dict[int, PairedRatio] = {}
    for is_valid in (True, False):
        places = [place for place, effect in enumerate(effects) if (not effect.invalid_trials) is is_valid]
        groups = [places] if is_valid else [[place] for place in places]
        for group in groups:
            found |= dict(zip(group, paired_ratios([_paired(effects[place]) for place in group]), strict=True))
    return [(_with_ratio(effect, found[place]), found[place]) for place, effect in enumerate(effects)]


def _paired(effect: LevelEffect) -> Paired:
    logarithms = tuple(math.log(ratio) for ratio in effect.block_ratios)
    return Paired(logarithms, effect.combination_count, effect.is_unchanged)


def _with_ratio(effect: LevelEffect, found: PairedRatio) -> LevelEffect:
    note = effect.note
    if found.unchanged_error > _UNCHANGED_TOLD:
        off = f"{100 * math.expm1(found.unchanged_error):.0f} %"
        more = f"levels that changed nothing are {off} off, which is in all intervals"
        note = f"{note}; {more}" if note else more
    p_value = None if effect.verdict == "not judged" else found.p_value
    return replace(effect, ratio=found.ratio, p_value=p_value, note=note)


def _logarithm(trials: Sequence[TrialValue]) -> float:
    return fmean(math.log(trial.value) for trial in trials)


def _corrected(tried: Sequence[_Tried]) -> list[LevelEffect]:
    """The effects of one target with their verdicts, corrected for how many were tried.

    An interval that the correction leaves unsettled is as wide as the correction makes it.
    """
    tested = [effect for effect, _ in tried if effect.p_value is not None]
    p_values = [effect.p_value or 0.0 for effect in tested]
    adjusted = dict(zip(map(id, tested), holm(p_values), strict=True))
    levels = dict(zip(map(id, tested), holm_levels(p_values, SIGNIFICANCE), strict=True))
    found = []
    for effect, paired in tried:
        verdict = _verdict(effect, adjusted.get(id(effect)))
        changes: dict[str, object] = {"adjusted_p_value": adjusted.get(id(effect)), "verdict": verdict}
        if verdict == "not settled":
            level = levels.get(id(effect), SIGNIFICANCE)
            changes["ratio"] = paired.at_level(level)
            changes["blocks_to_show_20_percent"] = paired.blocks_to_show(1.2, level)
            changes["blocks_to_show_factor_2"] = paired.blocks_to_show(2.0, level)
        found.append(replace(effect, **changes))  # type: ignore[arg-type]
    return found


def _verdict(effect: LevelEffect, adjusted_p_value: float | None) -> EffectVerdict:
    ratio = effect.ratio
    if effect.verdict == "not judged":
        return "not judged"
    if adjusted_p_value is None or ratio.low is None or ratio.high is None:
        return "not settled"
    if ratio.low >= 1 / MATTERS_FROM and ratio.high <= MATTERS_FROM:
        return "no effect"
    # the interval has fewer degrees of freedom than the p-value: what it holds cannot be told apart from it
    if adjusted_p_value > SIGNIFICANCE or ratio.low <= 1 <= ratio.high:
        return "not settled"
    return "matters" if ratio.low >= MATTERS_FROM or ratio.high <= 1 / MATTERS_FROM else "differs"
