"""The words of the table of effects, the same in a terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import geometric_mean, median

from drivelab.model.estimate import Estimate
from drivelab.model.finding import trials_of
from drivelab.model.level_words import level_text
from drivelab.model.metric import metric_of
from drivelab.model.names import counted_of, in_number, names_in_words
from drivelab.model.operations_apart import plural
from drivelab.model.run_answer import CombinationResult, CommandChange, LevelEffect, RunAnswer
from drivelab.report.combination_labels import level_words
from drivelab.report.numerals import THIN_SPACE, number_text
from drivelab.report.sentences.contest import DIFFERS_FROM

# with so few, Student's t and the correction for several levels leave hardly anything settled
FEW_BLOCKS_MAX = 4
# a baseline this many times the median of all blocks pulls every ratio with it
OUTLYING_FROM = 3.0
# a smaller change is told in per cent
TIMES_FROM = 2.0
TIMES_AS = "times as"
_BLOCKS_FOR_OUTLYING_MIN = 4


def effects_title(effects: Sequence[LevelEffect], answer: RunAnswer) -> str:
    """What the effects of one workload on one target are about."""
    first = effects[0]
    member = next((one for one in answer.combinations if one.workload == first.workload), None)
    label = f"{member.label}{main_operation(answer, member)}" if member else first.workload
    is_averaged = any(effect.combination_count > 1 for effect in effects)
    over = ", averaged over all combinations of the other factors" if is_averaged else ""
    return f"What changes {label} on {first.target}: {metric_of(first.metric).words}, level over baseline{over}"


def main_operation(answer: RunAnswer, member: CombinationResult) -> str:
    """The operation of a mix that its latency is of: ``, reads``; empty where nothing is mixed."""
    judged = member.metrics.get(member.judged_metric) if "latency" in member.judged_metric else None
    place = (member.target, member.workload, member.levels)
    for one in answer.apart if judged else ():
        is_it = (one.target, one.workload, one.levels) == place and one.metrics.get(member.judged_metric) == judged
        if is_it and one.operation:
            return f", {plural(one.operation)}"
    return ""


def repeats_in_words(effects: Sequence[LevelEffect]) -> str:
    """How many repeats are compared, and where a pause of the run divides others, why those are not."""
    compared = max(len(effect.block_ratios) for effect in effects)
    split = max(len(effect.split_blocks) for effect in effects)
    of = f"{compared} of {compared + split}" if split else str(compared)
    why = f" ({split} {in_number(split, 'were')} cut off and went on later)" if split else ""
    return f"{of} {'repeat' if compared + split == 1 else 'repeats'}{why}"


def effects_notes(effects: Sequence[LevelEffect], every: Sequence[LevelEffect] = ()) -> list[str]:
    """How the numbers of a table of effects came about, and what they do not say.

    Parameters
    ----------
    effects : sequence of LevelEffect
        Those of the table.
    every : sequence of LevelEffect, optional
        All of the run, where the table has not all: the correction is for how many were tried on the target.
    """
    blocks = _blocks(sorted({effect.ratio.sample_count for effect in effects}))
    judged = [effect for effect in effects if not (effect.invalid_trials or effect.refused_for)]
    tested = sum(effect.p_value is not None for effect in judged)
    notes = [*_invalid_notes(effects), *_refused_notes(effects)]
    notes += dict.fromkeys(f"{effect.note}." for effect in effects if effect.note)
    notes += _split_notes(effects)
    notes += _outlying_notes(effects)
    if not judged:
        return notes
    if not tested:
        few = f"{blocks.capitalize()}: too few for an interval, so nothing is settled. The ratios are what was seen; "
        return [*notes, f"{few}repeat it, at full size."]
    bound = f"{100 * effects[0].bound:.0f} %"
    tried = sum(one.p_value is not None for one in every or effects if one.target == judged[0].target)
    levels = f"{tried} {'level' if tried == 1 else 'levels'}"
    notes.append(
        f"Geometric mean of the ratios within {blocks}. Matters: the whole interval is {bound} or more away from 1, "
        f"and not by chance, corrected for {levels} tried (Holm); differs: perhaps by less than {bound}. The "
        "interval of what is not settled is as wide as that correction makes it; others are for each level alone."
    )
    is_open = any(effect.verdict == "not settled" for effect in effects)
    if is_open and max(effect.ratio.sample_count for effect in effects) <= FEW_BLOCKS_MAX:
        notes.append("So few blocks settle little: repeat it at full size.")
    if tested < len(judged):
        notes.append(
            f"{counted_of(len(judged) - tested, len(judged), 'level', 'were')} measured in too few blocks to be judged."
        )
    return notes


def _outlying_notes(effects: Sequence[LevelEffect]) -> list[str]:
    """That one block's baseline is far from those of the others, and what the ratios are without that block."""
    factors: dict[tuple[int, float], list[LevelEffect]] = {}
    for effect in effects:
        far = _outlying_block(effect)
        if far is not None:
            factors.setdefault(far, []).append(effect)
    return [
        (
            f"The baseline of block {block} is {number_text(size, 2)} times its median: ratios without that block: "
            f"{', '.join(_without(effect, block) for effect in members)}."
        )
        for (block, size), members in factors.items()
    ]


