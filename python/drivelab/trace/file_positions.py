"""Where in its file each call of a followed program read or wrote: what it named, or where its descriptor stood."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from drivelab.model.system_calls import COPIES, COPYING_COMMANDS, OPENS, SEEK, WRITES

NAMING = ("pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2")
# of a call by its descriptor
_MOVING = ("read", "write", "readv", "writev")
# by the name of a call, which of its arguments has the flags
_FLAGS_AT = {"open": 1, "openat": 2}
_O_TRUNC, _O_APPEND = 0o1000, 0o2000
# at the end of a name that /proc tells
DELETED = " (deleted)"
Row = Mapping[str, Any]


class SeenPlace(Protocol):
    """What a descriptor stood for when it was seen first."""

    process: int
    descriptor: int
    path: str
    size_bytes: int
    position_bytes: int
    is_append: bool
    first_ns: int


@dataclass(slots=True)
class _Opened:
    """An open file: all copies of its descriptor have one place in it."""

    position: int | None
    is_append: bool
    is_truncated: bool = False


class FilePositions:
    """Tells the place of each call, which are asked about in the order in which they began.

    Parameters
    ----------
    rows : iterable of mapping
        All calls: ``call``, ``process``, ``result``, ``start_ns`` and arguments. They are gone through twice.
    found : iterable of file or None
        By row what its descriptor stood for, of those on files of the disk; likewise.

    Attributes
    ----------
    sizes : dict of str to int
        How large each file was when its first call came.
    """

    def __init__(self, rows: Iterable[Row], found: Iterable[SeenPlace | None]) -> None:
        self._opened: dict[tuple[int, int], _Opened] = {}
        self._rows = rows
        self._found = found
        self.sizes = self._sizes_at_first()
        self._ends: dict[str, int] = {}

    def places(self) -> Iterator[int | None]:
        """By row its place, where it is known."""
        for row, file in zip(self._rows, self._found, strict=True):
            yield self._place(row, file) if row["result"] >= 0 else None

    def _sizes_at_first(self) -> dict[str, int]:
        """A file's size when it was seen, less what its calls had written at its end, or as all of it, until then."""
        first: dict[str, SeenPlace] = {}
        for one in {id(file): file for file in self._found if file is not None}.values():
            path = plain_path(one.path)
            if path not in first or one.first_ns < first[path].first_ns:
                first[path] = one
        before: dict[str, list[Row]] = defaultdict(list)
        for row, file in zip(self._rows, self._found, strict=True):
            if file is not None and row["call"] in WRITES and row["result"] > 0:
                path = plain_path(file.path)
                if row["start_ns"] < first[path].first_ns:
                    before[path].append(row)
        return {path: _size_before(file, before[path]) for path, file in first.items()}

    def _place(self, row: Row, file: SeenPlace | None) -> int | None:
        call, key = row["call"], (row["process"], int(row["argument_0"]) & 0xFFFFFFFF)
        if call in OPENS:
            flags = int(row[f"argument_{_FLAGS_AT[call]}"]) if call in _FLAGS_AT else 0
            self._opened[row["process"], row["result"]] = _Opened(0, bool(flags & _O_APPEND), bool(flags & _O_TRUNC))
        elif call in COPIES and (call != "fcntl" or row["argument_1"] & 0xFFFFFFFF in COPYING_COMMANDS):
            if key in self._opened:
                self._opened[row["process"], row["result"]] = self._opened[key]
        elif call == "close":
            self._opened.pop(key, None)
        elif call == SEEK:
            self._opened.setdefault(key, _Opened(None, is_append=False)).position = row["result"]
        elif file is not None:
            return self._place_in(row, file, key)
        return None

    def _place_in(self, row: Row, file: SeenPlace, key: tuple[int, int]) -> int | None:
        call, path = row["call"], plain_path(file.path)
        opened = self._opened.get(key)
        if opened is None:
            opened = self._opened[key] = _Opened(None, file.is_append)
        if path not in self._ends:
            if opened.is_truncated:
                self.sizes[path] = 0
            self._ends[path] = self.sizes[path]
        if call in NAMING and (row["argument_3"] >= 0 or not call.endswith("v2")):
            place: int | None = int(row["argument_3"])
        elif call in (*_MOVING, *NAMING):
            if opened.position is None and file.first_ns <= row["start_ns"]:
                opened.position = file.position_bytes
            is_append = call in WRITES and (opened.is_append or file.is_append)
            place = self._ends[path] if is_append else opened.position
            if place is not None:
                opened.position = place + row["result"]
        else:
            return None
        if call in WRITES and place is not None:
            self._ends[path] = max(self._ends[path], place + row["result"])
        return place


def plain_path(path: str) -> str:
    """The name that a file had, also where it is removed by now."""
    return path.removesuffix(DELETED)


def _size_before(file: SeenPlace, written: Iterable[Row]) -> int:
    at_end, covered = 0, 0
    for row in sorted(written, key=lambda row: int(row["argument_3"])):
        if row["call"] not in NAMING:
            at_end += row["result"]
        elif row["argument_3"] <= covered:
            covered = max(covered, row["argument_3"] + row["result"])
    return 0 if covered >= file.size_bytes else max(0, file.size_bytes - at_end)
