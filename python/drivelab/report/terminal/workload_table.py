"""The table of one workload on a screen: a row for each combination, a column for each factor and target.

Where two factors were varied on one target and rows would run off the screen, they make a square
(`drivelab.report.terminal.square_table`).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, P99, RATE
from drivelab.model.level_words import is_quantity, level_phrase
from drivelab.model.metric import FLUSHES, WRITES, metric_of
from drivelab.model.operations_apart import is_together
from drivelab.model.run_answer import CombinationResult
from drivelab.model.setting import SETTING_NAMES
from drivelab.report.combination_labels import (
    CHANGED_TO,
    NOT_APPLICABLE,
    CombinationLabels,
    combination_labels,
    levels_without,
    own_factors,
    shown_metric,
)
from drivelab.report.numerals import latency_text, number_text, span_beside, value_writer
from drivelab.report.terminal.shown_rows import shown_places
from drivelab.report.terminal.square_table import square_table
from drivelab.report.terminal.wrapped import WIDTH

if TYPE_CHECKING:
    from rich.table import Table

_NAME_WIDTH_MIN = 16
# of several targets the names of rows have at least this below their head, and with it, before ranges go
_NAME_WIDTH_LEAST, _NAMES_ROOM_MIN = 2, 8
_GAP = 2
_PADDING = (0, _GAP, 0, 0)
# combinations, each operation of a mix one, from which two factors make a square
_SQUARE_ROWS_MIN = 10
_WORK, _SLOWEST = "the drive does", "p99 latency"
# of several targets, whose numbers need the room
_WORK_SHORT = "writes +\nflushes"
_HEADS = {LATENCY: "median", MEAN_LATENCY: "mean", RATE: "per s"}
_NOUNS = (("writes", WRITES), ("flushes", FLUSHES))
Cell = TypeVar("Cell")
Justify = Literal["left", "right"]
Clean = Callable[[str], str]
Key = tuple[tuple[str, str], ...]
# heads with alignments, and rows of numbers
Cells = tuple[list[tuple[str, Justify]], list[list[str]]]


def row_count(group: Sequence[CombinationResult]) -> int:
    """How many rows a workload has, of all targets together."""
    return len(set(map(_key, _shown(group))))


def _shown(group: Sequence[CombinationResult]) -> list[CombinationResult]:
    """What a table shows of a workload: no setting that belongs to a target, and of rounds no part without a number.

    Where rounds are told by their I/Os a second, that of a mix is the one of all operations together.
    """
    metric = shown_metric(group)
    own = own_factors(group).intersection(SETTING_NAMES)
    if any(one.is_of_rounds for one in group) and metric == RATE:
        group = [replace(one, operation="") for one in group if is_together(one.operation)]
    elif any(one.is_of_rounds for one in group):
        group = [one for one in group if _number(one, metric, repeats_min=1)[0]]
    return [replace(one, levels=dict(levels_without(one, own))) for one in group]


def _key(one: CombinationResult) -> Key:
    """What two combinations have in common that stand in one row."""
    return (("operation", one.operation), *one.levels.items())


def workload_table(
    group: Sequence[CombinationResult],
    rows_max: int,
    clean: Clean,
    *,
    is_one_at_a_time: bool,
    first: Sequence[Mapping[str, str]] = (),
) -> tuple[Table, int]:
    """A table of one workload, and how many rows it leaves out; several targets have a column each.

    Parameters
    ----------
    rows_max : int
        That there is room for.
    is_one_at_a_time : bool
        Whether each combination differs from the first in one level.
    first : sequence of mapping of str to str
        Levels of combinations that come first, in this order.
    """
    from rich.table import Table
    from rich.text import Text

    every, group = group, _shown(group)
    number = partial(_number, repeats_min=2 if max(one.trial_count for one in group) > 1 else 1)
    targets: dict[str, dict[Key, CombinationResult]] = {}
    for one in group:
        targets.setdefault(one.target, {})[_key(one)] = one
    firsts = {_key(one): one for one in reversed(group)}
    rows = list(dict.fromkeys(map(_key, group)))
    metric = shown_metric(group)
    if len(targets) == 1 and len(set(map(_key, every))) >= _SQUARE_ROWS_MIN:
        heads = (_head(metric), _span_head(group))
        square = square_table([firsts[key] for key in rows], partial(number, metric=metric), heads, clean)
        if square is not None and square.row_count <= rows_max:
            return square, 0
    rows.sort(key=lambda key: _place_among(first, firsts[key]))
    labels = combination_labels([firsts[key] for key in rows], is_one_at_a_time=is_one_at_a_time)
    columns = _columns(metric, list(targets), group)
    leading = sum(_place_among(first, firsts[key]) < len(first) for key in rows)
    shown = shown_places([dict(key) for key in rows], rows_max, leading)
    tells_others, numbers = _tells_others(list(targets), group, metric), []
    for key in (rows[place] for place in shown):
        pairs = [number(members.get(key), metric) for members in targets.values()]
        cells = [text for value, span in pairs for text in (_with_unit(value, metric, len(targets)), span)]
        more = _others(firsts[key], metric) if tells_others else ()
        numbers.append([*cells, *more, _commands(firsts[key], is_short=len(targets) > 1)][: len(columns)])
    fitted = _fitted(labels, shown, _with_cells((columns, numbers)), is_one_target=len(targets) == 1)
    if fitted is None:
        by_drive = [replace(one, target="", levels={**one.levels, "drive": one.target}) for one in group]
        return workload_table(by_drive, rows_max, clean, is_one_at_a_time=False)
    names, (columns, numbers) = fitted
    table = Table(box=None, pad_edge=False, padding=_PADDING, header_style="dim")
    # numbers that are cut read as others, so names are the narrower where these need the room
    name_width = min(_NAME_WIDTH_MIN, _room_beside(columns, numbers) - _GAP)
    for place, head in enumerate(names[0]):
        width = max(0, name_width - sum(map(len, names[0][:-1]))) if place == len(names[0]) - 1 else None
        table.add_column(clean(head), min_width=width)
    for head, justify in columns:
        table.add_column(clean(head), justify=justify, no_wrap=True)
    for name, told in zip(names[1:], numbers, strict=True):
        table.add_row(*map(clean, name), *(Text(clean(cell)) for cell in told))
    return table, len(rows) - len(shown)


def _with_cells(cells: Cells) -> Cells:
    """The columns that have something in them: of a single repeat that fell there is no interval."""
    columns, numbers = cells
    known = [place for place in range(len(columns)) if any(row[place] for row in numbers)]
    return [columns[place] for place in known], [[row[place] for place in known] for row in numbers]


def _place_among(first: Sequence[Mapping[str, str]], one: CombinationResult) -> int:
    """The place of the levels that a combination has; those of none come behind."""
    return next((at for at, levels in enumerate(first) if one.levels.items() <= levels.items()), len(first))


def _fitted(
    labels: CombinationLabels, shown: Sequence[int], cells: Cells, *, is_one_target: bool
) -> tuple[list[list[str]], Cells] | None:
    """What names the rows, beside as many columns as there is room for; None where several targets have none."""
    for way in [cells] if is_one_target else _ways(cells):
        columns, numbers = way
        room = _room_beside(columns, numbers)
        if room < _NAMES_ROOM_MIN and not is_one_target:
            continue
        # of several targets a name that reaches the next column costs a range
        names = _name_columns(labels, shown, room - (0 if is_one_target else _GAP))
        spare = _spare_column([head for head, _ in columns], is_one_target=is_one_target)
        if len(names[0]) < len(labels.names) and spare is not None and _are_numbers(labels):
            columns, numbers = _without(columns, spare), [_without(told, spare) for told in numbers]
            room = _room_beside(columns, numbers)
            names = _name_columns(labels, shown, room)
        head_width = max(len(line) for head in names[0] for line in head.split("\n"))
        are_whole = len(names[0]) == len(labels.names) and not any("\n" in head for head in names[0])
        if is_one_target or are_whole or room >= head_width + _GAP + _NAME_WIDTH_LEAST:
            return names, (columns, numbers)
    return None


def _ways(cells: Cells) -> Iterator[Cells]:
    """Columns of several targets: all, then without ranges (one that is cut reads as another); heads in more lines."""
    columns, numbers = cells
    widths = [max(len(told[place]) for told in numbers) for place in range(len(columns))]
    broken: tuple[Callable[[str, int], str], ...] = (lambda name, _: name, _behind_kind, _in_lines)
    every = [head for head, justify in columns if justify == "left"]
    for heads in (every, [_WORK_SHORT], []):
        kept = [place for place, (head, justify) in enumerate(columns) if justify == "right" or head in heads]
        told = [[row[place] for place in kept] for row in numbers]
        for write in broken:
            named = ((*columns[place], widths[place]) for place in kept)
            yield [(write(head, width) if way == "right" else head, way) for head, way, width in named], told


def _behind_kind(name: str, _: int) -> str:
    """The name of a simulated drive below its kind."""
    return name.replace("sim:", "sim:\n", 1)


def _in_lines(name: str, width: int) -> str:
    """A name of a drive in lines no wider than its numbers, as far as its own signs divide it."""
    lines = [""]
    for part in re.findall(r"[^-:_ /]*[-:_ /]?", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _are_numbers(labels: CombinationLabels) -> bool:
    """Whether levels say nothing without the name of their factor, since those of several are numbers."""
    columns = zip(*labels.rows, strict=True)
    return sum(all(is_quantity(cell.replace(" ", "")) for cell in column) for column in columns) > 1


def _spare_column(heads: Sequence[str], *, is_one_target: bool) -> int | None:
    """What goes first where names have no room: what the slowest take, or of several targets what the drives do."""
    spare = (_SLOWEST,) if is_one_target else (_WORK_SHORT,)
    return next((place for place, head in enumerate(heads) if head in spare), None)


def _without(cells: Sequence[Cell], place: int) -> list[Cell]:
    return [*cells[:place], *cells[place + 1 :]]


def _room_beside(columns: Sequence[tuple[str, Justify]], numbers: Sequence[Sequence[str]]) -> int:
    """The width that columns of numbers leave for the names of their rows."""
    cells = zip([head for head, _ in columns], *numbers, strict=True)
    return WIDTH - sum(max(len(line) for cell in column for line in cell.split("\n")) + _GAP for column in cells)


def _name_columns(labels: CombinationLabels, shown: Sequence[int], room: int) -> list[list[str]]:
    """Heads and cells that name the rows: a column for each factor, or one of all where there is no room for that."""
    heads = [name.replace("_", " ") for name in labels.names]
    # what a combination does not have says nothing, and what was read back instead is told by the sentences
    rows = [["" if cell == NOT_APPLICABLE else _as_asked(cell) for cell in labels.rows[place]] for place in shown]
    if not heads:
        return [["  "] for _ in (None, *rows)]
    widths = [
        max(len(line) for cell in column for line in cell.split("\n")) for column in zip(heads, *rows, strict=True)
    ]
    if heads == CHANGED_TO:
        heads, rows = [", ".join(heads)], [[level_phrase(*row).strip()] for row in rows]
    elif sum(widths) + _GAP * (len(widths) + 1) > room:
        heads, rows = [", ".join(heads)], [[" ".join(filter(None, row))] for row in rows]
    else:
        rows = [_without_repeated(row, before) for row, before in zip(rows, [None, *rows[:-1]], strict=True)]
    if len(heads) == 1:
        # hyphens are parts of names here, unless there is no room for one; and a name goes on further in
        longest = max(len(word) for (cell,) in (heads, *rows) for word in cell.split() or [""])
        is_narrow = longest > room - 2 * _GAP
        wrap = partial(textwrap.wrap, width=room - _GAP, subsequent_indent=" " * _GAP, break_on_hyphens=is_narrow)
        heads, *rows = [
            ["\n".join(line for part in cell.split("\n") for line in wrap(part))] for (cell,) in (heads, *rows)
        ]
    return [[f"  {first}".replace("\n", "\n  "), *rest] for first, *rest in (heads, *rows)]


def _as_asked(cell: str) -> str:
    asked, not_taken, _ = cell.partition(" -> ")
    return f"{asked}, not taken" if not_taken else asked


def _without_repeated(row: Sequence[str], before: Sequence[str] | None) -> list[str]:
    """The cells of a row, those left out that are as in the row above, up to the first that is not."""
    same = 0
    while before is not None and same < len(row) - 1 and row[same] == before[same]:
        same += 1
    return [*[""] * same, *row[same:]]


def _head(metric: str) -> str:
    one = metric_of(metric)
    kind = {"latency": "typical latency", "rate": "per second"}.get(one.quantity, one.words)
    return _HEADS.get(metric, kind)


def _span_head(group: Sequence[CombinationResult]) -> str:
    """What stands beside a number: the range over so many repeats, or the interval of the only one."""
    counts = sorted({one.trial_count for one in group})
    several = "rounds" if any(one.is_of_rounds for one in group) else "repeats"
    told = "–".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    return f"{told} {several}" if counts[-1] > 1 else "95 %"


def _columns(metric: str, targets: Sequence[str], group: Sequence[CombinationResult]) -> list[tuple[str, Justify]]:
    """Head and alignment of each column of numbers."""
    found: list[tuple[str, Justify]] = []
    span = _span_head(group)
    for target in targets:
        head = target if len(targets) > 1 else _head(metric)
        found += [(head, "right"), (span, "left")]
    if _tells_others(targets, group, metric):
        found.append((_SLOWEST if metric != RATE else "median", "right"))
    work = _WORK if len(targets) == 1 else _WORK_SHORT
    return [*found, (work, "left")] if any(map(_commands, group)) else found


def _number(one: CombinationResult | None, metric: str, repeats_min: int) -> tuple[str, str]:
    """The number, and its range without the unit where it is the same; none of fewer repeats, beside others' ranges."""
    found = one.metrics.get(metric) if one is not None else None
    if found is None:
        low = one.bounds.get(metric, (None, None))[0] if one is not None else None
        return ("" if low is None else f"≥ {_write(metric, low)}"), ""
    value = _write(metric, found.value)
    if found.at_first is not None:
        return value, f"at first {_write(metric, found.at_first)}"
    low, high = found.ends
    if low is None or high is None or found.repeat_count < repeats_min:
        return value, ""
    return value, span_beside(value, _write(metric, low), _write(metric, high))


