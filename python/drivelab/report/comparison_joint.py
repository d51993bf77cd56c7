"""A comparison as a report, so that it is written as a page like any other."""

from __future__ import annotations

from drivelab.model.comparison import Comparison
from drivelab.report.figures.comparison_ratios import comparison_ratios
from drivelab.report.joint import Joint
from drivelab.report.sentences.comparison import difference_words, sides_words, summary_sentence
from drivelab.report.tables.comparison import comparison_table


def joint_of_comparison(comparison: Comparison) -> Joint:
    """The report: the answer, all numbers, their ratios drawn, and what differs."""
    figure = comparison_ratios(comparison)
    tables = [comparison_table(comparison)] if comparison.rows else []
    return Joint(
        title=sides_words(comparison),
        question="Is NEW slower than BASE?",
        sentences=(summary_sentence(comparison),),
        tables=tuple(tables),
        figures=(figure,) if figure else (),
        notes=tuple(map(difference_words, comparison.differences)),
    )
