"""The table of effects on the page: what each level does beside the baseline, a table for each workload and target."""

from __future__ import annotations

from dataclasses import dataclass

from drivelab.model.run_answer import LevelEffect, RunAnswer
from drivelab.report.sentences.effect_words import (
    baseline_words,
    commands_words,
    effects_notes,
    effects_title,
    interval_words,
    level_of_effect_words,
    ratio_words,
)


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


def effects_tables(answer: RunAnswer) -> tuple[EffectsTable, ...]:
    """The tables of a run's effects, in the order of the experiment's file."""
    groups: dict[tuple[str, str], list[LevelEffect]] = {}
    for effect in answer.effects:
        groups.setdefault((effect.target, effect.workload), []).append(effect)
    return tuple(
        EffectsTable(
            effects_title(effects, answer),
            tuple(_row(effect, answer) for effect in effects),
            tuple(effects_notes(effects)),
        )
        for effects in groups.values()
    )


def _row(effect: LevelEffect, answer: RunAnswer) -> EffectRow:
    return EffectRow(
        level=f"{effect.factor} {level_of_effect_words(effect, answer)}",
        baseline=baseline_words(effect, answer),
        ratio=ratio_words(effect.ratio.value),
        interval=interval_words(effect),
        verdict=effect.verdict.replace(" ", "-"),
        verdict_text=effect.verdict_text,
        commands=commands_words(effect),
    )
