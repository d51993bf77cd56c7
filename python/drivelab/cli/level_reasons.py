"""Why the levels of a traced experiment that matter do: a sentence for each, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drivelab.answers.explanations import level_differences
from drivelab.model.run_answer import RunAnswer
from drivelab.report.sentences.explanation_difference import explained_levels
from drivelab.report.sentences.run import plain_text
from drivelab.store.read import StoredRun

if TYPE_CHECKING:
    from rich.console import Console


def print_level_reasons(run: StoredRun, answer: RunAnswer, console: Console) -> None:
    """Print which part of the latency each level that matters changes; nothing where no trial was traced."""
    from rich.text import Text

    sentences = explained_levels(level_differences(run, answer)) if run.traced_trials else ()
    for sentence in sentences:
        console.print(Text(plain_text(sentence)))
    if sentences:
        console.print()
