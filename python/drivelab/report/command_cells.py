"""Commands of a device by time and offset: each one where they are few, otherwise counted into cells, never thinned.

A file's data and a file system's journal can lie hundreds of GiB apart, so the
offsets are divided at the largest gaps into areas that are shown one above
the other. Rows are looked at a batch at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from drivelab.store.record_batches import StoredRecords

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

SECTOR_BYTES = 512
FLUSH = "flush"
# in the order of tables and legends
CLASSES = ("read", "write", "fua_write", "metadata_write", "discard", "other")
SINGLE_AT_MOST = 2500
CELLS_AT_MOST = 2500
AREAS_AT_MOST = 4
_COLUMNS, _ROWS = 240, 48
_FLUSH_COLUMNS = 400
# places that are told apart when areas are looked for
_PLACES = 1 << 20
# an area is divided where nothing was touched in more than this share of it
_EMPTY_SHARE = 0.5
_LEAST_GAP_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Area:
    """A range of offsets that was touched, in bytes; the end is that of the last command in it."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Marks:
    """Commands of one class, or cells of them.

    Attributes
    ----------
    issued_s, stretch_s : ndarray of float64, shape (marks,)
        When issued since the first command; of a cell, its start and its length; 0 of a single command.
    offset_bytes, extent_bytes : ndarray of int64, shape (marks,)
        Where; of a cell, its start and its height; otherwise the command's offset and size.
    count : ndarray of int64, shape (marks,)
        Commands behind each mark.
    """

    issued_s: Floats
    stretch_s: Floats
    offset_bytes: Integers
    extent_bytes: Integers
    count: Integers


@dataclass(frozen=True, slots=True)
class CommandMap:
    """All commands of a trace.

    Attributes
    ----------
    span_s : float
        From the first command issued to the last.
    areas : tuple of Area
        Ascending; none where there was nothing but flushes.
    marks : mapping of str to Marks
        By class, with ``flush``; classes without a command are left out.
    command_count : int
        Commands, flushes included.
    is_counted : bool
        Whether the marks are cells.
    """

    span_s: float
    areas: tuple[Area, ...]
    marks: dict[str, Marks]
    command_count: int
    is_counted: bool


@dataclass(frozen=True, slots=True)
class _Commands:
    """Some commands: when issued, where, how large, and the number of their class; that of flushes is the last."""

    issued_ns: Integers
    offset: Integers
    size: Integers
    kind: Integers


def command_map(events: StoredRecords) -> CommandMap | None:
    """The commands among the events of a trace; None when there is none."""
    begin, end, count, moved = 0, 0, 0, 0
    low, high = 0, 0
    for some in _commands(events):
        first, last = int(some.issued_ns.min()), int(some.issued_ns.max())
        begin, end = (first, last) if not count else (min(begin, first), max(end, last))
        count += some.issued_ns.size
        data = some.kind < len(CLASSES)
        if data.any():
            bottom, top = int(some.offset[data].min()), int((some.offset + some.size)[data].max())
            low, high = (bottom, top) if not moved else (min(low, bottom), max(high, top))
            moved += int(data.sum())
    if not count:
        return None
    areas = _areas(events, low, high) if moved else ()
    span_ns = max(1, end - begin + 1)
    is_counted = moved > SINGLE_AT_MOST
    marks = _cells(events, areas, begin, span_ns) if is_counted else _single(events, begin)
    flushes = _flushes(events, begin, span_ns)
    if flushes.count.size:
        marks[FLUSH] = flushes
    return CommandMap(span_ns / 1e9, areas, marks, count, is_counted)


def _commands(events: StoredRecords) -> Iterator[_Commands]:
    """The commands that were issued, a batch at a time; no batch is empty."""
    for batch in events.batches(("kind", "class", "sector", "bytes", "issued_ns")):
        wanted = pc.and_(pc.equal(batch["kind"], "command"), pc.is_valid(batch["issued_ns"]))
        rows = batch.filter(wanted)
        if not rows.num_rows:
            continue
        known = pa.array([*CLASSES, FLUSH])
        # a class of a newer version is drawn as "other"
        kind = pc.fill_null(pc.index_in(rows["class"].cast(pa.string()), known), CLASSES.index("other"))
        sector = np.asarray(rows["sector"]).astype(np.float64)
        yield _Commands(
            issued_ns=np.asarray(rows["issued_ns"], np.int64),
            # the sector of a flush is 2**64 - 1, and means nothing
            offset=(np.where(sector < 2.0**53, sector, 0) * SECTOR_BYTES).astype(np.int64),
            size=np.asarray(rows["bytes"]).astype(np.int64),
            kind=np.asarray(kind, np.int64),
        )


