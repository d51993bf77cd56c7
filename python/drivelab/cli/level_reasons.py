"""Why the levels of a traced experiment that matter do: a sentence for each, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drivelab.answers.traced_answer import TracedAnswer
from drivelab.report.sentences.explanation_difference import explained_levels
from drivelab.report.sentences.run import plain_text
from drivelab.report.terminal.wrapped import wrapped

if TYPE_CHECKING:
    from rich.console import Console


def print_level_reasons(traced: TracedAnswer, console: Console, *, lines_max: int = 0) -> int:
    """Print which part of the latency each level that matters changes, and return how many lines that took.

    Parameters
    ----------
    traced : TracedAnswer
        Of the run; nothing is printed where no trial was traced.
    lines_max : int
        How many lines there are for it, of whole sentences; 0 for as many as it takes.
    """
    plain = not console.encoding.startswith("utf")
    told = [wrapped(plain_text(one), console.width, plain) for one in explained_levels(traced.level_differences)]
    while lines_max and sum(map(len, told)) > lines_max:
        told.pop()
    lines = [line for one in told for line in one]
    if lines:
        print("\n".join((*lines, "")), file=console.file)
    return len(lines) + bool(lines)
