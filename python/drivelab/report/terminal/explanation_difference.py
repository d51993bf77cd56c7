"""Two explanations beside each other in a terminal: a bar to the left where a part is shorter, else to the right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from drivelab.model.trace import ExplanationDifference, PartDifference
from drivelab.model.units import format_duration_ns
from drivelab.report.numerals import count_text
from drivelab.report.sentences.explanation_difference import (
    difference_sentences,
    interval_text,
    signed_text,
)
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.scale import Glyphs, glyphs, legend_lines
from drivelab.report.terminal.waterfall import WIDTH_MIN, part_labels
from drivelab.report.terminal.wrapped import fitted, table_lines, wrapped

_GAP = "  "
_BAR_CELLS_MAX = 81
_TITLE_OF_ALL = "latency"
# beside both means there is room for intervals from here on
_INTERVALS_FROM = 72


def difference_lines(difference: ExplanationDifference, width: int, *, plain: bool = False) -> list[str]:
    """A difference of two explanations in lines of at most `width` characters.

    Parameters
    ----------
    width : int
        Characters; fewer than `drivelab.report.terminal.waterfall.WIDTH_MIN` count as that.
    """
    width = max(width, WIDTH_MIN)
    told = [line for text in difference_sentences(difference) for line in wrapped(text, width, plain)]
    return [*(fitted(line, width) for line in told), "", *parts_lines(difference, width, plain=plain)]


def parts_lines(difference: ExplanationDifference, width: int, *, plain: bool = False) -> list[str]:
    """The bars of a difference and its numbers, without its sentences."""
    width = max(width, WIDTH_MIN)
    lines = [*wrapped(_title(difference), width, plain), *_bars(difference, width, plain), ""]
    return [fitted(line, width) for line in (*lines, *_table(difference, width, plain))]


def _title(difference: ExplanationDifference) -> str:
    what = f"{difference.label}: " if difference.label else ""
    base, new = map(count_text, difference.operations)
    return f"{what}mean time per operation, of {new} against {base} operations"


def _labels(width: int) -> Mapping[str, str]:
    return {"total": _TITLE_OF_ALL} | {str(part): label for part, label in part_labels(width).items()}


def _bars(difference: ExplanationDifference, width: int, plain: bool) -> Iterator[str]:
    """A row for the latency and each part; what may be chance is drawn lighter."""
    drawn, labels = glyphs(plain=plain), _labels(width)
    label_cells = max(map(len, labels.values()))
    values = [signed_text(_value(one)) for one in difference.parts]
    value_cells = max(map(len, values))
    # an odd number: the middle one is the line
    cells = (min(_BAR_CELLS_MAX, width - label_cells - value_cells - 2 * len(_GAP)) - 1) // 2 * 2 + 1
    largest = max((abs(_value(one)) for one in difference.parts), default=0.0)
    for one, value in zip(difference.parts, values, strict=True):
        bar = diverging_bar(_value(one), largest, cells, drawn, is_sure=one.is_beyond_noise)
        yield terminal_text(f"{labels[one.part]:<{label_cells}}{_GAP}{value:>{value_cells}}{_GAP}{bar}", plain).rstrip()
    count = sum(one.adjusted_p_value is not None for one in difference.parts)
    legend = [f"{drawn.full} more than chance, of {count} looked at (Holm)", f"{drawn.light} may be chance"]
    for line in legend_lines([terminal_text(text, plain) for text in legend], width):
        yield from wrapped(line, width, plain, "  ") if len(line) > width else [line]


def diverging_bar(value: float, largest: float, cells: int, drawn: Glyphs, *, is_sure: bool) -> str:
    """A bar from a line in the middle, to the left for what became less.

    Parameters
    ----------
    value, largest : float
        How long, and how long the longest of its neighbours is, either way.
    cells : int
        Characters, an odd number.
    is_sure : bool
        Whether it is more than chance.
    """
    half = cells // 2
    length = round(half * abs(value) / largest) if largest else 0
    if value and not length:
        length = 1
    bar = (drawn.full if is_sure else drawn.light) * length
    return (
        f"{bar:>{half}}{drawn.upright}{'':{half}}" if value < 0 else f"{'':{half}}{drawn.upright}{bar:<{half}}"
    ).rstrip()


def _table(difference: ExplanationDifference, width: int, plain: bool) -> Iterator[str]:
    labels, has_intervals = _labels(width), width >= _INTERVALS_FROM
    heads = ["", "base", "new", "difference", *(["interval (Holm)"] if has_intervals else [])]
    rows = [
        [
            labels[one.part],
            format_duration_ns(one.base_ns),
            format_duration_ns(one.new_ns),
            signed_text(_value(one)),
            *([interval_text(one) or "-"] if has_intervals else []),
        ]
        for one in difference.parts
    ]
    yield from table_lines([heads, *rows], plain)


def _value(one: PartDifference) -> float:
    return one.difference_ns.value or 0.0