def _outlying_block(effect: LevelEffect) -> tuple[int, float] | None:
    """The one block whose baseline is far from the median, and how many times it is."""
    if len(effect.block_baselines) < _BLOCKS_FOR_OUTLYING_MIN:
        return None
    middle = median(effect.block_baselines)
    sizes = [value / middle for value in effect.block_baselines]
    far = [place for place, size in enumerate(sizes) if max(size, 1 / size) >= OUTLYING_FROM]
    return (effect.blocks[far[0]], sizes[far[0]]) if len(far) == 1 else None


def _without(effect: LevelEffect, block: int) -> str:
    kept = [ratio for ratio, at in zip(effect.block_ratios, effect.blocks, strict=True) if at != block]
    return f"{effect.factor} {level_text(effect.factor, effect.level)} {ratio_words(geometric_mean(kept))}"


def _invalid_notes(effects: Sequence[LevelEffect]) -> list[str]:
    """Of which levels some trials do not describe the drive."""
    return [
        (
            f"{effect.factor} {level_text(effect.factor, effect.level)}: "
            f"{trials_of(effect.invalid_trials, effect.trial_count, 'do not')} describe the drive, those of the "
            "baseline included; see the findings."
        )
        for effect in effects
        if effect.invalid_trials
    ]


def _refused_notes(effects: Sequence[LevelEffect]) -> list[str]:
    """Which levels were not taken, and what was read back."""
    return [
        (
            f"{effect.factor} {level_text(effect.factor, effect.level)} was not taken: "
            f"{level_text(effect.factor, effect.refused_for)} was read back."
        )
        for effect in effects
        if effect.refused_for
    ]


def _split_notes(effects: Sequence[LevelEffect]) -> list[str]:
    """Which repeats a pause of the run divides."""
    split = sorted({block for effect in effects for block in effect.split_blocks})
    if not split:
        return []
    which = f"{in_number(len(split), 'repeat')} {names_in_words([str(block) for block in split])}"
    were = f"{which.capitalize()} {in_number(len(split), 'were')} cut off and went on later"
    return [f"{were}: levels are compared only where both were measured without a pause between."]


def verdict_words(effect: LevelEffect) -> str:
    """The verdict in the narrow column of a terminal."""
    bound = f"{100 * effect.bound:.0f} %"
    short = {
        "no effect": f"less than {bound}",
        "differs": f"differs: {'slower' if effect.is_slower else 'faster'}",
        "not judged": "not taken" if effect.refused_for else f"{effect.invalid_trials} of {effect.trial_count} invalid",
    }
    return short.get(effect.verdict, effect.verdict_text)


def _blocks(counts: Sequence[int]) -> str:
    span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{span} {'block' if counts[-1] == 1 else 'blocks'}"


def change_size(effect: LevelEffect) -> float:
    """How many times the level is the baseline, or the baseline the level: 1 or more."""
    value = effect.ratio.value or 1.0
    return max(value, 1 / value)


def is_of_a_size(effect: LevelEffect) -> bool:
    """Whether a change was shown that is more than a few per cent: a smaller one is none that matters."""
    return effect.verdict == "matters" or (effect.verdict == "differs" and change_size(effect) >= DIFFERS_FROM)


def change_words(effect: LevelEffect) -> str:
    """How much slower or faster: ``3.2 times as fast``, ``12 % slower``, ``0.3 % slower``."""
    ratio = replace(effect.ratio, low=None, high=None)
    return ratio_change(ratio, is_more_slower="latency" in effect.metric)


def change_between(new: float, base: float, *, is_more_slower: bool) -> str:
    """How much slower or faster one number is than another, of which no interval is told: ``12 % slower``."""
    return ratio_change(Estimate(new / base, None, None, "1", 1, 1.0, ""), is_more_slower=is_more_slower)


