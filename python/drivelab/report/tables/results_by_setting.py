"""What a small durable write costs with every setting: the raw table, a row per combination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from drivelab.model.metric import FLUSHES, WRITES, metric_of
from drivelab.model.result_set import Observation, ResultSet
from drivelab.report.combination_labels import NOT_APPLICABLE
from drivelab.report.tables.drive_rows import DriveRow, drive_rows
from drivelab.report.tables.number import Number, number_of
from drivelab.report.tables.number_table import NumberColumn, NumberRow, number_table
from drivelab.report.tables.page_form import PageRow, page_form, page_table
from drivelab.report.tables.small_writes import (
    Levels,
    SmallWrite,
    cache_words,
    factor_words,
    filesystem_words,
    small_writes,
    trim_words,
    varying_factors,
)
from drivelab.report.tables.table import Table

KEY = "results-by-setting"
TITLE = "Latency of a small durable write, by setting"
_CAPTION = (
    "From the call of the write until it is durable. Where a drive was measured more than once the number is the "
    "median of the repeats and its interval their range; otherwise the interval holds the true value with 95 %. "
    "Writes and flushes are what the drive was told to do for one operation."
)
_Found = tuple[DriveRow, SmallWrite, Levels, Observation]


def results_by_setting(sets: Sequence[ResultSet]) -> Table | None:
    """Rows of drive, write cache, file system and trim with their latency; None without durable small writes."""
    writes = small_writes(sets)
    found = [
        (row, write, levels, one)
        for row in drive_rows(sets)
        for write in writes
        for levels, one in write.of(row).items()
    ]
    if not found:
        return None
    if len(sets) == 1 and (form := page_form(sets[0], KEY)) is not None:
        return page_table(sets[0], form, TITLE, [_page_row(*each) for each in found])
    factors = varying_factors(dict(levels) for _, _, levels, _ in found)
    texts = ["drive", "firmware", "workload", "write cache", "file system", "TRIM", *factors]
    latency = writes[0].latency if len({write.latency for write in writes}) == 1 else "latency"
    # 512 B are not compared with 16 KiB
    columns = [NumberColumn(latency, "ns", is_better_when_low=True if len(writes) == 1 else None)]
    columns += [NumberColumn(f"device {metric_of(metric).words} per operation", "1") for metric in (WRITES, FLUSHES)]
    rows = [_row(each, factors, is_alone=len(writes) == 1) for each in found]
    title = f"{TITLE}: {writes[0].title}" if len(writes) == 1 else TITLE
    as_printed = len(sets) == 1 and sets[0].is_reference
    return number_table(KEY, title, texts, columns, rows, "" if as_printed else _CAPTION, as_printed=as_printed)


def _row(found: _Found, factors: Sequence[str], *, is_alone: bool) -> NumberRow:
    row, write, pairs, one = found
    levels = dict(pairs)
    texts = (
        row.name,
        row.drive.firmware,
        "" if is_alone else write.title,
        cache_words(levels),
        filesystem_words(levels),
        trim_words(levels) if "mount" in levels else NOT_APPLICABLE,
        *(factor_words(name, levels) for name in factors),
    )
    return NumberRow(texts, (number_of([one]), *_commands(one)), text_notes=write.row_notes(row))


def _commands(one: Observation) -> Iterator[Number | None]:
    for metric in (WRITES, FLUSHES):
        low, high = one.commands.get(metric, (None, None))
        if low is None or high is None:
            yield None
        else:
            yield Number(low, None, None, "1") if low == high else Number(None, low, high, "1")


def _page_row(row: DriveRow, _write: SmallWrite, pairs: Levels, one: Observation) -> PageRow:
    levels: Mapping[str, str] = dict(pairs)
    latency = number_of([one])
    texts = {
        "drive name/model": row.drive.name,
        "drive": row.drive.name,
        "firmware": row.drive.firmware,
        "write cache": cache_words(levels),
        "filesystem": filesystem_words(levels),
        "trim": trim_words(levels),
    }
    name = " / ".join(part for part in (row.drive.name, cache_words(levels), levels.get("filesystem", "")) if part)
    numbers = {head: latency for head in ("512b write latency", "write latency", "latency") if latency is not None}
    return PageRow(name, texts, numbers, row.drive.printed)
