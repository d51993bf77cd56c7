"""What turning the write cache off does to the bandwidth and to the latency of a drive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from drivelab.model.result_set import ResultSet
from drivelab.report.tables.drive_rows import DriveRow, drive_rows
from drivelab.report.tables.number import Number, disagreement, printed_number, ratio_of, ratio_text
from drivelab.report.tables.number_table import NumberColumn, NumberRow, number_table
from drivelab.report.tables.page_form import PageRow, bare_head, page_form, page_table
from drivelab.report.tables.small_writes import SmallWrite, small_writes
from drivelab.report.tables.table import Table
from drivelab.report.tables.write_cache_pairs import CachePair, bandwidth_pair, latency_pair, write_of_rows

KEY = "write-cache-effect"
TITLE = "Effects of the write cache"
_RAW = "raw"
_HEADS = ("max bandwidth", "bandwidth degradation", "small write latency", "latency improvement")
_CAPTION = (
    "Bandwidth degradation: how many times the bandwidth with the write cache on is that with it off. Latency "
    "improvement: how many times the latency with the cache on is that with it off. Below 1 it is the other way "
    "round, which is said. Where the interval of a ratio holds 1 nothing is shown either way."
)
_NOISE = "within the noise"
# with what pages call them
_STATES = {"on": "Enabled", "off": "Disabled"}
# below each of the heads
_Numbers = tuple[Number | None, ...]


@dataclass(frozen=True, slots=True)
class _Effect:
    """A drive with what it does in both states, as far as it is known."""

    row: DriveRow
    bandwidth: CachePair | None
    write: SmallWrite | None

    @property
    def latency(self) -> CachePair | None:
        return None if self.write is None else latency_pair(self.row, self.write)


def write_cache_effect(sets: Sequence[ResultSet]) -> Table | None:
    """Bandwidth and small write latency with the write cache on and off, and their ratios, per drive.

    None unless some drive has one of the two in both states; in a report of
    one published page also where the page has no bandwidth.
    """
    rows = drive_rows(sets)
    writes = write_of_rows(rows, small_writes(sets))
    found = [_Effect(row, bandwidth_pair(row), writes.get(row.name)) for row in rows]
    found = [one for one in found if one.bandwidth is not None or one.latency is not None]
    if not found:
        return None
    is_page = len(sets) == 1 and sets[0].is_reference
    if is_page and (form := page_form(sets[0], KEY)) is not None:
        return page_table(sets[0], form, TITLE, [row for one in found for row in _page_rows(one)])
    if is_page and not any(one.bandwidth for one in found):
        return None
    used = list(dict.fromkeys(one.write for one in found if one.write is not None))
    columns = (
        NumberColumn(_HEADS[0], "B/s", is_better_when_low=False),
        NumberColumn(_HEADS[1], "1"),
        NumberColumn(_HEADS[2], "ns", is_better_when_low=True if len(used) == 1 else None),
        NumberColumn(_HEADS[3], "1"),
    )
    shown = [row for one in found for row in _rows(one, is_alone=len(used) < 2)]
    title = f"{TITLE}: {used[0].title}, {used[0].latency}" if len(used) == 1 else TITLE
    return number_table(
        KEY, title, ("drive", "small write", "write cache"), columns, shown, _CAPTION, as_printed=is_page
    )


def _states(one: _Effect) -> tuple[_Numbers, _Numbers]:
    on: list[Number | None] = []
    off: list[Number | None] = []
    for pair in (one.bandwidth, one.latency):
        on += [pair.on, None] if pair else [None, None]
        off += [pair.off, ratio_of(pair.on, pair.off)] if pair else [None, None]
    return tuple(on), tuple(off)


def _rows(one: _Effect, *, is_alone: bool) -> list[NumberRow]:
    title = "" if is_alone or one.write is None else one.write.title
    notes = [_where(pair, name) for pair, name in ((one.bandwidth, "bandwidth"), (one.latency, "latency"))]
    notes += one.write.row_notes(one.row) if one.write is not None else ()
    shown = []
    for (state, printed), numbers in zip(_STATES.items(), _states(one), strict=True):
        told = [_as_page(one.row, printed, head, number) for head, number in zip(_HEADS, numbers, strict=True)]
        words = {place: _ratio_words(told[place], place == 1) for place in (1, 3)}
        text_notes = tuple(note for note in notes if note) if state == "on" else ()
        shown.append(NumberRow((one.row.name, title, state), tuple(told), words, text_notes))
    return shown


def _ratio_words(ratio: Number | None, is_bandwidth: bool) -> str:
    return ratio.printed if ratio is not None and ratio.printed else effect_words(ratio, is_bandwidth)


def effect_words(ratio: Number | None, is_bandwidth: bool) -> str:
    """A ratio in words: ``3.8x``, ``0.98x (got faster)``, ``1.02x (within the noise)``."""
    if ratio is None or ratio.value is None:
        return ""
    text = ratio_text(ratio.value)
    if ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high:
        return f"{text} ({_NOISE})"
    if ratio.value < 1:
        return f"{text} (got faster)" if is_bandwidth else f"{text} (got slower)"
    return text


def _where(pair: CachePair | None, name: str) -> str:
    """A note where a number is not of the bare drive."""
    is_bare = pair is None or pair.filesystem in ("", _RAW)
    return "" if is_bare or pair is None else f"{name} measured on {pair.filesystem}, not on the bare drive"


def _as_page(row: DriveRow, state: str, head: str, number: Number | None) -> Number | None:
    """The number of a published row as its page prints it."""
    if number is None or not row.is_reference:
        return number
    name = f"{row.drive.name} / {state}"
    cells = [cell for one in row.sets for cell in one.cells if cell.table == KEY and cell.row == name]
    cell = next((cell for cell in cells if bare_head(cell.column) == head), None)
    if cell is None:
        return number
    if number.unit == "1":
        wrong = disagreement(cell.printed, number)
        return replace(number, printed=cell.printed, notes=(*number.notes, wrong) if wrong else number.notes)
    return printed_number(cell.printed, number)


def _page_rows(one: _Effect) -> list[PageRow]:
    rows = []
    for state, numbers in zip(_STATES.values(), _states(one), strict=True):
        texts = {"drive": one.row.drive.name, "write cache": state}
        known = {head: number for head, number in zip(_HEADS, numbers, strict=True) if number is not None}
        texts |= {head: effect_words(known.get(head), head == _HEADS[1]) for head in (_HEADS[1], _HEADS[3])}
        rows.append(PageRow(f"{one.row.drive.name} / {state}", texts, known, one.row.drive.printed))
    return rows
