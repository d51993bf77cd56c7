"""An explanation in a terminal: a bar for each part where it begins, then numbers, checks and the sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Literal

from drivelab.model.estimate import Estimate
from drivelab.model.level_words import level_phrase
from drivelab.model.trace import PART_TITLES, Explanation, Part
from drivelab.model.units import format_duration_ns
from drivelab.report.numerals import count_text
from drivelab.report.sentences.explanation import (
    check_words,
    cost_words,
    explanation_sentences,
    operation_words,
    share_text,
    trace_words,
    work_words,
)
from drivelab.report.sentences.slow_operations import slowest_words
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.scale import Glyphs, glyphs
from drivelab.report.terminal.wrapped import fitted, table_lines, wrapped

Group = Literal["typical", "slowest"]
WIDTH_MIN = 40
# from such widths on parts have their whole names, means their intervals, and numbers stand beside the bars
TITLES_FROM = 60
_INTERVALS_FROM = 72
_BESIDE_FROM = 110
_BAR_CELLS_MAX = 80
_SENTENCES_MIN = 3
_TIME_CELLS, _SHARE_CELLS, _NUMBER_CELLS = 7, 5, 9
_GAP = "  "
# names of layers are cut to so many characters beyond the longest name of a part
_LAYER_CELLS_MORE = 8
_SHORT: Mapping[Part, str] = {
    "fs_in": "fs in",
    "layers": "layers",
    "queue": "queue",
    "device": "device",
    "flush": "flush",
    "between": "between",
    "return": "return",
}
_NUMBERS = ("mean", "median", "p99")
_SEEN = "~: seen in the sample, too few independent operations for an interval"
_NOTHING = Estimate(None, None, None, "ns", 0, 0.0, "")


def explanation_lines(explanation: Explanation, width: int, *, plain: bool = False) -> list[str]:
    """An explanation in lines of at most `width` characters.

    Parameters
    ----------
    width : int
        Characters; fewer than `WIDTH_MIN` count as that.
    """
    width = max(width, WIDTH_MIN)
    lines = wrapped(_title(explanation), width, plain)
    if explanation.parts:
        lines += ["", *_waterfall(explanation, "typical", width, plain)]
        lines += ["", *_waterfall(explanation, "slowest", width, plain)]
        if width < _BESIDE_FROM:
            lines += ["", *_numbers(explanation, width, plain)]
    lines.append("")
    if any("~" in line for line in lines):
        lines += wrapped(_SEEN, width, plain, "  ")
    for name, text in _facts(explanation):
        lines += wrapped(f"{name}: {text}", width, plain, "  ")
    lines.append("")
    for sentence in explanation_sentences(explanation):
        lines += wrapped(sentence, width, plain)
    return [fitted(line, width) for line in lines]


def explanation_in_short(
    explanation: Explanation, width: int, *, plain: bool = False, lines_max: int | None = None
) -> list[str]:
    """What an explanation says in few lines: the sentences first, then where the typical time goes.

    Parameters
    ----------
    width : int
        Characters; fewer than `WIDTH_MIN` count as that.
    lines_max : int, optional
        How many lines there is room for: of the sentences the last are left out, but for the first `_SENTENCES_MIN`.
    """
    width = max(width, WIDTH_MIN)
    title = [*wrapped(_title(explanation), width, plain), ""]
    sentences = [wrapped(sentence, width - len(_GAP), plain) for sentence in explanation_sentences(explanation)]
    below: list[str] = []
    if explanation.parts:
        # one numeral is enough beside each bar
        # what takes no time has no bar either; that a durable write has no flush is to be seen
        is_durable = explanation.operation != "read"
        parts = (one for one in explanation.parts if one.typical_ns or (is_durable and one.part == "flush"))
        shown = replace(explanation, parts=tuple(parts))
        below += ["", *_waterfall(shown, "typical", min(width, _BESIDE_FROM - 1), plain)]
        below += ["", *wrapped(f"the drive, each time: {work_words(explanation)}", width, plain, _GAP)]
    others = len(title) + len(below)
    while lines_max and len(sentences) > _SENTENCES_MIN and others + sum(map(len, sentences)) > lines_max:
        sentences.pop()
    return [fitted(line, width) for line in (*title, *chain(*sentences), *below)]


def part_labels(width: int) -> Mapping[Part, str]:
    """What the parts are called where there are so many characters in a line."""
    return PART_TITLES if width >= TITLES_FROM else _SHORT


def _labels(explanation: Explanation, width: int) -> list[str]:
    """What each part of an explanation is called, layers by their names."""
    labels = part_labels(width)
    room = max(map(len, labels.values())) + _LAYER_CELLS_MORE
    return [fitted(one.layer or labels[one.part], room) for one in explanation.parts]


def positioned_bar(begin: float, length: float, whole: float, cells: int, drawn: Glyphs) -> str:
    """A bar that stands where its part begins, on an axis from 0 to `whole` of so many characters.

    Neighbours touch and never overlap; what is too short for a character still shows.
    """
    if length <= 0 or whole <= 0:
        return " " * cells
    first, last = round(begin / whole * cells), round((begin + length) / whole * cells)
    if last > first:
        return f"{' ' * first}{drawn.full * (last - first)}".ljust(cells)
    return f"{' ' * min(first, cells - 1)}{drawn.parts[1]}".ljust(cells)


def number_words(estimate: Estimate) -> str:
    """A number of a narrow column; what the data cannot carry is a bound, ``≥ 812 us``, or was seen, ``~812 us``."""
    if estimate.value is not None:
        return format_duration_ns(estimate.value)
    if estimate.low:
        return f"≥ {format_duration_ns(estimate.low)}"
    return "-" if estimate.observed is None else f"~{format_duration_ns(estimate.observed)}"


def _title(explanation: Explanation) -> str:
    where = f" on {explanation.target}" if explanation.target else ""
    levels = "".join(f", {level_phrase(name, level)}" for name, level in explanation.levels.items())
    what = explanation.label or explanation.trial
    return f"{what}{where}{levels}: where the time of a {operation_words(explanation)} goes"


def _waterfall(explanation: Explanation, group: Group, width: int, plain: bool) -> Iterator[str]:
    """The parts of a group of operations below each other, each bar where the one above ends."""
    is_typical = group == "typical"
    whole = explanation.typical_ns if is_typical else explanation.slowest_ns
    labels, drawn = _labels(explanation, width), glyphs(plain=plain)
    label_cells = max(map(len, labels))
    numbers_cells = (len(_GAP) + _NUMBER_CELLS) * len(_NUMBERS) if width >= _BESIDE_FROM else 0
    fixed = label_cells + _TIME_CELLS + _SHARE_CELLS + 3 * len(_GAP)
    cells = min(_BAR_CELLS_MAX, width - fixed - numbers_cells)
    has_numbers = is_typical and numbers_cells > 0
    yield from wrapped(f"{_group_words(explanation, group)}: {format_duration_ns(whole)}", width, plain)
    if has_numbers:
        yield f"{'all operations:':>{fixed + cells}}{_beside(_NUMBERS)}"
    begin = 0.0
    for label, one in zip(labels, explanation.parts, strict=True):
        value = one.typical_ns if is_typical else one.slowest_ns
        bar = positioned_bar(begin, value, whole, cells, drawn)
        begin += value
        row = f"{label:<{label_cells}}{_GAP}{format_duration_ns(value):>{_TIME_CELLS}}"
        row += f"{_GAP}{share_text(value, whole):>{_SHARE_CELLS}}{_GAP}{bar}"
        numbers = [number_words(each) for each in (one.mean, one.p50, one.p99)] if has_numbers else []
        yield terminal_text(f"{row}{_beside(numbers)}", plain).rstrip()
    if has_numbers:
        numbers = [number_words(each) for each in _whole_numbers(explanation)]
        yield terminal_text(f"{'whole latency':<{fixed + cells}}{_beside(numbers)}", plain)


def _beside(cells: Sequence[str]) -> str:
    return "".join(f"{_GAP}{cell:>{_NUMBER_CELLS}}" for cell in cells)


def _group_words(explanation: Explanation, group: Group) -> str:
    if group == "slowest":
        return slowest_words(explanation)
    count = count_text(explanation.typical_count)
    return f"typical (the middle fifth, {count} of {count_text(explanation.operations)} operations)"


def _whole_numbers(explanation: Explanation) -> tuple[Estimate, Estimate, Estimate]:
    found = (explanation.traced_mean_ns, explanation.traced_ns, explanation.traced_p99_ns)
    mean, p50, p99 = (one or _NOTHING for one in found)
    return mean, p50, p99


def _numbers(explanation: Explanation, width: int, plain: bool) -> Iterator[str]:
    """Mean, median and p99 of each part below the bars, where there is no room beside them."""
    labels, has_intervals = _labels(explanation, width), width >= _INTERVALS_FROM
    named = [("whole", _whole_numbers(explanation))]
    parts = zip(labels, explanation.parts, strict=True)
    named += [(label, (one.mean, one.p50, one.p99)) for label, one in parts]
    rows = [["all operations" if width >= TITLES_FROM else "all", *_NUMBERS]]
    rows += [[name, *map(number_words, numbers)] for name, numbers in named]
    if has_intervals:
        # a mean that is known exactly is that of a part which never was
        intervals = ["(95 % interval)", *(f"({of.interval_text()})" if of.high else "" for _, (of, _, _) in named)]
        rows = [[*row[:2], interval, *row[2:]] for row, interval in zip(rows, intervals, strict=True)]
    yield from table_lines(rows, plain)


def _facts(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """What the numbers rest on, a line each."""
    if explanation.parts:
        yield "work of the drive per operation", work_words(explanation)
        yield "commands", check_words(explanation)
        sum_text = "do not sum to the latency: do not trust them" if explanation.residual_ns else "sum to the latency"
        yield "check", f"the parts {sum_text}, residual {explanation.residual_ns} ns"
    if cost := cost_words(explanation):
        yield "cost of tracing", cost
    yield "trace", trace_words(explanation)
