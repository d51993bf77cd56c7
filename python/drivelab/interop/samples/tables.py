"""Reads tables of samples: CSV with any separator, packed or not, a block at a time in Arrow's columns."""

from __future__ import annotations

import contextlib
import csv
import functools
import re
import threading
import weakref
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from drivelab.interop.samples.collected import Collected
from drivelab.interop.samples.columns import Columns, columns_of
from drivelab.interop.samples.date_order import SlashedDate, slashed_dates
from drivelab.interop.samples.times import NO_TIME, has_zone, seconds_of_numbers, seconds_of_text
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet import Seconds

_BLOCK_BYTES = 8 << 20
_NO_VALUE = ("", "nan", "NaN", "NAN", "null", "NULL", "None", "NA", "N/A", "-", "inf", "-inf")
# Arrow's threads take some milliseconds for it
_LET_GO_S = 60
# a file that is cut in the middle has one such line; more of them are another format
_BROKEN_LINES_SHARE = 0.01
# a whole field of a table that commas do not part
_DECIMAL_COMMA = re.compile(r"[;\t|]\s*-?\d+,\d+\s*(?:[;\t|]|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Table:
    """How a table is written.

    Attributes
    ----------
    separator : str
        Between them.
    columns : Columns
        What of them is read.
    line : int
        Which one has the names, from 1.
    decimal_point : str
        In its numbers.
    """

    names: tuple[str, ...]
    separator: str
    columns: Columns
    line: int
    decimal_point: str = "."


def table_in(head: str) -> Table | None:
    """How a table of samples is written, by its first line; None where it has no column that is known."""
    number, first = next(((at, line) for at, line in enumerate(head.splitlines(), 1) if line.strip()), (1, ""))
    separator = max(",;\t|", key=first.count)
    names = next(csv.reader([first], delimiter=separator), [])
    names = [re.sub(r"^\s*#\s*", "", name) for name in names]
    columns = columns_of(names)
    known = [columns.time, columns.drive, *columns.latency]
    if not (first.count(separator) and any(known)):
        return None
    has_commas = separator != "," and _DECIMAL_COMMA.search(head) is not None
    return Table(tuple(names), separator, columns, number, "," if has_commas else ".")


def dates_in_table(path: Path, table: Table) -> set[SlashedDate]:
    """The dates with slashes in its times; what cannot be read has none, and `read_table` says why."""
    found: set[SlashedDate] = set()
    if not table.columns.missing:
        batches = _batches(path, table, _BrokenLines())
        with contextlib.suppress(pa.ArrowInvalid, OSError, EOFError), contextlib.closing(batches):
            for batch in batches:
                column = batch.column(table.columns.time)
                if pa.types.is_string(column.type):
                    found |= slashed_dates(" ".join({text[:10] for text in column.unique().to_pylist() if text}))
    return found


def read_table(
    path: Path, table: Table, place: tuple[str, str], collected: Collected, *, is_day_first: bool = False
) -> None:
    """Take the samples of a table.

    Parameters
    ----------
    table : Table
        As `table_in` found it.
    place : (cluster, host)
        Where the drives are, as far as no column tells.
    is_day_first : bool
        Of dates with slashes.

    Raises
    ------
    DrivelabError
        I503, I504: a number or a line that cannot be read. I505: there is none below the first.
        I506: it cannot be unpacked. I510: it lacks a column.
    """
    _hold_columns(table, path)
    factor = collected.latency_factor(table.columns.latency_unit, str(path))
    broken = _BrokenLines()
    samples = 0
    try:
        with contextlib.closing(_batches(path, table, broken)) as batches:
            for batch in batches:
                samples += batch.num_rows
                where = f"{path}, column {table.columns.time}"
                time_s = _seconds(batch.column(table.columns.time), where, is_day_first)
                _take(batch, table.columns, time_s, factor, place, collected)
    except pa.ArrowInvalid as error:
        raise _unread(error, path) from None
    except (OSError, EOFError) as error:
        raise DrivelabError("I506", f"it cannot be read: {error}", where=str(path), do="copy it again") from None
    if broken.count > max(1, _BROKEN_LINES_SHARE * samples):
        raise DrivelabError("I504", broken.first, where=str(path))
    if not samples and not broken.count:
        raise _empty(path)
    collected.note("lines that are cut off or have more fields than the first", broken.count)


def _hold_columns(table: Table, path: Path) -> None:
    missing = table.columns.missing
    if not missing:
        return
    plain = {name.strip().lower() for name in table.names}
    if missing == ["latency"] and any(name.startswith("smart_") for name in plain):
        what = "it has SMART values a day and no latency, as Backblaze publishes them: which drive is slow is not in it"
        raise DrivelabError("I510", what, where=str(path), do="name files with the latency of each drive over time")
    shown = ", ".join(table.names[:8]) + (", ..." if len(table.names) > 8 else "")
    raise DrivelabError("I510", f"no column is a {' or a '.join(missing)}: {shown}", where=f"{path}:{table.line}")


@dataclass(slots=True)
class _BrokenLines:
    """Lines with another number of fields."""

    count: int = 0
    first: str = ""

    def __call__(self, row: Any) -> str:
        self.count += 1
        number = "" if row.number is None else f"line {row.number}: "
        self.first = self.first or f"{number}{row.actual_columns} fields, and the first line has {row.expected_columns}"
        return "skip"


def _batches(path: Path, table: Table, broken: _BrokenLines) -> Generator[pa.RecordBatch]:
    columns = table.columns
    kinds: dict[str, pa.DataType] = dict.fromkeys(columns.numbers, pa.float64())
    kinds |= dict.fromkeys(columns.texts, pa.dictionary(pa.int32(), pa.string()))
    # files that were put one behind the other have their first line again
    without = [*_NO_VALUE, *columns.numbers, columns.time]
    # a thread of Arrow's that lets go of a Python object while Python ends aborts the program
    handler, is_let_go = functools.partial(broken), threading.Event()
    weakref.finalize(handler, is_let_go.set)
    reader = None
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            reader = pa_csv.open_csv(
                stream,
                read_options=pa_csv.ReadOptions(
                    block_size=_BLOCK_BYTES, column_names=_apart(table.names), skip_rows=table.line, use_threads=False
                ),
                parse_options=pa_csv.ParseOptions(delimiter=table.separator, invalid_row_handler=handler),
                convert_options=pa_csv.ConvertOptions(
                    column_types=kinds,
                    include_columns=list(dict.fromkeys((columns.time, *columns.texts, *columns.numbers))),
                    null_values=without,
                    strings_can_be_null=False,
                    decimal_point=table.decimal_point,
                ),
            )
            yield from reader
    finally:
        del reader, handler
        is_let_go.wait(_LET_GO_S)


def _apart(names: tuple[str, ...]) -> list[str]:
    """The names, a repeated one numbered: the first is meant."""
    return [name if name not in names[:place] else f"{name}.{place}" for place, name in enumerate(names)]


def _empty(path: Path) -> DrivelabError:
    return DrivelabError("I505", "there is no sample below its first line", where=str(path))


def _unread(error: pa.ArrowInvalid, path: Path) -> DrivelabError:
    text = str(error)
    found = re.search(r"In CSV column #(\d+):(?: Row #(\d+):)? (.*)", text, re.DOTALL)
    if found:
        line = f":{found[2]}" if found[2] else ""
        return DrivelabError("I503", f"column {int(found[1]) + 1}: {found[3][:80]}", where=f"{path}{line}")
    if "Empty CSV" in text or "Could not skip" in text:
        return _empty(path)
    return DrivelabError("I504", text.splitlines()[0][:120], where=str(path))


def _take(
    batch: pa.RecordBatch, columns: Columns, time_s: Seconds, factor: float, place: tuple[str, str], into: Collected
) -> None:
    """Hand over the samples of a block, those of each host by themselves."""
    latency = _latency(batch, columns) * factor
    throughput = np.full(batch.num_rows, np.nan)
    if columns.throughput:
        throughput = sum(
            (_floats(batch, name) * by for name, by in columns.throughput.items()), np.zeros(batch.num_rows)
        )
    is_zoned = _tells_zone(batch.column(columns.time))
    drives = batch.column(columns.drive)
    names = [str(name or "").strip() for name in drives.dictionary.to_pylist()]
    codes = _codes(drives)
    # a line without a drive is no sample
    time_s = np.where(codes < 0, NO_TIME, time_s)
    codes = np.maximum(codes, 0)
    if not names:
        return
    hosts, host_codes = _names(batch, columns.host, place[1])
    # the folders tell a cluster where they tell the host
    clusters, cluster_codes = _names(batch, columns.cluster, "" if columns.host else place[0])
    both = cluster_codes.astype(np.int64) * len(hosts) + host_codes
    roles = [_names(batch, role, "") for role in columns.roles]
    for code in np.unique(both):
        rows = np.flatnonzero(both == code)
        first = rows[np.unique(codes[rows], return_index=True)[1]]
        told = {names[codes[row]]: " ".join(filter(None, (text[of[row]] for text, of in roles))) for row in first}
        where = (clusters[int(code) // len(hosts)], hosts[int(code) % len(hosts)])
        if not is_zoned:
            into.without_zone.add(where)
        into.add(where, (names, codes[rows]), told, time_s[rows], latency[rows], throughput[rows])


def _codes(column: pa.DictionaryArray) -> npt.NDArray[np.int32]:
    return np.asarray(column.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int32)


def _names(batch: pa.RecordBatch, name: str, otherwise: str) -> tuple[list[str], npt.NDArray[np.int32]]:
    """The names in a column, and for each line which it has; without the column, or a name, another one."""
    if not name:
        return [otherwise], np.zeros(batch.num_rows, dtype=np.int32)
    column = batch.column(name)
    texts = [str(text or "").strip() or otherwise for text in column.dictionary.to_pylist()]
    codes = _codes(column)
    return [*texts, otherwise], np.where(codes < 0, len(texts), codes)


def _floats(batch: pa.RecordBatch, name: str) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = batch.column(name).to_numpy(zero_copy_only=False)
    return found


def _latency(batch: pa.RecordBatch, columns: Columns) -> npt.NDArray[np.float64]:
    """The latency, of several each by its rate; NaN of a drive that did nothing."""
    if not columns.rates:
        return _floats(batch, columns.latency[0])
    rates = [np.nan_to_num(_floats(batch, name)) for name in columns.rates]
    spent = sum(
        (np.nan_to_num(_floats(batch, name)) * rate for name, rate in zip(columns.latency, rates, strict=True)),
        np.zeros(batch.num_rows),
    )
    count = np.sum(rates, axis=0)
    found = np.full(batch.num_rows, np.nan)
    np.divide(spent, count, out=found, where=count > 0)
    return found


def _tells_zone(column: pa.Array) -> bool:
    """Whether times are seconds since 1970, or tell how far they are from UTC, by the first of them."""
    if pa.types.is_string(column.type):
        return has_zone(column[0].as_py() or "") if len(column) else True
    return not pa.types.is_date(column.type) and getattr(column.type, "tz", "") is not None


def _seconds(column: pa.Array, where: str, is_day_first: bool) -> Seconds:
    """Seconds since 1970 of a column of numbers, times or texts."""
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        stamps = column.cast(pa.timestamp("s", getattr(column.type, "tz", None)), safe=False).cast(pa.int64())
        return np.asarray(stamps.fill_null(NO_TIME).to_numpy(zero_copy_only=False), dtype=np.int64)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return seconds_of_numbers(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), where)
    if not pa.types.is_string(column.type):
        what = f"it holds {column.type}, and no date with a time"
        raise DrivelabError("I503", what, where=where, do="write seconds since 1970, or 2022-07-18 13:00:15")
    coded = column.dictionary_encode()
    seconds = np.array(
        [seconds_of_text(text or "", is_day_first=is_day_first) for text in coded.dictionary.to_pylist()] or [NO_TIME],
        dtype=np.int64,
    )
    if (seconds < 0).all() and len(column) > column.null_count:
        example = coded.dictionary[0].as_py()
        what = f"{example[:40]!r} is no date with a time"
        raise DrivelabError("I503", what, where=where, do="write seconds since 1970, or 2022-07-18 13:00:15")
    codes = _codes(coded)
    return np.where(codes < 0, NO_TIME, seconds[np.maximum(codes, 0)])
