"""Reads Parquet files of runs: what they claim to hold is looked at before memory is taken for it.

A file of a few megabytes can unfold to any size: a column of equal values takes
no room in it, and neither does a long text that all rows share. So a file is
refused when its columns would take more than a share of the memory there is.
"""

from __future__ import annotations

import functools
import os
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from drivelab.model.errors import DrivelabError
from drivelab.model.units import format_bytes
from drivelab.store import layout
from drivelab.store.regular_file import require_regular
from drivelab.store.remote.bring import place_of
from drivelab.store.table_check import require_columns, require_rows

# tables are filtered, sorted and joined: each step may hold them once more
_MEMORY_SHARE = 0.25
_THREADED_ROWS_MIN = 100_000
_WIDTH_BYTES = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
_OFFSET_BYTES = 4
# a text may be so long whatever the file claims: the most that Arrow keeps once for many rows when it writes
_SHARED_TEXT_BYTES = 2**20


def memory_bytes() -> int:
    """Memory that this process may take: that of the computer, or what it was limited to."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return physical if limit == resource.RLIM_INFINITY else min(physical, limit)


class BoundedParquet:
    """A Parquet file that is open, with the columns of a table of runs.

    Parameters
    ----------
    table : str
        Which table it holds (`drivelab.store.table_check.COLUMNS`).

    Raises
    ------
    FileNotFoundError
        There is none.
    DrivelabError
        S506: it is none, is damaged, or has other columns.
    """

    def __init__(self, path: Path, table: str) -> None:
        self._path = path
        self._table = table
        with damage_told(path):
            require_regular(path)
            self._file = pq.ParquetFile(path, page_checksum_verification=True)
            self.schema: pa.Schema = self._file.schema_arrow
            self.metadata: Any = self._file.metadata
        try:
            require_columns(self.schema, table, path)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> BoundedParquet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def rows(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows.

        Raises
        ------
        DrivelabError
            S506: they cannot be read, or would take too much memory.
        """
        numbers = range(self.metadata.num_row_groups)
        require_room(sum(self._fixed_bytes(number, columns) for number in numbers), self._path)
        if not numbers:
            with damage_told(self._path):
                return self._file.read(columns).replace_schema_metadata(None)
        # all at once takes six times as long for lists, and twice the memory
        groups, taken = [], 0
        for number in numbers:
            groups.append(self.row_group(number, columns))
            taken += groups[-1].nbytes
            require_room(taken, self._path)
        return pa.concat_tables(groups)

    def row_groups(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """All rows, a bounded number of them at a time.

        Raises
        ------
        DrivelabError
            S506: they cannot be read, or a row group would take too much memory.
        """
        for number in range(self.metadata.num_row_groups):
            yield self.row_group(number, columns)

    def row_group(self, number: int, columns: Sequence[str] | None = None, *, threads: bool = True) -> pa.Table:
        """The rows of one group.

        Raises
        ------
        DrivelabError
            S506: they cannot be read, or would take too much memory.
        """
        require_room(self._fixed_bytes(number, columns), self._path)
        # threads cost more than they bring for few rows
        threads = threads and self.metadata.row_group(number).num_rows > _THREADED_ROWS_MIN
        shared = self._shared_texts(number, columns)
        with damage_told(self._path):
            if shared:
                with pq.ParquetFile(self._path, page_checksum_verification=True, read_dictionary=shared) as file:
                    rows = file.read_row_group(number, columns=columns, use_threads=threads)
                rows = self._unfolded(rows)
            else:
                rows = self._file.read_row_group(number, columns=columns, use_threads=threads)
        rows = rows.replace_schema_metadata(None)
        require_rows(rows, self._table, self._path)
        return rows

    def _chunks(self, number: int, columns: Sequence[str] | None) -> list[Any]:
        with damage_told(self._path):
            group = self.metadata.row_group(number)
            chunks = [group.column(place) for place in range(group.num_columns)]
            return [one for one in chunks if columns is None or one.path_in_schema.partition(".")[0] in columns]

    def _is_small(self, number: int) -> bool:
        """Whether a row group fits however often its rows share a text; looking at each column takes longer."""
        group = self.metadata.row_group(number)
        row_bytes = group.num_columns * max(_WIDTH_BYTES.values()) + max(group.total_byte_size, _SHARED_TEXT_BYTES)
        return self._table == layout.TRIALS and group.num_rows * row_bytes < _room_bytes()

    def _fixed_bytes(self, number: int, columns: Sequence[str] | None) -> int:
        """Bytes that a row group unfolds to, without the texts that several rows share."""
        if self._is_small(number):
            return int(self.metadata.row_group(number).total_byte_size)
        return sum(
            chunk.num_values * _WIDTH_BYTES[chunk.physical_type]
            if chunk.physical_type in _WIDTH_BYTES
            else chunk.num_values * _OFFSET_BYTES + chunk.total_uncompressed_size
            for chunk in self._chunks(number, columns)
        )

    def _shared_texts(self, number: int, columns: Sequence[str] | None) -> list[str]:
        """Columns of which each row might hold all that the file holds of the column, and that would be too much."""
        if self._is_small(number):
            return []
        return [
            chunk.path_in_schema
            for chunk in self._chunks(number, columns)
            if chunk.physical_type not in _WIDTH_BYTES
            and chunk.has_dictionary_page
            and chunk.num_values * max(chunk.total_uncompressed_size, _SHARED_TEXT_BYTES) > _room_bytes()
        ]

    def _unfolded(self, rows: pa.Table) -> pa.Table:
        """The rows with texts in place of numbers that stand for them, once it is known how long they are together."""
        size_bytes = rows.nbytes
        for place, field in enumerate(rows.schema):
            if pa.types.is_dictionary(field.type):
                for chunk in rows.column(place).chunks:
                    lengths = pc.take(pc.binary_length(chunk.dictionary), chunk.indices)
                    size_bytes += int(pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0)
                require_room(size_bytes, self._path)
                column = rows.column(place).cast(field.type.value_type)
                rows = rows.set_column(place, pa.field(field.name, field.type.value_type), column)
        return rows


def require_room(size_bytes: int, path: Path) -> None:
    """Return only if a table that takes so much memory may be held.

    Raises
    ------
    DrivelabError
        S506: it is larger than a table of a run may be here.
    """
    if size_bytes > _room_bytes():
        what = (
            f"{path.name} unfolds to {format_bytes(size_bytes)}, "
            f"and {format_bytes(_room_bytes())} may be taken for a table here"
        )
        do = "see whether it is what drivelab wrote; if so, read it on a computer with more memory"
        raise DrivelabError("S506", what, where=place_of(path), do=do)


def _room_bytes() -> int:
    return int(memory_bytes() * _MEMORY_SHARE)


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Tell of a file that cannot be read as `DrivelabError` S506; that there is none is the caller's to judge."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException, UnicodeDecodeError, MemoryError) as error:
        text = (error.strerror if isinstance(error, OSError) else None) or str(error)
        first_line = next(iter(text.splitlines()), "no reason given")
        raise DrivelabError("S506", f"{path.name} cannot be read: {first_line}", where=place_of(path)) from error


def missing_columns(path: Path, names: Sequence[str]) -> list[str]:
    """Which columns a file has not.

    Raises
    ------
    FileNotFoundError
        There is no file.
    DrivelabError
        S506: it cannot be read.
    """
    with damage_told(path):
        require_regular(path)
        found = pq.read_schema(path).names
    return [name for name in names if name not in found]


def metadata_of(path: Path, key: bytes) -> bytes | None:
    """What a file has under a key of its own; None when there is no file.

    Raises
    ------
    DrivelabError
        S506: it cannot be read.
    """
    with suppress(FileNotFoundError), damage_told(path):
        require_regular(path)
        facts = path.stat()
        return _key_of_version(path, key, facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size)
    return None


# asked twice for every reading of a table, and a report reads each a dozen times
@functools.lru_cache(maxsize=1024)
def _key_of_version(path: Path, key: bytes, *_version: int) -> bytes:
    with pq.ParquetFile(path) as file:
        return bytes((file.metadata.metadata or {}).get(key, b""))
