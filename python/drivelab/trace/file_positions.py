"""Where in its file each call of a followed program read or wrote: what it named, or where its descriptor stood."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

NAMING = ("pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2")
# of a call by its descriptor
MOVING = ("read", "write", "readv", "writev")
# what a call does with the place: opens at the beginning, is set, moves on, names one, is the end, nothing, or may have
# moved it anywhere
OPENED, SET, MOVED, NAMED, APPENDED, KEPT, FORGOTTEN = range(7)
_O_TRUNC, _O_APPEND = 0o1000, 0o2000
# at the end of a name that /proc tells
DELETED = " (deleted)"


class SeenPlace(Protocol):
    """What a descriptor stood for when it was seen first."""

    path: str
    size_bytes: int
    position_bytes: int
    is_append: bool
    first_ns: int
    sized_ns: int


# what a call does with the place; with which open file, and which of the files that were seen that is; when it began,
# its result, the place that it names or the flags with which it opens, and whether it writes
Step = tuple[int, int, int, int, int, int, bool]


@dataclass(slots=True)
class _Opened:
    """An open file: all copies of its descriptor, and those of children, have one place in it."""

    position: int | None
    is_append: bool
    is_truncated: bool = False
    # when something moved it from a place that nobody knows
    moved_ns: int = -1


class FilePositions:
    """Tells the place of each call, which are asked about in the order in which they began.

    Parameters
    ----------
    files : sequence of file or None
        What was seen, as steps number it.
    sizes : dict of str to int
        How large each file was when its first call came, as `sizes_at_first` gives it.
    """

    def __init__(self, files: Sequence[SeenPlace | None], sizes: dict[str, int]) -> None:
        self._opened: dict[int, _Opened] = {}
        self._files = files
        self._paths = ["" if file is None else plain_path(file.path) for file in files]
        self.sizes = sizes
        self._ends: dict[str, int] = {}

    def places(self, steps: Iterable[Step]) -> Iterator[int | None]:
        """By step its place, where it is known."""
        for kind, opened, file, start_ns, result, argument, is_write in steps:
            if kind == OPENED:
                self._opened[opened] = _Opened(0, bool(argument & _O_APPEND), bool(argument & _O_TRUNC))
                yield None
            elif kind == SET:
                self._opened.setdefault(opened, _Opened(None, is_append=False)).position = result
                yield None
            elif kind == FORGOTTEN:
                one = self._opened.setdefault(opened, _Opened(None, is_append=False))
                one.position, one.moved_ns = None, start_ns
                yield None
            else:
                yield self._place(kind, opened, file, start_ns, result, argument, is_write=is_write)

    def _place(
        self, kind: int, number: int, file: int, start_ns: int, result: int, argument: int, *, is_write: bool
    ) -> int | None:
        seen, path = self._files[file], self._paths[file]
        assert seen is not None
        opened = self._opened.get(number)
        if opened is None:
            opened = self._opened[number] = _Opened(None, seen.is_append)
        if path not in self._ends:
            if opened.is_truncated:
                self.sizes[path] = 0
            self._ends[path] = self.sizes[path]
        if kind == KEPT:
            return None
        place: int | None = self._ends[path] if kind == APPENDED else argument
        if kind == MOVED:
            if opened.position is None and opened.moved_ns < seen.first_ns <= start_ns:
                opened.position = seen.position_bytes
            place = self._ends[path] if is_write and (opened.is_append or seen.is_append) else opened.position
            opened.position = place + result if place is not None else None
            opened.moved_ns = start_ns
        if is_write and place is not None:
            self._ends[path] = max(self._ends[path], place + result)
        return place


def sizes_at_first(first: Mapping[str, SeenPlace], written: Iterable[tuple[str, bool, int, int]]) -> dict[str, int]:
    """By name a file's size when it was seen, less what its calls had written at its end, or as all of it, until then.

    Parameters
    ----------
    first : mapping of str to file
        What `first_seen` gives.
    written : iterable of (str, bool, int, int)
        What was written before: by name whether the place was named, that place, and how much.
    """
    before: dict[str, list[tuple[bool, int, int]]] = defaultdict(list)
    for path, is_named, place, size in written:
        before[path].append((is_named, place, size))
    return {path: _size_before(file, before[path]) for path, file in first.items()}


def first_seen(files: Iterable[SeenPlace]) -> Mapping[str, SeenPlace]:
    """By name that of which the size was looked at first."""
    first: dict[str, SeenPlace] = {}
    for one in files:
        path = plain_path(one.path)
        if path not in first or one.sized_ns < first[path].sized_ns:
            first[path] = one
    return first


def plain_path(path: str) -> str:
    """The name that a file had, also where it is removed by now."""
    return path.removesuffix(DELETED)


def _size_before(file: SeenPlace, written: Iterable[tuple[bool, int, int]]) -> int:
    at_end, covered = 0, 0
    for is_named, place, size in sorted(written, key=lambda one: one[1]):
        if not is_named:
            at_end += size
        elif place <= covered:
            covered = max(covered, place + size)
    return 0 if covered >= file.size_bytes else max(0, file.size_bytes - at_end)
