"""The table of a comparison: every number with its verdict, and what there is to say about them."""

from __future__ import annotations

from drivelab.model.comparison import Comparison, MetricComparison
from drivelab.model.level_words import levels_phrase
from drivelab.model.metric import metric_of
from drivelab.report.figures.figure import DataTable
from drivelab.report.numerals import typeset
from drivelab.report.sentences.comparison import (
    constant_levels,
    how_to_read,
    interval_words,
    remarks,
    repeats_words,
    row_words,
    target_words,
    usual_levels,
    value_words,
    verdict_words,
)
from drivelab.report.sentences.comparison_answer import side_names
from drivelab.report.sentences.effect_words import ratio_words
from drivelab.report.tables.table import Table, TableCell, TableColumn


def comparison_table(comparison: Comparison) -> Table:
    """One row per number, the worst first; why something is not comparable stands in the notes."""
    base, new = side_names(comparison)
    usual = usual_levels(comparison.rows)
    why = list(dict.fromkeys(reason for row in comparison.rows for reason in row.why))
    told = levels_phrase(constant_levels(comparison.rows))
    return Table(
        key="comparison",
        title=f"{new} against {base}",
        columns=(
            TableColumn("combination"),
            TableColumn("target"),
            TableColumn("number"),
            TableColumn(base, is_number=True),
            TableColumn(new, is_number=True),
            TableColumn("ratio", is_number=True),
            TableColumn("95 % interval"),
            TableColumn("repeats"),
            TableColumn("verdict"),
        ),
        rows=tuple(
            (
                TableCell(row_words(row, usual)),
                TableCell(target_words(row)),
                TableCell(metric_of(row.metric).title),
                *(TableCell(typeset(text)) for text in value_words(row)),
                TableCell(ratio_words(row.ratio.value)),
                TableCell(interval_words(row) or "–"),
                TableCell(repeats_words(row)),
                TableCell(verdict_words(row), notes=tuple(1 + why.index(reason) for reason in row.why)),
            )
            for row in comparison.rows
        ),
        caption=f"{f'Everywhere: {told}. ' if told else ''}{how_to_read(base, new)}",
        notes=(*why, *remarks(comparison)),
        data=comparison_data(comparison.rows),
    )


def comparison_data(rows: tuple[MetricComparison, ...]) -> DataTable:
    """The rows in full precision."""
    factors = list(dict.fromkeys(name for row in rows for name in row.levels))
    columns = ("workload", "target_base", "target_new", *factors, "metric", "unit", "base_value", "new_value")
    more = ("ratio", "ratio_low", "ratio_high", "p_value", "adjusted_p_value", "detectable_ratio", "verdict", "why")
    found = [
        [
            *(row.workload, row.target_base, row.target_new, *(row.levels.get(name, "") for name in factors)),
            *(row.metric, row.unit, row.base.value if row.base else None, row.new.value if row.new else None),
            *(row.ratio.value, row.ratio.low, row.ratio.high, row.p_value, row.adjusted_p_value),
            *(row.detectable_ratio, row.verdict, "; ".join(row.why)),
        ]
        for row in rows
    ]
    return DataTable((*columns, *more), found)