def _areas(events: StoredRecords, low: int, high: int) -> tuple[Area, ...]:
    """The range divided at its largest gaps."""
    place_bytes = max(SECTOR_BYTES, -(-(high - low) // _PLACES))
    begins = np.zeros(0, np.int64)
    ends = np.zeros(0, np.int64)
    for some in _commands(events):
        data = some.kind < len(CLASSES)
        first = (some.offset[data] - low) // place_bytes
        last = (some.offset[data] + np.maximum(some.size[data], 1) - 1 - low) // place_bytes
        begins, ends = _merged(np.append(begins, first), np.append(ends, last))
    areas = [(0, begins.size)]
    for _ in range(AREAS_AT_MOST - 1):
        found = [cut for area in areas if (cut := _gap(begins, ends, *area, place_bytes))]
        if not found:
            break
        _, place = max(found)
        area = next(one for one in areas if one[0] < place < one[1])
        areas.remove(area)
        areas += [(area[0], place), (place, area[1])]
    bounds = [(int(begins[first]), int(ends[after - 1]) + 1) for first, after in sorted(areas)]
    return _exact(events, [low + bottom * place_bytes for bottom, _ in bounds], high)


def _exact(events: StoredRecords, lows: Sequence[int], high: int) -> tuple[Area, ...]:
    """The areas that begin about there, from their first byte that was touched to their last."""
    first, last = np.full(len(lows), high), np.zeros(len(lows), np.int64)
    for some in _commands(events):
        data = some.kind < len(CLASSES)
        area = np.searchsorted(np.array(lows), some.offset[data], side="right") - 1
        np.minimum.at(first, area, some.offset[data])
        np.maximum.at(last, area, (some.offset + some.size)[data])
    return tuple(Area(int(bottom), int(top)) for bottom, top in zip(first, last, strict=True))


def _merged(begins: Integers, ends: Integers) -> tuple[Integers, Integers]:
    """The ranges in order, those that touch or overlap joined to one."""
    order = np.argsort(begins, kind="stable")
    begins, reach = begins[order], np.maximum.accumulate(ends[order])
    is_first = np.append(True, begins[1:] > reach[:-1] + 1) if begins.size else np.zeros(0, bool)
    first = np.flatnonzero(is_first)
    return begins[first], reach[np.append(first[1:] - 1, begins.size - 1)] if first.size else reach


def _gap(begins: Integers, ends: Integers, first: int, after: int, place_bytes: int) -> tuple[int, int] | None:
    """The largest gap of an area and the range that comes behind it; None where it is too small to divide at."""
    if after - first < 2:
        return None
    gaps = begins[first + 1 : after] - ends[first : after - 1] - 1
    at = int(np.argmax(gaps))
    width, whole = int(gaps[at]), int(ends[after - 1] - begins[first] + 1)
    if width <= _EMPTY_SHARE * whole or width * place_bytes < _LEAST_GAP_BYTES:
        return None
    return width, first + at + 1


def _single(events: StoredRecords, begin: int) -> dict[str, Marks]:
    """Every command by itself."""
    parts = list(_commands(events))
    issued, offset, size, kind = (
        np.concatenate([getattr(some, name) for some in parts]) for name in ("issued_ns", "offset", "size", "kind")
    )
    found = {}
    for number, name in enumerate(CLASSES):
        at = np.flatnonzero(kind == number)
        if at.size:
            at = at[np.argsort(issued[at], kind="stable")]
            nothing, one = np.zeros(at.size), np.ones(at.size, np.int64)
            found[name] = Marks((issued[at] - begin) / 1e9, nothing, offset[at], size[at], one)
    return found


def _cells(events: StoredRecords, areas: Sequence[Area], begin: int, span_ns: int) -> dict[str, Marks]:
    """Commands counted into cells: as fine ones as there may be."""
    lows = np.array([area.low for area in areas])
    spans = np.array([max(1, area.high - area.low) for area in areas])
    rows = _ROWS // len(areas) // 4 * 4
    counts = np.zeros((len(CLASSES), len(areas), rows, _COLUMNS), np.int64)
    for some in _commands(events):
        data = some.kind < len(CLASSES)
        column = (some.issued_ns[data] - begin) * _COLUMNS // span_ns
        area = np.searchsorted(lows, some.offset[data], side="right") - 1
        within = (some.offset[data] - lows[area]).astype(np.float64) / spans[area]
        row = np.minimum((within * rows).astype(np.int64), rows - 1)
        place = np.ravel_multi_index((some.kind[data], area, row, column), counts.shape)
        counts += np.bincount(place, minlength=counts.size).reshape(counts.shape)
    while np.count_nonzero(counts) > CELLS_AT_MOST and counts.shape[2] % 2 == 0 and counts.shape[3] % 2 == 0:
        shape = counts.shape
        halved = counts.reshape(shape[0], shape[1], shape[2] // 2, 2, shape[3] // 2, 2)
        counts = halved.sum(axis=(3, 5))
    found = {name: _marks(counts[number], lows, spans, span_ns) for number, name in enumerate(CLASSES)}
    return {name: marks for name, marks in found.items() if marks is not None}


def _marks(counts: Integers, lows: Integers, spans: Integers, span_ns: int) -> Marks | None:
    area, row, column = np.nonzero(counts)
    if not area.size:
        return None
    _, rows, columns = counts.shape
    heights = spans[area] / rows
    width_s = span_ns / columns / 1e9
    return Marks(
        issued_s=column * width_s,
        stretch_s=np.full(area.size, width_s),
        offset_bytes=(lows[area] + row * heights).astype(np.int64),
        extent_bytes=np.maximum(1, heights).astype(np.int64),
        count=counts[area, row, column],
    )


def _flushes(events: StoredRecords, begin: int, span_ns: int) -> Marks:
    """Flushes: single ones, or counted by stretches of time where there are many."""
    issued = np.sort(np.concatenate([some.issued_ns[some.kind == len(CLASSES)] for some in _commands(events)])) - begin
    if issued.size <= _FLUSH_COLUMNS:
        times, stretch, count = issued / 1e9, np.zeros(issued.size), np.ones(issued.size, np.int64)
    else:
        by_column = np.bincount(issued * _FLUSH_COLUMNS // span_ns, minlength=_FLUSH_COLUMNS)
        used = np.flatnonzero(by_column)
        width_s = span_ns / _FLUSH_COLUMNS / 1e9
        times, stretch, count = np.asarray(used * width_s, np.float64), np.full(used.size, width_s), by_column[used]
    nothing = np.zeros(times.size, np.int64)
    return Marks(times, stretch, nothing, nothing, count)
