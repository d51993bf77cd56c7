"""Why the levels of a traced experiment that matter do: a sentence for each, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drivelab.answers.traced_answer import TracedAnswer
from drivelab.report.sentences.explanation_difference import explained_levels
from drivelab.report.sentences.run import plain_text

if TYPE_CHECKING:
    from rich.console import Console


def print_level_reasons(traced: TracedAnswer, console: Console) -> None:
    """Print which part of the latency each level that matters changes; nothing where no trial was traced."""
    from rich.text import Text

    sentences = explained_levels(traced.level_differences)
    for sentence in sentences:
        console.print(Text(plain_text(sentence)))
    if sentences:
        console.print()
