"""NEW over BASE: each ratio with its 95 % interval, one row each, on one axis with the band of the margin."""

from __future__ import annotations

from drivelab.model.comparison import Comparison, MetricComparison
from drivelab.model.metric import metric_of
from drivelab.model.units import format_percent
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.ratio_rows import PLOTS_AT_MOST, RatioRow, ends_of_rows, pieces_of, ratio_plot
from drivelab.report.numerals import number_text, typeset
from drivelab.report.sentences.comparison import interval_words, row_words, usual_levels, value_words
from drivelab.report.sentences.comparison_answer import side_names
from drivelab.report.tables.comparison import comparison_data

# symbol and colour of each verdict: no meaning hangs on colour alone
_MARKS: dict[str, tuple[str, str]] = {
    "slower": ("circle", theme.VERMILLION),
    "faster": ("circle", theme.GREEN),
    "equivalent": ("square-open", theme.BLUE),
    "no difference shown": ("diamond-open", theme.MUTED),
    "not comparable": ("x-thin-open", theme.MUTED),
    "seen only": ("circle-open", theme.MUTED),
}
# where all ratios are close to 1
_NEAR_1 = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0)


def comparison_ratios(comparison: Comparison) -> Figure | None:
    """The figure; None when there is no row. Latencies and rates are drawn apart: worse lies on opposite sides."""
    names = {True: "latencies and costs: right of 1 is worse", False: "throughput and rates: left of 1 is worse"}
    judged = [row for row in comparison.rows if row.is_judged]
    # the one with the worst row comes first
    kinds = dict.fromkeys(row.is_more_worse for row in judged)
    usual = usual_levels(comparison.rows)
    base, new = side_names(comparison)
    groups = {
        names[kind]: [_row(row, usual, base, new) for row in judged if row.is_more_worse is kind] for kind in kinds
    }
    pieces = pieces_of(groups.items())
    if not pieces:
        return None
    ratio = f"{new} over {base}"
    ends = ends_of_rows(row for rows in groups.values() for row in rows)
    return Figure(
        key="comparison-ratios",
        title=ratio,
        caption=(
            f"Whiskers are 95\u00a0% intervals; the grey band is {typeset(format_percent(comparison.margin))}. "
            "A ratio without whiskers rests on too few runs; one that is not comparable says nothing. Drawn is the "
            "number that each workload is about; the others are in the table."
            + theme.shown_words(PLOTS_AT_MOST, len(pieces))
        ),
        plots=tuple(
            ratio_plot(rows, name, ends, _MARKS, axes=(ratio, "number"), ticks_near_1=_NEAR_1)
            for name, rows in pieces[:PLOTS_AT_MOST]
        ),
        table=comparison_data(comparison.rows),
    )


def _row(row: MetricComparison, usual: dict[str, str], base: str, new: str) -> RatioRow:
    label = f"{row_words(row, usual)} · {metric_of(row.metric).title}"
    return RatioRow(label, _hover(row, base, new), row.ratio, row.verdict, row.verdict_text, row.margin)


def _hover(row: MetricComparison, base: str, new: str) -> str:
    values = ", ".join(
        f"{theme.escaped(side)} {value}" for side, value in zip((base, new), value_words(row), strict=True)
    )
    why = "".join(f"<br>{theme.escaped(reason)}" for reason in row.why)
    return (
        f"{theme.escaped(f'{row_words(row, {})}, {metric_of(row.metric).title}')}<br>"
        f"<b>{number_text(row.ratio.value or 0)}</b>: {row.verdict_text}<br>"
        f"{interval_words(row) or 'no interval'}<br>{values}{why}"
    )
