"""A comparison as a report, so that it is written as a page like any other."""

from __future__ import annotations

from drivelab.model.comparison import Comparison
from drivelab.report.figures.comparison_ratios import comparison_ratios
from drivelab.report.figures.part_differences import part_differences
from drivelab.report.figures.quantile_shift import quantile_shift_figure
from drivelab.report.joint import Joint
from drivelab.report.sentences.comparison import difference_words, sides_words
from drivelab.report.sentences.comparison_answer import answers_with_limits, side_names
from drivelab.report.sentences.traced import told_differences
from drivelab.report.tables.comparison import comparison_table
from drivelab.report.tables.part_differences import part_differences_tables
from drivelab.report.tables.table import numbered


def joint_of_comparison(comparison: Comparison) -> Joint:
    """The report: the answer, all numbers, their ratios drawn, and what differs."""
    figures = (
        comparison_ratios(comparison),
        quantile_shift_figure(comparison),
        part_differences(comparison.part_differences),
    )
    base, new = side_names(comparison)
    tables = [comparison_table(comparison)] if comparison.rows else []
    told = told_differences(comparison.part_differences)
    return Joint(
        title="; ".join(sides_words(comparison)),
        question=f"{new} against {base}: which is faster?",
        sentences=(*answers_with_limits(comparison), *told),
        tables=numbered((*tables, *part_differences_tables(comparison.part_differences))),
        figures=tuple(figure for figure in figures if figure is not None),
        # what the sides are called by is what is compared, and told in the question
        notes=tuple(
            difference_words(one) for one in comparison.differences if (one.base, one.new) != ((base,), (new,))
        ),
        part_differences=comparison.part_differences,
    )
