"""Many workloads of one run in one table: each is a row, and what was varied are the columns."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.judged_metric import DURATION
from drivelab.model.level_words import levels_phrase, with_factor
from drivelab.model.run_answer import CombinationResult
from drivelab.report.combination_labels import (
    NOT_APPLICABLE,
    combination_labels,
    invalid_words,
    over_words,
    shown_metric,
)
from drivelab.report.numerals import span_beside, value_writer
from drivelab.report.parts_of_text import capitalised
from drivelab.report.tables.table import Table, TableColumn, text_rows

KEY = "workloads"
ROWS_MIN = 3
# more combinations than these are told by the least and the greatest of them
_COLUMNS_MAX = 4
# what a target has that cannot be varied there
_AS_IT_IS = "as it is"

Group = Sequence[CombinationResult]


def matrix_table(groups: Sequence[Group], *, of_tasks: bool) -> Table | None:
    """A row for each of many workloads; columns are what was varied, on each target.

    Parameters
    ----------
    of_tasks : bool
        Whether the whole time of a task is what counts.

    Returns
    -------
    Table or None
        None of less than `ROWS_MIN` workloads, and of more targets than there is room for.
    """
    targets = {one.target for group in groups for one in group}
    if len(groups) < ROWS_MIN or len(targets) > _COLUMNS_MAX:
        return None
    repeats = max(one.trial_count for group in groups for one in group)
    held = ""
    if max(map(len, groups)) > _COLUMNS_MAX:
        groups, held = _alike(groups)
    labelled = [_labelled(group) for group in groups]
    metrics = [_metric(group, of_tasks=of_tasks) for group in groups]
    names = next((names for names, _ in labelled if names), "")
    heads = list(dict.fromkeys(label for _, labels in labelled for label in labels))
    columns = [TableColumn(head or _AS_IT_IS, is_number=True) for head in heads]
    if len(heads) > _COLUMNS_MAX:
        at = TableColumn("at")
        columns = [TableColumn("lowest", is_number=True), at, TableColumn("highest", is_number=True), at]
        rows = [
            _ends(group, labels, metric) for group, (_, labels), metric in zip(groups, labelled, metrics, strict=True)
        ]
    elif len(heads) > 1:
        rows = [
            [_value(group[labels.index(head)], metric) if head in labels else "" for head in heads]
            for group, (_, labels), metric in zip(groups, labelled, metrics, strict=True)
        ]
    else:
        columns = [TableColumn("", is_number=True), TableColumn("all repeats" if repeats > 1 else "95 %")]
        rows = [_with_range(group[0], metric) for group, metric in zip(groups, metrics, strict=True)]
    over = over_words([one for group in groups for one in group])
    title = capitalised(f"{over}{f', by {names}' if names else ''}{held}")
    is_each_of_one = len(targets) > 1 and all(len({one.target for one in group}) == 1 for group in groups)
    cells = [
        [f"{_label(group[0])}{f' (on {group[0].target})' * is_each_of_one}{invalid_words(group)}", *row]
        for group, row in zip(groups, rows, strict=True)
    ]
    return Table(KEY, title, (TableColumn("workload"), *columns), text_rows(cells))


def _label(one: CombinationResult) -> str:
    return f"{one.label}, {one.operation}" if one.operation else one.label


def _labelled(group: Group) -> tuple[str, list[str]]:
    """The names of what is varied, and the levels of each combination; of several targets with theirs."""
    labels = combination_labels(group)
    is_several = len({one.target for one in group}) > 1
    rows = [
        ", ".join([*([one.target] if is_several else []), *_level_words(labels.names, row)])
        for one, row in zip(group, labels.rows, strict=True)
    ]
    return ", ".join(labels.names).replace("_", " "), rows


def _level_words(names: Sequence[str], row: Sequence[str]) -> list[str]:
    """The levels of a combination; beside others a number has its factor: ``ext4``, ``job count 4``."""
    known = [(name, cell) for name, cell in zip(names, row, strict=True) if cell != NOT_APPLICABLE]
    return [with_factor(*one) if one[1].isdecimal() and len(names) > 1 else one[1] for one in known]


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
    # a workload that has it in its own name does not have it here
    everywhere = all(held.keys() <= one.levels.keys() for group in kept for one in group)
    return kept, f", with {levels_phrase(held)}{'' if everywhere else ' where it was varied'}" if held else ""


def _metric(group: Group, *, of_tasks: bool) -> str:
    return DURATION if of_tasks and any(DURATION in one.metrics for one in group) else shown_metric(group)


def _value(one: CombinationResult, metric: str) -> str:
    return value_writer(metric)(one.metrics[metric].value) if metric in one.metrics else ""


def _with_range(one: CombinationResult, metric: str) -> list[str]:
    value, found = _value(one, metric), one.metrics.get(metric)
    low, high = found.ends if found else (None, None)
    write = value_writer(metric)
    return [value, "" if low is None or high is None else span_beside(value, write(low), write(high))]


def _ends(group: Group, labels: Sequence[str], metric: str) -> list[str]:
    """The least and the greatest number, each with its levels."""
    known = [(one.metrics[metric].value, place) for place, one in enumerate(group) if metric in one.metrics]
    if not known:
        return [""] * 4
    places = [min(known)[1], max(known)[1]]
    return [text for place in places for text in (_value(group[place], metric), labels[place])]
