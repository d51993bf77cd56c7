"""Which level of a factor is the fastest over all workloads together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.level_words import level_text, levels_phrase
from drivelab.model.names import either_in_words
from drivelab.model.run_answer import LevelEffect
from drivelab.report.numerals import number_text
from drivelab.report.sentences.effect_words import is_of_a_size, ratio_change, than_words

# "xfs, ext3 or btrfs"; of more the number is told
_NAMED_MAX = 3
# a bound is told as a factor from here on, below it in per cent
_TIMES_FROM = 2.0


def overall_sentences(overall: Sequence[LevelEffect], factor: str) -> Iterator[str]:
    """How far the fastest level is ahead of the next one that is apart from it; at most a sentence.

    Parameters
    ----------
    overall : sequence of LevelEffect
        Of every pair of levels on one target (`drivelab.analyse.effects.overall_effects`).
    factor : str
        The one that is asked about.

    Notes
    -----
    Nothing is told where there are too few repeats for an interval.
    """
    effects = [one for one in overall if one.factor == factor and one.verdict != "not judged"]
    if not effects or any(one.ratio.low is None for one in effects):
        return
    leader, *others = _fastest_first(effects)
    ahead = {_other(one, leader): one for one in effects if leader in (one.level, one.baseline)}
    behind = [level for level in others if level in ahead and is_of_a_size(ahead[level])]
    level_with = [level for level in others if level not in behind]
    where = f"On average over all {effects[0].combination_count} workloads"
    if not behind:
        widest = max(effects, key=_bound)
        both = " and ".join(level_text(factor, level) for level in (widest.baseline, widest.level))
        told = f"{where} no {factor.replace('_', ' ')} is clearly faster"
        yield f"{told} ({both} differ by at most {_bound_words(_bound(widest))})."
        return
    nearest = ahead[behind[0]]
    # of the baseline beside the level more is slower
    change = ratio_change(nearest.ratio, is_more_slower=nearest.level != leader, is_span_alone=True)
    told = f"{where} {levels_phrase({factor: leader})} is {change} {than_words(change)} {level_text(factor, behind[0])}"
    if level_with:
        yield f"{told}, and not apart from {_named(level_with, factor)}."
    else:
        yield f"{told}, the next."


def _fastest_first(effects: Sequence[LevelEffect]) -> list[str]:
    """The levels by their geometric mean."""
    first = effects[0].baseline
    speeds = {first: 1.0} | {one.level: one.ratio.value or 1.0 for one in effects if one.baseline == first}
    return sorted(speeds, key=lambda level: -speeds[level])


def _other(effect: LevelEffect, leader: str) -> str:
    return effect.baseline if effect.level == leader else effect.level


def _bound(effect: LevelEffect) -> float:
    """By which factor two levels differ at most."""
    return max(end if end > 1 else 1 / end for end in (effect.ratio.low, effect.ratio.high) if end)


def _bound_words(bound: float) -> str:
    return f"a factor of {number_text(bound, 2)}" if bound >= _TIMES_FROM else f"{100 * (bound - 1):.0f}\u00a0%"


def _named(levels: Sequence[str], factor: str) -> str:
    if len(levels) > _NAMED_MAX:
        return f"{len(levels)} others"
    return either_in_words([level_text(factor, level) for level in levels])