def ratio_change(ratio: Estimate, *, is_more_slower: bool, is_span_alone: bool = False) -> str:
    """A change for people, with its interval: ``9.2 times as fast (8.7 to 9.8)``, ``12 % slower (3.0 to 21)``.

    Parameters
    ----------
    ratio : Estimate
        Level over baseline.
    is_more_slower : bool
        Whether a ratio above 1 is the worse one, as with latencies.
    is_span_alone : bool
        Whether the interval stands for the ratio, ``8.7 to 9.8 times as fast``: of a ratio within blocks, which is
        not that of the medians that stand beside it.

    Notes
    -----
    What is slower takes so much longer, or is a rate so much lower: half of a rate is 50 % slower, not 100 %.
    """
    value, low, high = ratio.value or 1.0, ratio.low, ratio.high
    if low is not None and high is not None and low <= 1 <= high:
        return f"no difference shown (ratio {number_text(low)} to {number_text(high)})"
    if value < 1:
        value, low, high = 1 / value, None if high is None else 1 / high, None if low is None else 1 / low
    word = "slower" if ((ratio.value or 1.0) > 1) == is_more_slower else "faster"
    is_times = value >= TIMES_FROM
    is_lower = word == "slower" and not is_more_slower
    sizes = [one for one in (value, low, high) if one is not None]
    numbers = [number_text(one, 2) if is_times else _percent(1 - 1 / one if is_lower else one - 1) for one in sizes]
    change = times_words(word) if is_times else f"% {word}"
    if is_span_alone and len(numbers) == 3:
        return f"{_span(numbers[1], numbers[2])} {change}"
    span = f" ({numbers[1]} to {numbers[2]})" if len(numbers) == 3 else ""
    return f"{numbers[0]} {change}{span}"


def times_words(word: str) -> str:
    """``times as fast``: what stands behind a factor, where per cent are told with `word`, ``faster`` or ``slower``."""
    return f"{TIMES_AS} {word.removesuffix('er')}"


def than_words(change: str) -> str:
    """What comes before that which is compared with: ``2 times as fast as``, ``12 % faster than``."""
    return "as" if TIMES_AS in change else "than"


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _percent(share: float) -> str:
    """A share of 0.12: ``12``; of less than 1 % with one digit, that it is not mistaken for none."""
    percent = 100 * share
    return f"{percent:.0f}" if abs(percent) >= 1 else number_text(percent, 1)


def ratio_words(value: float | None) -> str:
    """A ratio with three digits; a dash where there is none."""
    return "-" if value is None else number_text(value).replace(THIN_SPACE, " ")


def interval_words(effect: LevelEffect) -> str:
    """The interval of the ratio; without one, the ratios that were seen."""
    ratio = effect.ratio
    if ratio.low is not None and ratio.high is not None:
        return f"{ratio_words(ratio.low)} to {ratio_words(ratio.high)}"
    seen = [ratio_words(value) for value in effect.block_ratios]
    return f"seen {', '.join(seen)}" if len(seen) > 1 else "one block"


def baseline_words(effect: LevelEffect, answer: RunAnswer) -> str:
    """The level that the effect is measured against, with what it was where it was left as found."""
    return _words_of_level(effect, effect.baseline, answer)


def level_of_effect_words(effect: LevelEffect, answer: RunAnswer) -> str:
    """The level itself, with what was read back where it was not taken."""
    return _words_of_level(effect, effect.level, answer)


def _words_of_level(effect: LevelEffect, level: str, answer: RunAnswer) -> str:
    found = [
        level_words(one, effect.factor)
        for one in answer.combinations
        if (one.target, one.workload) == (effect.target, effect.workload) and one.levels.get(effect.factor) == level
    ]
    # the longest tells what was read back
    return max(found, key=len, default=level_text(effect.factor, level))


def commands_words(effect: LevelEffect) -> str:
    """Which commands per operation changed: ``flushes 2 -> 0``; ``same`` when none did."""
    changed = [command_words(change).replace(":", "", 1) for change in effect.commands if change.is_changed]
    if changed:
        return ", ".join(changed)
    return "same" if effect.commands else "not counted"


def _count(bounds: tuple[float, float]) -> str:
    low, high = (f"{end:.2f}".rstrip("0").rstrip(".") for end in bounds)
    return low if low == high else f"{low} to {high}"


def command_words(change: CommandChange) -> str:
    """One kind of command at both levels, for people."""
    return f"{metric_of(change.metric).words}: {_count(change.baseline)} -> {_count(change.level)}"


def combinations_beside(effect: LevelEffect, combinations: Sequence[CombinationResult]) -> list[tuple[float, float]]:
    """The judged number at the baseline and at the level, of every two combinations that are alike otherwise."""
    here = (effect.target, effect.workload)
    members = [one for one in combinations if (one.target, one.workload) == here and effect.metric in one.metrics]
    first: dict[str, str] = {}
    for one in members:
        for name, level in one.levels.items():
            first.setdefault(name, level)

    def others(one: CombinationResult) -> tuple[str, ...]:
        # a factor that a combination does not have counts as its first level
        return tuple(one.levels.get(name, level) for name, level in first.items() if name != effect.factor)

    at_baseline, at_level = (
        {others(one): one.metrics[effect.metric].median for one in members if one.levels.get(effect.factor) == level}
        for level in (effect.baseline, effect.level)
    )
    return [(at_baseline[key], value) for key, value in at_level.items() if key in at_baseline]
