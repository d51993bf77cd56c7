"""The table of effects in a terminal: what each level does beside the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from drivelab.model.run_answer import LevelEffect, RunAnswer
from drivelab.report.sentences.effect_words import (
    baseline_words,
    commands_words,
    effects_notes,
    effects_title,
    interval_words,
    level_of_effect_words,
    ratio_words,
    verdict_words,
)
from drivelab.report.terminal.fitting_table import FittingTable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_LABEL_WIDTH_MAX = 34
_STYLES = {"matters": "bold", "differs": "", "no effect": "dim", "not settled": "yellow", "not judged": "red"}


def print_effects(answer: RunAnswer, console: Console) -> None:
    """Print the effects of a run, a table for each workload on each target; nothing when there are none."""
    from rich.text import Text

    groups: dict[tuple[str, str], list[LevelEffect]] = {}
    every = answer.effects or answer.contrasts
    for effect in every:
        groups.setdefault((effect.target, effect.workload), []).append(effect)
    for effects in groups.values():
        console.print(Text(effects_title(effects, answer), style="bold"))
        _print_group(effects, answer, console)
        for note in effects_notes(effects, every):
            console.print(Text(note, style="dim"))
        console.print()


def _print_group(effects: Sequence[LevelEffect], answer: RunAnswer, console: Console) -> None:
    from rich.text import Text

    columns: list[tuple[str, list[Text]]] = [
        ("ratio", [Text(ratio_words(effect.ratio.value)) for effect in effects]),
        ("95 % interval", [Text(interval_words(effect)) for effect in effects]),
        (
            "verdict",
            [Text(verdict_words(effect), style=_STYLES[effect.verdict]) for effect in effects],
        ),
        ("commands per op", [Text(commands_words(effect).replace(", ", "\n")) for effect in effects]),
    ]
    labels = [f"{effect.factor} {level_of_effect_words(effect, answer)}" for effect in effects]

    def make(some: Sequence[tuple[str, list[Text]]]) -> Table:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        # broken between factor and level where there is little room
        words = max(len(word) for label in labels for word in label.split())
        table.add_column("level", min_width=words, max_width=_LABEL_WIDTH_MAX)
        for head, texts in some:
            width = max(len(line) for text in (head, *(text.plain for text in texts)) for line in text.split("\n"))
            table.add_column(head, justify="right" if head == "ratio" else "left", no_wrap=True, min_width=width)
        for number, label in enumerate(labels):
            table.add_row(label, *(texts[number] for _, texts in some))
        return table

    baselines = {effect.factor: baseline_words(effect, answer) for effect in effects}
    told = ", ".join(f"{factor} {words}" for factor, words in baselines.items())
    console.print(Text(f"baseline: {told}", style="dim"))
    console.print(FittingTable(columns, make))
