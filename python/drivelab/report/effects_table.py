"""The table of effects on the page: what each level does beside the baseline, a table for each workload and target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.model.level_words import with_factor
from drivelab.model.run_answer import LevelEffect, RunAnswer
from drivelab.model.trace import ExplanationDifference
from drivelab.report.sentences.effect_words import (
    baseline_words,
    commands_words,
    effects_notes,
    effects_title,
    interval_words,
    level_of_effect_words,
    ratio_words,
)
from drivelab.report.sentences.explanation_difference import level_sentence


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One level: its words, and whether it matters, has no effect, or is not settled."""

    level: str
    baseline: str
    ratio: str
    interval: str
    verdict: str
    verdict_text: str
    commands: str


@dataclass(frozen=True, slots=True)
class EffectsTable:
    """The effects of one workload on one target."""

    title: str
    rows: tuple[EffectRow, ...]
    notes: tuple[str, ...]
    reasons: tuple[str, ...] = ()


def effects_tables(
    effects: Sequence[LevelEffect],
    answer: RunAnswer,
    differences: Sequence[tuple[LevelEffect, ExplanationDifference]] = (),
) -> tuple[EffectsTable, ...]:
    """The tables of a run's effects, in the order of the experiment's file.

    Parameters
    ----------
    effects : sequence of LevelEffect
        Those that the experiment asks for, or its contrasts.
    differences : sequence of (LevelEffect, ExplanationDifference)
        Of levels that matter and were traced, how the parts differ from the baseline.
    """
    groups: dict[tuple[str, str], list[LevelEffect]] = {}
    for effect in effects:
        groups.setdefault((effect.target, effect.workload), []).append(effect)
    return tuple(
        EffectsTable(
            effects_title(members, answer),
            tuple(_row(effect, answer) for effect in members),
            tuple(effects_notes(members, effects)),
            tuple(level_sentence(*pair) for pair in differences if (pair[0].target, pair[0].workload) == place),
        )
        for place, members in groups.items()
    )


def _row(effect: LevelEffect, answer: RunAnswer) -> EffectRow:
    return EffectRow(
        level=with_factor(effect.factor, level_of_effect_words(effect, answer)),
        baseline=baseline_words(effect, answer),
        ratio=ratio_words(effect.ratio.value),
        interval=interval_words(effect),
        verdict=effect.verdict.replace(" ", "-"),
        verdict_text=effect.verdict_text,
        commands=commands_words(effect),
    )
