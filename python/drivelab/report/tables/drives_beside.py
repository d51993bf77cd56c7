"""Drives as columns: each workload and setting that several of them were measured with is a row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from drivelab.model.lasting_rate import is_what_lasts
from drivelab.model.metric import metric_of
from drivelab.model.names import names_in_words
from drivelab.model.result_set import Observation, ResultSet
from drivelab.report.judged_order import judged_order
from drivelab.report.tables.drive_rows import DriveRow, drive_rows
from drivelab.report.tables.number import Number, number_of
from drivelab.report.tables.number_table import NumberColumn, NumberRow, number_table
from drivelab.report.tables.small_writes import (
    BLOCK_SIZE,
    Levels,
    SmallWrite,
    factor_head,
    factor_words,
    is_small_write,
    small_writes,
    title_with_size,
)
from drivelab.report.tables.table import Table

KEY = "drives-beside"
# of more a row is wider than a page
_DRIVES_MAX = 6
_CAPTION = "The best of a row is marked where its interval overlaps no other."
_NONE_IS_BEST = "No best is marked: of each there are too few repeats, or the intervals overlap."
# what was done, and every factor with its level
_Kind = tuple[str, Levels]
# by the place of a drive
_Measured = Mapping[int, Sequence[Observation]]
_Judged = Mapping[int, Number]


def drives_beside(sets: Sequence[ResultSet]) -> tuple[Table, ...]:
    """A table for each number that workloads are judged by, with a column per drive.

    Returns
    -------
    tuple of Table
        None of pages alone, of a single drive or of more than fit on a page, and where they have no workload in common.
    """
    drives = drive_rows(sets)
    if not 2 <= len(drives) <= _DRIVES_MAX or all(one.is_reference for one in drives):
        return ()
    by_metric: dict[str, dict[_Kind, _Judged]] = {}
    for kind, members in _by_kind(sets, drives).items():
        if (judged := _judged(members)) is not None:
            metric, numbers = judged
            by_metric.setdefault(metric, {})[kind] = numbers
    on_credit = {row.name for row in drives if any(is_what_lasts(one.estimate) for one in row.observations)}
    return tuple(_table(metric, found, drives, on_credit) for metric, found in by_metric.items())


def _table(
    metric: str, found: Mapping[_Kind, _Judged], drives: Sequence[DriveRow], on_credit: Collection[str]
) -> Table:
    of = metric_of(metric)
    titles = list(dict.fromkeys(title for title, _ in found))
    names = list(dict.fromkeys(name for _, levels in found for name, _ in levels if name != BLOCK_SIZE))
    words = {name: [factor_words(name, dict(levels)) for _, levels in found] for name in names}
    # what is the same in all rows is told once; a row has something to be called by
    fixed = [name for name in names if len(found) > 1 and len(set(words[name])) == 1]
    names = [name for name in names if name not in fixed]
    has_titles = len(titles) > 1 or not names
    rows = [
        NumberRow(
            (*([title] if has_titles else []), *(words[name][at] for name in names)),
            tuple(numbers.get(place) for place in range(len(drives))),
        )
        for at, ((title, _), numbers) in enumerate(found.items())
    ]
    columns = [NumberColumn(one.name, of.unit, None if not of.better else of.better == "low") for one in drives]
    heads = (*(["workload"] if has_titles else []), *map(factor_head, names))
    same = ", ".join(f"{factor_head(name)} {words[name][0]}" for name in fixed)
    title = f"Beside each other: {of.words}"
    title = f"{title} of {titles[0]}" if len(titles) == 1 else title
    made = number_table(KEY, title, heads, columns, rows, is_best_of_row=True)
    has_best = any(cell.is_best for row in made.rows for cell in row)
    seen = {place for numbers in found.values() for place in numbers}
    absent = [one.name for place, one in enumerate(drives) if place not in seen and one.name in on_credit]
    why = f"Without {names_in_words(absent)}: what lasts behind a burst or a cache is known as a rate only."
    numbers = [number for of_kind in found.values() for number in of_kind.values()]
    repeats = sorted({number.trial_count for number in numbers if number.run})
    captions = (
        _of_repeats(repeats[0], repeats[-1]) if repeats and repeats[-1] > 1 else "",
        f"All with {same}." if same else "",
        _CAPTION if has_best else _NONE_IS_BEST,
        why if absent and of.quantity == "latency" else "",
        made.caption,
    )
    return replace(made, caption=" ".join(filter(None, captions)))


def _of_repeats(fewest: int, most: int) -> str:
    count = most if fewest == most else f"{fewest} to {most}"
    return f"Each number is the median of {count} repeats, in brackets the lowest and the highest of them."


def _by_kind(sets: Sequence[ResultSet], drives: Sequence[DriveRow]) -> dict[_Kind, _Measured]:
    """What was measured of each workload and setting, by the place of the drive; small writes as all sets call them."""
    found: dict[_Kind, dict[int, list[Observation]]] = {}
    writes = small_writes(sets)
    for place, row in enumerate(drives):
        for kind, one in _observations(writes, row):
            found.setdefault(kind, {}).setdefault(place, []).append(one)
    # published drives beside each other are told by their own pages
    own = {place for place, row in enumerate(drives) if not row.is_reference}
    return {kind: members for kind, members in found.items() if len(members) > 1 and own & members.keys()}


def _observations(writes: Sequence[SmallWrite], row: DriveRow) -> Iterator[tuple[_Kind, Observation]]:
    for write in writes:
        for levels, one in write.of(row).items():
            yield (write.title, levels), one
    for one in row.observations:
        if not is_small_write(one):
            title = title_with_size(one.title or one.workload, one.block_size_bytes or None)
            yield (title, tuple(sorted(one.levels.items()))), one


def _judged(members: _Measured) -> tuple[str, _Judged] | None:
    """The number that the drives are judged by: the first that several of them have; None where they have none."""
    seen = [one for each in members.values() for one in each]
    for metric in judged_order(seen):
        numbers = {
            place: number
            for place, each in members.items()
            if (number := number_of([one for one in each if one.metric == metric])) is not None
        }
        if len(numbers) > 1:
            return metric, numbers
    return None
