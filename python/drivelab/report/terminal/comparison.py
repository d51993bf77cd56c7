"""A comparison for a terminal of 80 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from drivelab.model.comparison import Comparison, MetricComparison
from drivelab.model.level_words import level_text, levels_phrase
from drivelab.model.metric import metric_of
from drivelab.model.names import counted
from drivelab.model.units import format_percent, glued
from drivelab.report.sentences.comparison import (
    constant_levels,
    difference_words,
    interval_words,
    level_words,
    looks_change,
    looks_words,
    reasons,
    remarks,
    row_words,
    sides_words,
    target_words,
    usual_levels,
    value_words,
)
from drivelab.report.sentences.comparison_answer import answers, limits_words
from drivelab.report.sentences.effect_words import ratio_words
from drivelab.report.sentences.explanation_difference import difference_sentences
from drivelab.report.tables.small_writes import factor_head
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.explanation_difference import difference_lines
from drivelab.report.terminal.wrapped import WIDTH

COMBINATIONS_MAX = 40
LINES_MAX = 30
_SUMMARY_LINES_MAX, _REMARK_LINES_MAX, _DIFFERENCE_LINES_MAX = 3, 5, 3
_HEADS = ("", "BASE", "NEW", "NEW/BASE", "95 % interval", "verdict")
_HEADS_SEEN = (*_HEADS[:3], "NEW looks")
_AT_RIGHT = (False, True, True, True, False, False)
_HEADS_NARROW = (*_HEADS[:3], "NEW/BASE", "verdict")
_AT_RIGHT_NARROW = (False, True, True, False, False)
_OUTSTANDING = re.compile(r", (?:(\d+) outstanding|one at a time)$")


def comparison_text(comparison: Comparison, *, plain: bool = False, is_whole: bool = True) -> str:
    """The comparison in lines of at most 80 columns, names of runs and combinations excepted.

    Parameters
    ----------
    is_whole : bool
        Whether all is told; otherwise what has room on a screen of `LINES_MAX` lines.
    """
    lines = _lines(comparison, plain=plain) if is_whole else _screen(comparison)
    return "\n".join(terminal_text(line, plain).rstrip() for line in lines) + "\n"


def _lines(comparison: Comparison, *, plain: bool) -> Iterator[str]:
    answer, *summary = answers(comparison)
    yield from _answer(answer, comparison)
    for sentence in summary:
        yield from (*_wrapped(sentence), "")
    yield from _tables(comparison)
    yield from (line for one in _remarks(comparison) for line in one)
    yield from _why(comparison, plain=plain)
    yield from ("", *_sides(comparison, is_whole=True))
    yield from (line for one in _differences(comparison) for line in one)


def _screen(comparison: Comparison) -> Iterator[str]:
    """The answer, the judged numbers, and as much of what limits them as there is room for."""
    answer, *summary = answers(comparison)
    head = list(_answer(answer, comparison))
    sides = list(_sides(comparison, is_whole=False))
    if comparison.is_anything_judged:
        head += [line for one in summary for line in (*_within(_wrapped(one), _SUMMARY_LINES_MAX), "")]
    told = [sentence for one in comparison.part_differences[:1] for sentence in difference_sentences(one)[:1]]
    remarks = [*(_wrapped(sentence, "  ") for sentence in told), *_remarks(comparison)]
    differences = list(_differences(comparison))
    rows = _rows(comparison)
    # rows first, but for the first words of the others
    kept_differences = min(_DIFFERENCE_LINES_MAX, sum(map(len, differences)))
    left = LINES_MAX - len(head) - len(sides)
    kept = min(_REMARK_LINES_MAX, sum(map(len, remarks))) + kept_differences
    shown = [*_within(rows, left - kept - 1), ""] if rows else []
    left -= len(shown)
    below = list(_whole(remarks, left - kept_differences))
    yield from (*head, *shown, *below, *sides, *_whole(differences, left - len(below)))


def _answer(answer: str, comparison: Comparison) -> Iterator[str]:
    """The answer, what to know before any number, and an empty line."""
    yield from (line for told in (answer, *limits_words(comparison)) for line in _wrapped(told))
    yield ""


def _sides(comparison: Comparison, *, is_whole: bool) -> Iterator[str]:
    """Which runs are compared."""
    yield from (line for side in sides_words(comparison, is_whole=is_whole) for line in _wrapped(side, "  "))


def _rows(comparison: Comparison) -> list[str]:
    """A line for each number that is judged, or would be with more runs."""
    usual = usual_levels(comparison.rows)
    judged = [row for row in comparison.rows if row.is_judged]
    if not judged:
        return []
    is_seen = not comparison.is_anything_judged
    several = len({target_words(row) for row in judged}) > 1
    places = [f" on {target_words(row)}" * several for row in judged]
    names = [f"{row_words(row, usual)}{place}" for row, place in zip(judged, places, strict=True)]
    several_metrics = len({row.metric for row in judged}) > len({row_words(row, {}) for row in judged})
    if several_metrics:
        names = [f"{name}, {metric_of(row.metric).title}" for name, row in zip(names, judged, strict=True)]
    mixed = len({row.is_more_worse for row in judged if looks_words(row) == "slower"}) > 1
    numbers = [
        (*value_words(row), looks_change(row, is_in_times=mixed)) if is_seen else _cells(row)[1:] for row in judged
    ]
    heads_of_columns: Sequence[str] = _HEADS_SEEN if is_seen else _HEADS
    widths, room = _room_beside(heads_of_columns, numbers)
    if max(map(len, names)) > room:
        names = [_OUTSTANDING.sub(_depth_words, name) for name in names]
    if max(map(len, names)) > room and not is_seen:
        # the ratio is within its interval
        numbers = [(base, new, interval.replace(" to ", "–"), verdict) for base, new, _, interval, verdict in numbers]
        heads_of_columns = _HEADS_NARROW
        widths, room = _room_beside(heads_of_columns, numbers)
    heads = [""] * len(judged)
    if max(map(len, names)) > room and not any(level_words(row, usual) for row in judged):
        # nothing is to be told below a head: words are shortened in place of a second line
        names = [name.replace("sequential", "seq.").replace(" of a new file", ", new file") for name in names]
    if max(map(len, names)) > room:
        # below a head stands what tells its rows apart: of a long name the end would be cut
        heads = [row.label for row in judged]
        tails = [f"{level_words(row, usual)}{place}" for row, place in zip(judged, places, strict=True)]
        if max(map(len, tails)) + 2 > room:
            # the names of factors stand in the head
            heads = [f"{row.label}{_by_factors(row, usual)}" for row in judged]
            tails = [f"{level_words(row, usual, level_text)}{place}" for row, place in zip(judged, places, strict=True)]
        names = [f"  {tail.strip()}" for tail in tails]
    shown = [name if len(name) <= room else f"{name[: room - 4]} ..." for name in names]
    widths = [max(map(len, shown)), *widths]
    at_right = _AT_RIGHT_NARROW if heads_of_columns == _HEADS_NARROW else _AT_RIGHT
    lines = [_line(heads_of_columns, widths, at_right)]
    for head, members in groupby(zip(heads, shown, numbers, strict=True), key=itemgetter(0)):
        lines += [head[:WIDTH]] * bool(head)
        lines += [_line((name, *row), widths, at_right) for _, name, row in members]
    return lines


def _by_factors(row: MetricComparison, usual: Mapping[str, str]) -> str:
    """``: block size, file size``: what the levels below it are of."""
    names = [factor_head(name) for name, level in row.levels.items() if usual.get(name) != level]
    return f": {', '.join(names)}" if names else ""


def _room_beside(heads: Sequence[str], numbers: Sequence[Sequence[str]]) -> tuple[list[int], int]:
    """The widths of columns of numbers, and what they leave for the names of the rows."""
    widths = [max(map(len, column)) for column in zip(heads[1:], *numbers, strict=True)]
    return widths, WIDTH - sum(width + len("  ") for width in widths)


def _depth_words(found: re.Match[str]) -> str:
    """``, 8 outstanding`` in a few letters."""
    return f" QD{found[1] or 1}"


def _within(lines: Sequence[str], lines_max: int) -> Iterator[str]:
    """The lines, or as many as there is room for and how many more there are."""
    if len(lines) <= lines_max:
        yield from lines
        return
    shown = lines[: lines_max - 1]
    # a head without what is below it says nothing
    shown = shown[:-1] if shown and not shown[-1].startswith(" ") and lines[len(shown)].startswith(" ") else shown
    yield from shown
    yield f"  ... {counted(len(lines) - len(shown), 'more line')}: --details"


def _whole(told: Sequence[Sequence[str]], lines_max: int) -> Iterator[str]:
    """What is told, one after the other, as far as there is room for all lines of it."""
    if sum(map(len, told)) <= lines_max:
        yield from (line for one in told for line in one)
        return
    for place, one in enumerate(told):
        if len(one) >= lines_max:
            yield f"  ... {len(told) - place} more: --details"
            return
        yield from one
        lines_max -= len(one)


def _remarks(comparison: Comparison) -> Iterator[list[str]]:
    for why, combinations in reasons(comparison).items():
        yield _wrapped(f"not comparable: {why} ({', '.join(combinations)})", "  ")
    for remark in remarks(comparison):
        yield _wrapped(remark, "  ")


def _differences(comparison: Comparison) -> Iterator[list[str]]:
    if not comparison.differences:
        yield ["Nothing recorded about host, drive or versions differs."]
        return
    first, *others = (_wrapped(f"  {difference_words(one)}", "    ") for one in comparison.differences)
    yield from (["What differs:", *first], *others)


def _why(comparison: Comparison, *, plain: bool) -> Iterator[str]:
    """Which part of the latency differs, where both sides were traced."""
    for number, one in enumerate(comparison.part_differences):
        yield from ("", "") if number else ("", "Why they differ:")
        yield from difference_lines(one, WIDTH, plain=plain)


def _tables(comparison: Comparison) -> Iterator[str]:
    """The numbers of each combination below its name, the combination with the worst number first."""
    constant, usual = constant_levels(comparison.rows), usual_levels(comparison.rows)
    groups: dict[tuple[str, str], list[MetricComparison]] = {}
    for row in comparison.rows:
        groups.setdefault((row_words(row, usual), target_words(row)), []).append(row)
    shown = list(groups.items())[:COMBINATIONS_MAX]
    cells = {id(row): _cells(row) for _, rows in shown for row in rows}
    widths = [max(map(len, column)) for column in zip(_HEADS, *cells.values(), strict=True)]
    if constant:
        yield from _wrapped(f"everywhere: {levels_phrase(constant)}")
    if shown:
        yield _line(_HEADS, widths)
    several = len({target for _, target in groups}) > 1
    for (name, target), rows in shown:
        yield f"{name} on {target}" if several else name
        yield from (_line(cells[id(row)], widths) for row in rows)
    if shown:
        yield ""
    if len(groups) > len(shown):
        yield f"the {len(shown)} worst of {len(groups)} combinations; --format json has all"
        yield ""


def _cells(row: MetricComparison) -> tuple[str, ...]:
    short = {
        "equivalent": f"within {format_percent(row.margin)}",
        "no difference shown": "none shown",
        "seen only": f"looks {looks_words(row)}",
    }
    return (
        f"  {metric_of(row.metric).title}",
        *value_words(row),
        ratio_words(row.ratio.value),
        interval_words(row) or "-",
        short.get(row.verdict, row.verdict),
    )


def _line(cells: Sequence[str], widths: Sequence[int], at_right: Sequence[bool] = _AT_RIGHT) -> str:
    return "  ".join(
        cell.rjust(width) if is_right else cell.ljust(width)
        for cell, width, is_right in zip(cells, widths, at_right, strict=False)
    )


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(glued(text), WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
