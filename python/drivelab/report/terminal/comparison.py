"""A comparison for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from drivelab.model.comparison import Comparison, MetricComparison
from drivelab.model.level_words import levels_phrase
from drivelab.model.metric import metric_of
from drivelab.model.units import format_percent, glued
from drivelab.report.sentences.comparison import (
    constant_levels,
    difference_words,
    interval_words,
    level_words,
    looks_words,
    reasons,
    remarks,
    row_words,
    runs_words,
    scale_words,
    target_words,
    value_words,
)
from drivelab.report.sentences.comparison_answer import answers
from drivelab.report.sentences.effect_words import ratio_words
from drivelab.report.sentences.explanation_difference import difference_sentences
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.explanation_difference import difference_lines
from drivelab.report.terminal.wrapped import WIDTH

COMBINATIONS_MAX = 40
LINES_MAX = 30
_SUMMARY_LINES_MAX, _TABLE_LINES_MAX, _REMARK_LINES_MAX, _DIFFERENCE_LINES_MAX = 3, 9, 4, 4
# names of both sides, and an empty line below them and below the answer
_HEAD_LINES = 4
_HEADS = ("", "BASE", "NEW", "ratio", "95 % interval", "verdict")
_HEADS_SEEN = (*_HEADS[:4], "NEW looks")
_AT_RIGHT = (False, True, True, True, False, False)


def comparison_text(comparison: Comparison, *, plain: bool = False, is_whole: bool = True) -> str:
    """The comparison in lines of at most 80 columns, names of runs and combinations excepted.

    Parameters
    ----------
    comparison : Comparison
        What to print.
    plain : bool
        Whether the terminal knows ASCII only.
    is_whole : bool
        Whether all is told; otherwise what has room on a screen of `LINES_MAX` lines.
    """
    lines = _lines(comparison, plain=plain) if is_whole else _screen(comparison)
    return "\n".join(terminal_text(line, plain).rstrip() for line in lines) + "\n"


def _lines(comparison: Comparison, *, plain: bool) -> Iterator[str]:
    yield f"BASE  {runs_words(comparison.base)}"
    yield f"NEW   {runs_words(comparison.new)}"
    yield from filter(None, [scale_words(comparison)])
    yield ""
    for sentence in answers(comparison):
        yield from (*_wrapped(sentence), "")
    yield from _tables(comparison)
    yield from _remarks(comparison)
    yield from _why(comparison, plain=plain)
    yield from _differences(comparison)


def _screen(comparison: Comparison) -> Iterator[str]:
    """The answer, the worst numbers, and the first of what limits them."""
    for name, runs in (("BASE ", comparison.base), ("NEW  ", comparison.new)):
        yield textwrap.shorten(f"{name} {runs_words(runs)}", WIDTH, placeholder=" ...")
    yield from filter(None, [scale_words(comparison)])
    answer, *summary = answers(comparison)
    yield from ("", *_wrapped(answer), "")
    if comparison.is_anything_compared and not comparison.is_anything_judged:
        yield from _screen_of_seen(comparison, LINES_MAX - len(_wrapped(answer)) - _HEAD_LINES - 1)
        return
    for sentence in summary:
        yield from (*_within(_wrapped(sentence), _SUMMARY_LINES_MAX), "")
    rows = [line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..." for line in _tables(comparison) if line]
    yield from (*_within(rows, _TABLE_LINES_MAX), "")
    told = [sentence for one in comparison.part_differences[:1] for sentence in difference_sentences(one)[:1]]
    remarks = [*(line for sentence in told for line in _wrapped(sentence, "  ")), *_remarks(comparison)]
    yield from _within(remarks, _REMARK_LINES_MAX)
    yield from _within([line for line in _differences(comparison) if line], _DIFFERENCE_LINES_MAX)


def _screen_of_seen(comparison: Comparison, lines_max: int) -> Iterator[str]:
    """What was seen of each number, a line each, then what it takes to tell more."""
    constant = constant_levels(comparison.rows)
    judged = [row for row in comparison.rows if row.is_judged]
    several = len({target_words(row) for row in judged}) > 1
    places = [f" on {target_words(row)}" * several for row in judged]
    names = [f"{row_words(row, constant)}{place}" for row, place in zip(judged, places, strict=True)]
    numbers = [(*value_words(row), ratio_words(row.ratio.value), looks_words(row)) for row in judged]
    widths = [max(map(len, column)) for column in zip(_HEADS_SEEN[1:], *numbers, strict=True)]
    room = WIDTH - sum(width + len("  ") for width in widths)
    heads = [""] * len(judged)
    if max(map(len, names)) > room:
        # below a head stands what tells its rows apart: of a long name the end would be cut
        heads = [row.label for row in judged]
        tails = [f"{level_words(row, constant)}{place}" for row, place in zip(judged, places, strict=True)]
        names = [f"  {tail.strip()}" for tail in tails]
    shown = [name if len(name) <= room else f"{name[: room - 4]} ..." for name in names]
    widths = [max(map(len, shown)), *widths]
    lines = [_line(_HEADS_SEEN, widths)]
    for head, members in groupby(zip(heads, shown, numbers, strict=True), key=itemgetter(0)):
        lines += [head[:WIDTH]] * bool(head)
        lines += [_line((name, *row), widths) for _, name, row in members]
    told = [*comparison.notes, *(one for one in remarks(comparison) if one not in comparison.notes)]
    below = ["", *_within([line for one in told for line in _wrapped(one, "  ")], _REMARK_LINES_MAX)]
    differences = [line for line in _differences(comparison) if line]
    left = lines_max - len(below) - len(lines)
    below += _within(differences, max(2, min(_DIFFERENCE_LINES_MAX, left)))
    yield from (*_within(lines, lines_max - len(below)), *below)


def _within(lines: Sequence[str], lines_max: int) -> Iterator[str]:
    """The lines, or as many as there is room for and how many more there are."""
    if len(lines) <= lines_max:
        yield from lines
        return
    yield from lines[: lines_max - 1]
    yield f"  ... {len(lines) - lines_max + 1} more lines: --details"


def _remarks(comparison: Comparison) -> Iterator[str]:
    for why, combinations in reasons(comparison).items():
        yield from _wrapped(f"not comparable: {why} ({', '.join(combinations)})", "  ")
    for remark in remarks(comparison):
        yield from _wrapped(remark, "  ")


def _differences(comparison: Comparison) -> Iterator[str]:
    if comparison.differences:
        yield ""
        yield "What differs:"
        for one in comparison.differences:
            yield from _wrapped(f"  {difference_words(one)}", "    ")
    else:
        yield "Of hosts, drives and versions nothing that was recorded differs."


def _why(comparison: Comparison, *, plain: bool) -> Iterator[str]:
    """Which part of the latency differs, where both sides were traced."""
    for number, one in enumerate(comparison.part_differences):
        yield from ("", "") if number else ("", "Why they differ:")
        yield from difference_lines(one, WIDTH, plain=plain)


def _tables(comparison: Comparison) -> Iterator[str]:
    """The numbers of each combination below its name, the combination with the worst number first."""
    constant = constant_levels(comparison.rows)
    groups: dict[tuple[str, str], list[MetricComparison]] = {}
    for row in comparison.rows:
        groups.setdefault((row_words(row, constant), target_words(row)), []).append(row)
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


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(
        cell.rjust(width) if at_right else cell.ljust(width)
        for cell, width, at_right in zip(cells, widths, _AT_RIGHT, strict=False)
    )


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(glued(text), WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
