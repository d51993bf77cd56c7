"""Many workloads of one run in one table: each is a row, and what was varied are the columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from drivelab.model.judged_metric import DURATION
from drivelab.model.level_words import levels_phrase
from drivelab.model.run_answer import CombinationResult
from drivelab.report.combination_labels import NOT_APPLICABLE, combination_labels, over_words
from drivelab.report.numerals import span_beside, value_writer
from drivelab.report.terminal.wrapped import WIDTH

if TYPE_CHECKING:
    from rich.table import Table

ROWS_MIN = 3
_LABEL_WIDTH_MIN = 16
# more combinations than these are told by the least and the greatest of them
_COLUMNS_MAX = 4
# between columns, and before the first
_GAP = 2
_PADDING = (0, _GAP, 0, 0)

Group = Sequence[CombinationResult]
Justify = Literal["left", "right"]


def matrix_of(
    groups: Sequence[Group], lines_max: int, clean: Callable[[str], str], *, of_tasks: bool
) -> tuple[Table, int] | None:
    """A table of many workloads, and how many of them it leaves out.

    Parameters
    ----------
    groups : sequence of sequence of CombinationResult
        The combinations of each workload.
    lines_max : int
        That there are for it, its head included.
    clean : callable
        Makes text fit for the terminal.
    of_tasks : bool
        Whether the whole time of a task is what counts.

    Returns
    -------
    (rich.table.Table, int) or None
        None of less than `ROWS_MIN` workloads, of several targets, and where levels leave no room for names.
    """
    from rich.table import Table
    from rich.text import Text

    if len(groups) < ROWS_MIN or len({one.target for group in groups for one in group}) > 1:
        return None
    repeats = max(one.trial_count for group in groups for one in group)
    held = ""
    if max(map(len, groups)) > _COLUMNS_MAX:
        groups, held = _alike(groups)
    labelled = [_labelled(group) for group in groups]
    names = next((names for names, _ in labelled if names), "")
    heads = list(dict.fromkeys(label for _, labels in labelled for label in labels))
    columns: list[tuple[str, Justify]] = [(head, "right") for head in heads]
    if len(heads) > _COLUMNS_MAX:
        columns = [("lowest", "right"), ("at", "left"), ("highest", "right"), ("at", "left")]
        rows = [_ends(group, labels, of_tasks=of_tasks) for group, (_, labels) in zip(groups, labelled, strict=True)]
    elif len(heads) > 1:
        rows = [
            [_value(group[labels.index(head)], of_tasks=of_tasks) if head in labels else "" for head in heads]
            for group, (_, labels) in zip(groups, labelled, strict=True)
        ]
    else:
        columns = [("", "right"), ("all repeats" if repeats > 1 else "95 %", "left")]
        rows = [_with_range(group[0], of_tasks=of_tasks) for group in groups]
    over = over_words([one for group in groups for one in group])
    title = Text(clean(f"  {over}{f', by {names}' if names else ''}{held}"), style="dim")
    table = Table(box=None, pad_edge=False, padding=_PADDING, header_style="dim", title=title, title_justify="left")
    cells = zip(*([head for head, _ in columns], *rows), strict=True)
    widths = [max(map(len, column)) + _GAP for column in cells]
    room = WIDTH - sum(widths) - _GAP
    if room < _LABEL_WIDTH_MIN:
        return None
    label_width = min(max(len(_label(group[0])) for group in groups) + _GAP, room)
    table.add_column(no_wrap=True, width=label_width)
    for head, justify in columns:
        table.add_column(clean(head), justify=justify, no_wrap=True)
    # the title and the head take two lines
    wrap = partial(textwrap.wrap, width=label_width, initial_indent=" " * _GAP, subsequent_indent=" " * 2 * _GAP)
    labels = [wrap(clean(_label(group[0]))) for group in groups]
    ends = list(accumulate(map(len, labels)))
    shown = len(groups) if ends[-1] + 2 <= lines_max else sum(end + 3 <= lines_max for end in ends)
    for label, row in list(zip(labels, rows, strict=True))[:shown]:
        table.add_row("\n".join(label), *(Text(clean(cell)) for cell in row))
    return table, len(groups) - shown


def _label(one: CombinationResult) -> str:
    return f"{one.label}, {one.operation}" if one.operation else one.label


def _labelled(group: Group) -> tuple[str, list[str]]:
    """The names of what is varied, and the levels of each combination."""
    labels = combination_labels(group)
    rows = [" ".join(cell for cell in row if cell != NOT_APPLICABLE) for row in labels.rows]
    return ", ".join(labels.names).replace("_", " "), rows


def _alike(groups: Sequence[Group]) -> tuple[list[Group], str]:
    """Of many combinations those that differ in the first factor alone, and what all of them have in common."""
    kept: list[Group] = []
    held: dict[str, str] = {}
    for group in groups:
        others = combination_labels(group).names[1:]
        levels = {name: [one.levels[name] for one in group if name in one.levels] for name in others}
        # names of columns that are no factors (size, operation) have no level
        fixed = {name: known[0] for name, known in levels.items() if known}
        # a factor that a combination does not have counts as its first level
        kept.append([one for one in group if fixed.items() <= (fixed | dict(one.levels)).items()])
        held |= fixed
    return kept, f", with {levels_phrase(held)}" if held else ""


def _metric(one: CombinationResult, *, of_tasks: bool) -> str:
    return DURATION if of_tasks and DURATION in one.metrics else one.judged_metric


def _value(one: CombinationResult, *, of_tasks: bool) -> str:
    metric = _metric(one, of_tasks=of_tasks)
    return value_writer(metric)(one.metrics[metric].value) if metric in one.metrics else ""


def _with_range(one: CombinationResult, *, of_tasks: bool) -> list[str]:
    metric = _metric(one, of_tasks=of_tasks)
    value, found = _value(one, of_tasks=of_tasks), one.metrics.get(metric)
    low, high = found.ends if found else (None, None)
    write = value_writer(metric)
    return [value, "" if low is None or high is None else span_beside(value, write(low), write(high))]


def _ends(group: Group, labels: Sequence[str], *, of_tasks: bool) -> list[str]:
    """The least and the greatest number, each with its levels."""
    known = [
        (one.metrics[metric].value, place)
        for place, one in enumerate(group)
        if (metric := _metric(one, of_tasks=of_tasks)) in one.metrics
    ]
    if not known:
        return [""] * 4
    places = [min(known)[1], max(known)[1]]
    return [text for place in places for text in (_value(group[place], of_tasks=of_tasks), labels[place])]