def why_without_interval(group: Sequence[CombinationResult]) -> str:
    """What stands below the table of a workload in which numbers have nothing beside them; empty where all have."""
    metric = shown_metric(group)
    found = [one.metrics[metric] for one in _shown(group) if metric in one.metrics]
    lacking = sum(one.is_seen and None in one.ends for one in found)
    which = "none" if lacking == len(found) else f"{lacking} of {len(found)} numbers have none"
    return f"95 %: {which}, too few I/Os for an interval" if lacking else ""


def _with_unit(value: str, metric: str, targets: int = 0) -> str:
    """The number with its unit, which only the head of a single target's column tells of a rate."""
    return f"{value}/s" if value and metric == RATE and targets != 1 else value


def _others(one: CombinationResult, metric: str) -> tuple[str]:
    """The slowest 1 % of what is judged, or the median latency where they are counted."""
    name = LATENCY if metric == RATE else P99
    found = one.metrics.get(name)
    if found is not None:
        return (latency_text(found.value),)
    low = one.bounds.get(name, (None, None))[0]
    return ("" if low is None else f"≥ {latency_text(low)}",)


def _tells_others(targets: Sequence[str], group: Sequence[CombinationResult], metric: str) -> bool:
    """Whether there is a column of them: for one target, where any row has one."""
    return len(targets) == 1 and any(text for one in group for text in _others(one, metric))


