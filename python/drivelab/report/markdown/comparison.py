"""A comparison as Markdown for the comment of a pull request: the answer, the worst rows, the rest folded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from drivelab.model.comparison import (
    Comparison,
    ComparisonVerdict,
    DistributionShift,
    MetricComparison,
    QuantileShift,
)
from drivelab.model.level_words import levels_phrase
from drivelab.model.metric import metric_of
from drivelab.model.names import counted
from drivelab.report.markdown.syntax import escaped, grid_lines, table_lines
from drivelab.report.numerals import typeset
from drivelab.report.sentences.comparison import (
    constant_levels,
    difference_words,
    distribution_words,
    how_to_read,
    interval_words,
    reasons,
    remarks,
    row_words,
    sides_words,
    usual_levels,
    value_words,
    verdict_words,
)
from drivelab.report.sentences.comparison_answer import answers_with_limits
from drivelab.report.sentences.effect_words import ratio_words
from drivelab.report.sentences.explanation_difference import difference_sentences
from drivelab.report.tables.part_differences import part_differences_tables

ROWS_SHOWN_MAX = 20
# GitHub refuses a comment of 65,536 characters
FOLDED_ROWS_MAX = 150
_NAMED_MAX = 5
_HEADS = ("combination", "number", "BASE", "NEW", "NEW/BASE", "95 % interval", "verdict")
_IS_NUMBER = (False, False, True, True, True, False, False)
# of those that are stored of a distribution
_HEIGHTS = (0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
_BOLD: tuple[ComparisonVerdict, ...] = ("slower",)


def comparison_markdown(comparison: Comparison) -> str:
    """The whole comment."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    for number, sentence in enumerate(answers_with_limits(comparison)):
        yield from (f"**{escaped(sentence)}**" if number == 0 else escaped(sentence), "")
    rows = comparison.rows
    constant, usual = constant_levels(rows), usual_levels(rows)
    if constant:
        yield escaped(f"Everywhere: {levels_phrase(constant)}")
        yield ""
    if rows:
        yield from _table(rows[:ROWS_SHOWN_MAX], usual)
        yield ""
    if len(rows) > ROWS_SHOWN_MAX:
        yield from _folded(rows[ROWS_SHOWN_MAX:], usual)
    for why, combinations in reasons(comparison).items():
        named = ", ".join(combinations[:_NAMED_MAX]) + (" and others" if len(combinations) > _NAMED_MAX else "")
        yield f"- not comparable: {escaped(why)} ({escaped(named)})"
    yield from (f"- {escaped(remark)}" for remark in remarks(comparison))
    yield ""
    yield from _distributions(comparison)
    yield from _why(comparison)
    base, new = sides_words(comparison)
    yield from (f"{escaped(base)}  ", escaped(new), "")
    if comparison.differences:
        yield "What differs between the two sides:"
        yield ""
        yield from (f"- {escaped(difference_words(one))}" for one in comparison.differences)
    else:
        yield "Nothing recorded about host, drive or versions differs."
    yield ""
    yield f"<details><summary>How to read this</summary>\n\n{escaped(how_to_read())}\n\n</details>"


def _why(comparison: Comparison) -> Iterator[str]:
    """Which part of the latency differs, where both sides were traced; the numbers folded."""
    for one in comparison.part_differences:
        yield f"**Why they differ{f', {escaped(one.label)}' if one.label else ''}**"
        yield ""
        yield from (escaped(typeset(text)) for text in difference_sentences(one))
        yield ""
        yield "<details><summary>Each part</summary>"
        for table in part_differences_tables([one]):
            yield ""
            yield from table_lines(table)
        yield ""
        yield "</details>"
        yield ""


def _distributions(comparison: Comparison) -> Iterator[str]:
    """The ratio at some heights of the distribution, folded: a tail that grew shows here, and is not judged."""
    shown = comparison.distributions[:ROWS_SHOWN_MAX]
    if not shown:
        return
    cells = []
    for one in shown:
        known = {quantile: _nearest(one, quantile) for quantile in _HEIGHTS}
        cells.append(
            [escaped(distribution_words(one)), *("-" if point is None else _at(point) for point in known.values())]
        )
    yield "<details><summary>NEW over BASE over the whole distribution of latencies (seen, not judged)</summary>"
    yield ""
    heads = ("combination", *(f"p{100 * quantile:g}" for quantile in _HEIGHTS))
    yield from grid_lines(heads, cells, (False, *(True for _ in _HEIGHTS)))
    yield ""
    yield "In parentheses 95 % intervals, each for itself. The page (`--format html`) draws every quantile."
    yield ""
    yield "</details>"
    yield ""


def _nearest(one: DistributionShift, quantile: float) -> QuantileShift | None:
    return next((point for point in one.points if math.isclose(point.quantile, quantile, rel_tol=1e-6)), None)


def _at(point: QuantileShift) -> str:
    interval = f" ({ratio_words(point.low)} to {ratio_words(point.high)})" if point.low and point.high else ""
    return f"{ratio_words(point.ratio)}{interval}"


def _folded(rows: Sequence[MetricComparison], usual: dict[str, str]) -> Iterator[str]:
    yield f"<details><summary>{counted(len(rows), 'more row')}</summary>"
    yield ""
    yield from _table(rows[:FOLDED_ROWS_MAX], usual)
    if len(rows) > FOLDED_ROWS_MAX:
        yield ""
        yield f"{len(rows) - FOLDED_ROWS_MAX} more rows are in the JSON."
    yield ""
    yield "</details>"
    yield ""


def _table(rows: Sequence[MetricComparison], usual: dict[str, str]) -> Iterator[str]:
    cells = [
        [
            *(escaped(row_words(row, usual)), escaped(metric_of(row.metric).title)),
            *(escaped(text) for text in value_words(row)),
            *(ratio_words(row.ratio.value), interval_words(row) or "-"),
            f"**{row.verdict_text}**" if row.verdict in _BOLD else verdict_words(row),
        ]
        for row in rows
    ]
    yield from grid_lines(_HEADS, cells, _IS_NUMBER)
