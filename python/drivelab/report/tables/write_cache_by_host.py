"""What a small durable write costs with the write cache off and on, by host and disk."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.result_set import ResultSet
from drivelab.report.tables.drive_rows import DriveRow, drive_rows, published_name
from drivelab.report.tables.number_table import NumberColumn, NumberRow, number_table
from drivelab.report.tables.page_form import PageRow, page_form, page_table
from drivelab.report.tables.small_writes import WRITE_CACHE, SmallWrite, small_writes
from drivelab.report.tables.table import Table
from drivelab.report.tables.write_cache_pairs import CachePair, latency_pair, write_of_rows

KEY = "write-cache-by-host"
TITLE = "Latency per write with the write cache off and on"
_HEADS = ("write caching off", "write caching on")
_EFFECT = "write-cache-effect"
_Found = tuple[DriveRow, SmallWrite, CachePair]


def write_cache_by_host(sets: Sequence[ResultSet]) -> Table | None:
    """Rows of host and disk; None unless some drive was measured with the write cache off and on.

    None too in a report of one published page that prints its effects of the
    write cache in another form.
    """
    is_one_page = len(sets) == 1 and sets[0].is_reference
    form = page_form(sets[0], KEY) if is_one_page else None
    if is_one_page and form is None and page_form(sets[0], _EFFECT) is not None:
        return None
    rows = drive_rows(sets)
    writes = write_of_rows(rows, small_writes(sets))
    pairs = [(row, writes[row.name], latency_pair(row, writes[row.name])) for row in rows if row.name in writes]
    found = [(row, write, pair) for row, write, pair in pairs if pair is not None]
    if not found:
        return None
    if form is not None:
        return page_table(sets[0], form, TITLE, [_page_row(row, pair) for row, _, pair in _as_on_page(sets[0], found)])
    used = list(dict.fromkeys(write for _, write, _ in found))
    is_better = True if len(used) == 1 else None
    columns = [NumberColumn(head, "ns", is_better_when_low=is_better) for head in _HEADS]
    shown = [_row(row, write, pair, is_mixed=len(sets) > 1, is_alone=len(used) == 1) for row, write, pair in found]
    caption = f"{used[0].latency[0].upper()}{used[0].latency[1:]} from the call of the write until it is durable."
    title = f"{TITLE}: {used[0].title}" if len(used) == 1 else TITLE
    return number_table(KEY, title, ("host", "disk", "write"), columns, shown, caption, as_printed=is_one_page)


def _as_on_page(page: ResultSet, found: Sequence[_Found]) -> list[_Found]:
    """In the order in which the page has the numbers, whichever drive they are of."""
    places: dict[tuple[str, str], int] = {}
    for place, one in enumerate(page.observations):
        if one.levels.get(WRITE_CACHE) == "off":
            places.setdefault((one.drive, one.machine), place)
    return sorted(found, key=lambda each: places.get((each[0].drive.name, each[0].machine), 0))


def _row(row: DriveRow, write: SmallWrite, pair: CachePair, *, is_mixed: bool, is_alone: bool) -> NumberRow:
    host = published_name(row.sets[0], row.machine, is_mixed=is_mixed)
    # the host stands beside it
    disk = row.drive.name if is_mixed and row.is_reference else row.name.removesuffix(f" on {row.machine}")
    return NumberRow(
        (host, disk, "" if is_alone else write.title), (pair.off, pair.on), text_notes=write.row_notes(row)
    )


def _page_row(row: DriveRow, pair: CachePair) -> PageRow:
    texts = {"host": row.machine, "disk": row.drive.name}
    name = f"{row.machine} / {row.drive.name}"
    return PageRow(name, texts, dict(zip(_HEADS, (pair.off, pair.on), strict=True)), row.drive.printed)
