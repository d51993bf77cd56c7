"""What each level does, and where factors change each other's effects: ratios with intervals, on one axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from drivelab.model.estimate import Estimate
from drivelab.model.factorial import Factorial, Interaction
from drivelab.model.level_words import level_text, with_factor
from drivelab.model.metric import metric_of
from drivelab.model.run_answer import LevelEffect, RunAnswer
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure
from drivelab.report.figures.ratio_rows import (
    PLOTS_AT_MOST,
    ROWS_PER_PLOT,
    RatioRow,
    ends_of_rows,
    pieces_of,
    ratio_plot,
)
from drivelab.report.numerals import number_text
from drivelab.report.sentences.effect_words import commands_words, effects_title, interval_words, ratio_words

_AXES = ("level over baseline", "level")
# symbol and colour of each verdict: no meaning hangs on colour alone
_MARKS = {
    "matters": ("circle", theme.VERMILLION),
    "differs": ("circle-open", theme.VERMILLION),
    "no effect": ("square-open", theme.BLUE),
    "not settled": ("diamond-open", theme.MUTED),
    "not judged": ("x-thin-open", theme.MUTED),
}
# what counts as no interaction is what counts as no effect
_BOUND = 0.05
_COUNTS = ("trial_count", "invalid_trials")
CAPTION = (
    "Level over baseline, paired within blocks. Whiskers are 95\u00a0% intervals; the grey band is what counts as no "
    "effect. A level matters when its whole interval lies outside the band and it is not by chance, corrected for "
    "the number of levels tried. A level without whiskers was measured in too few blocks; one that is not judged was "
    "not taken, or has trials that do not describe it."
)
INTERACTIONS_CAPTION = (
    "Below them, where factors were varied together: a level's effect at one level of another factor over its effect "
    "at the first level of that factor; 1 where the one does not change the other."
)


def effects_overview(answer: RunAnswer) -> Figure | None:
    """The effects of all levels, and below them what one factor does to another's effect; None when there are none.

    Parameters
    ----------
    answer : RunAnswer
        Effects of an experiment that does not ask for them are drawn where
        factors were varied together.
    """
    settled = [one for one in answer.factorials if any(pair.ratio.low is not None for pair in one.interactions)]
    shown = answer.effects or (answer.contrasts if settled else ())
    groups: dict[tuple[str, str], list[LevelEffect]] = {}
    for effect in shown:
        if effect.ratio.value is not None:
            groups.setdefault((effect.target, effect.workload), []).append(effect)
    drawings = [
        (effects_title(members, answer), [_row_of_effect(effect) for effect in members]) for members in groups.values()
    ]
    metrics = {(effect.target, effect.workload): effect.metric for effect in shown}
    told = [one for one in settled if one.metric == metrics.get((one.target, one.workload), one.metric)]
    drawings += [(_interactions_title(one, answer), rows) for one in told if (rows := _interaction_rows(one))]
    pieces = pieces_of(drawings)
    if not pieces:
        return None
    caption = CAPTION + (f" {INTERACTIONS_CAPTION}" if any(one.interactions for one in told) else "")
    ends = ends_of_rows(row for _, rows in drawings for row in rows)
    return Figure(
        key="effects-overview",
        title="What each level changes",
        caption=caption + theme.shown_words(PLOTS_AT_MOST, len(pieces)),
        plots=tuple(ratio_plot(rows, title, ends, _MARKS, axes=_AXES) for title, rows in pieces[:PLOTS_AT_MOST]),
        table=_table([effect for members in groups.values() for effect in members], told),
    )


def _interactions_title(one: Factorial, answer: RunAnswer) -> str:
    labels = {each.workload: each.label for each in answer.combinations}
    return (
        f"Where one factor changes what another does to {labels.get(one.workload, one.workload)} on {one.target}: "
        f"{metric_of(one.metric).words}, effect at the level over effect at the first level"
    )


def _interaction_rows(one: Factorial) -> list[RatioRow]:
    """The largest interactions first, as many as one drawing holds."""
    largest = sorted(one.interactions, key=lambda pair: -abs(math.log(pair.ratio.value or 1.0)))
    return [_row_of_pair(pair) for pair in largest[:ROWS_PER_PLOT]]


def _row_of_effect(effect: LevelEffect) -> RatioRow:
    changed = f" · {commands_words(effect)}".replace("->", "→") if effect.commands_changed else ""
    taken = " · not taken" if effect.refused_for else ""
    label = f"{with_factor(effect.factor, level_text(effect.factor, effect.level))}{taken}{changed}"
    return _row(label, _hover(effect), effect.ratio, effect.verdict, effect.bound)


def _row_of_pair(pair: Interaction) -> RatioRow:
    effect = with_factor(pair.factor, level_text(pair.factor, pair.level))
    levels = [with_factor(pair.other_factor, level_text(pair.other_factor, each)) for each in _other_levels(pair)]
    ratio = pair.ratio
    span = "" if ratio.low is None else f" ({ratio_words(ratio.low)} to {ratio_words(ratio.high)})"
    hover = (
        f"{theme.escaped(f'{effect} over {pair.baseline}')}<br>"
        f"{theme.escaped(levels[0])}: {ratio_words(pair.at_other_baseline.value)}<br>"
        f"{theme.escaped(levels[1])}: {ratio_words(pair.at_other_level.value)}<br>"
        f"<b>{ratio_words(ratio.value)}</b>{span}: {pair.verdict}"
    )
    return _row(f"{effect} at {levels[1]}, over that at {levels[0]}", hover, ratio, pair.verdict, _BOUND)


def _row(label: str, hover: str, ratio: Estimate, verdict: str, bound: float) -> RatioRow:
    words = f"no effect of {100 * bound:.0f} % or more" if verdict == "no effect" else verdict
    return RatioRow(label, hover, ratio, verdict, words, bound)


def _other_levels(pair: Interaction) -> tuple[str, str]:
    return pair.other_baseline, pair.other_level


def _hover(effect: LevelEffect) -> str:
    blocks = len(effect.block_ratios)
    return (
        f"{theme.escaped(f'{effect.factor} {effect.level} over {effect.baseline}')}<br>"
        f"<b>{number_text(effect.ratio.value or 0)}</b>: {effect.verdict_text}<br>"
        f"{theme.escaped(interval_words(effect))} ({blocks} {'block' if blocks == 1 else 'blocks'})<br>"
        f"commands per operation: {theme.escaped(commands_words(effect))}"
    )


def _table(effects: Sequence[LevelEffect], factorials: Sequence[Factorial]) -> DataTable:
    columns = ("target", "workload", "factor", "level", "baseline", "metric", "ratio", "ratio_low", "ratio_high")
    rows: list[list[Cell]] = [
        [
            *(effect.target, effect.workload, effect.factor, effect.level, effect.baseline, effect.metric),
            *(_rounded(end) for end in (effect.ratio.value, effect.ratio.low, effect.ratio.high)),
            *(_rounded(effect.p_value), _rounded(effect.adjusted_p_value)),
            *(len(effect.block_ratios), effect.verdict, commands_words(effect)),
            *(effect.trial_count, effect.invalid_trials),
        ]
        for effect in effects
    ]
    rows += (row for one in factorials for row in _pair_rows(one))
    return DataTable((*columns, "p_value", "adjusted_p_value", "block_count", "verdict", "commands", *_COUNTS), rows)


def _pair_rows(one: Factorial) -> Iterator[list[Cell]]:
    """Interactions in the columns of effects: level and baseline are those of the other factor."""
    for pair in one.interactions:
        factor = f"{pair.factor} {pair.level} over {pair.baseline}, by {pair.other_factor}"
        yield [
            *(one.target, one.workload, factor, pair.other_level, pair.other_baseline, one.metric),
            *(_rounded(end) for end in (pair.ratio.value, pair.ratio.low, pair.ratio.high)),
            *(_rounded(pair.p_value), _rounded(pair.adjusted_p_value)),
            *(one.block_count, pair.verdict, "", one.block_count * one.cell_count, 0),
        ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")