def _write(metric: str, value: float) -> str:
    return number_text(value) if metric == RATE else value_writer(metric)(value)


def _commands(one: CombinationResult, *, is_short: bool = False) -> str:
    """``3 writes, 2 flushes``, ``49–51 writes, 2 flushes`` of what is durable; short ``3 + 2``; unknown is ``?``."""
    known = [_count(one, metric) for _, metric in _NOUNS]
    if not one.is_durable or not any(known):
        return ""
    counts = [count or "?" for count in known]
    if is_short:
        return " + ".join(counts)
    nouns = [noun for noun, _ in _NOUNS]
    singular = {noun: noun[: -2 if noun == "flushes" else -1] for noun in nouns}
    return ", ".join(
        f"{count} {singular[noun] if count == '1' else noun}" for count, noun in zip(counts, nouns, strict=True)
    )


def _count(one: CombinationResult, metric: str) -> str:
    """How many an operation takes, or between what they were counted; empty where neither is known."""
    found, (low, high) = one.metrics.get(metric), one.bounds.get(metric, (None, None))
    if found is not None:
        return _whole(found.value)
    if low is None or high is None:
        return ""
    return _whole(low) if _whole(low) == _whole(high) else f"{_whole(low)}–{_whole(high)}"


def _whole(count: float) -> str:
    return f"{count:.1f}".removesuffix(".0")
