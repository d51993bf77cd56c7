"""What a drive with a volatile write cache holds, and what of it survives a power cut.

Two images of the same size: what a read returns, and what is on the medium.
They differ only inside the extents that are in the cache. Offsets and lengths
are whole sectors. No clock, no I/O.
"""

from __future__ import annotations

import mmap
import random
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

SECTOR_BYTES = 512
_CHUNK_BYTES = 1 << 20
_ZEROS = bytes(_CHUNK_BYTES)


class CachedWrite(NamedTuple):
    """An extent that was written and not made durable since; later writes may have changed it again."""

    number: int
    offset_bytes: int
    length_bytes: int


class Medium:
    """The contents of a drive of `size_bytes`.

    Parameters
    ----------
    size_bytes : int
        A multiple of the page size.
    cache_bytes : int
        The volatile cache never holds more than this; the oldest write is made
        durable to make room, as drives do.
    """

    def __init__(self, size_bytes: int, cache_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._cache_bytes = cache_bytes
        self._visible = _image(size_bytes)
        self._durable = _image(size_bytes)
        self._cached: deque[CachedWrite] = deque()
        self._cached_bytes = 0
        self._taken = 0

    def read(self, offset_bytes: int, length_bytes: int) -> bytes:
        """What a host reads."""
        return self._visible[offset_bytes : offset_bytes + length_bytes]

    def write(self, offset_bytes: int, data: bytes, *, durably: bool) -> None:
        """Take a write into the cache, or durably (FUA) to the medium."""
        self._visible[offset_bytes : offset_bytes + len(data)] = data
        self._take(offset_bytes, len(data), durably=durably)

    def zero(self, offset_bytes: int, length_bytes: int, *, durably: bool) -> None:
        """Take a discard or a write of zeros."""
        _clear(self._visible, offset_bytes, length_bytes)
        self._take(offset_bytes, length_bytes, durably=durably)

    def last_write(self) -> int:
        """Number of the latest write that was taken; a flush that arrives now covers the writes up to it."""
        return self._taken

    def flush(self, last_write: int) -> None:
        """Make durable what was taken up to that write and is still in the cache."""
        while self._cached and self._cached[0].number <= last_write:
            self._destage_oldest()

    def cut_power(self, kept_fraction: float, seed: int) -> int:
        """Lose what is not durable and return how many sectors changed by that.

        Parameters
        ----------
        kept_fraction : float
            The part of the sectors in the cache that reached the medium all the
            same, chosen at random; strictly between 0 and 1 it tears writes.
        seed : int
            Of that choice.
        """
        chosen = random.Random(seed)
        lost = 0
        for write in self._cached:
            for sector in self._differing_sectors(write.offset_bytes, write.length_bytes):
                if chosen.random() < kept_fraction:
                    self._make_durable(sector, SECTOR_BYTES)
                else:
                    self._visible[sector : sector + SECTOR_BYTES] = self._durable[sector : sector + SECTOR_BYTES]
                    lost += 1
        self._cached.clear()
        self._cached_bytes = 0
        return lost

    def _take(self, offset_bytes: int, length_bytes: int, *, durably: bool) -> None:
        self._taken += 1
        if durably:
            self._make_durable(offset_bytes, length_bytes)
            return
        self._cached.append(CachedWrite(self._taken, offset_bytes, length_bytes))
        self._cached_bytes += length_bytes
        while self._cached_bytes > self._cache_bytes:
            self._destage_oldest()

    def _destage_oldest(self) -> None:
        write = self._cached.popleft()
        self._cached_bytes -= write.length_bytes
        self._make_durable(write.offset_bytes, write.length_bytes)

    def _make_durable(self, offset_bytes: int, length_bytes: int) -> None:
        for start, length in _chunks(offset_bytes, length_bytes):
            content = self._visible[start : start + length]
            # a discarded drive stays a drive without memory behind it
            if content == _ZEROS[:length]:
                _clear(self._durable, start, length)
            else:
                self._durable[start : start + length] = content

    def _differing_sectors(self, offset_bytes: int, length_bytes: int) -> Iterator[int]:
        for start, length in _chunks(offset_bytes, length_bytes):
            if self._visible[start : start + length] == self._durable[start : start + length]:
                continue
            for sector in range(start, start + length, SECTOR_BYTES):
                end = sector + SECTOR_BYTES
                if self._visible[sector:end] != self._durable[sector:end]:
                    yield sector


def _image(size_bytes: int) -> mmap.mmap:
    """Memory that costs nothing where it was never written."""
    return mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _chunks(offset: int, length: int) -> Iterator[tuple[int, int]]:
    for start in range(offset, offset + length, _CHUNK_BYTES):
        yield start, min(_CHUNK_BYTES, offset + length - start)


def _clear(image: mmap.mmap, offset: int, length: int) -> None:
    """Zero a range, giving back the memory of its whole pages."""
    first_page = -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
    end_page = (offset + length) // mmap.PAGESIZE * mmap.PAGESIZE
    if first_page >= end_page:
        image[offset : offset + length] = bytes(length)
        return
    image[offset:first_page] = bytes(first_page - offset)
    image.madvise(mmap.MADV_DONTNEED, first_page, end_page - first_page)
    image[end_page : offset + length] = bytes(offset + length - end_page)
