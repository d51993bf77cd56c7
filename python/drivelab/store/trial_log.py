"""The log of trials that no segment holds yet: a trial costs one write and one sync, and is there whole or not at all.

A log is a row of frames, one per trial: a header of `_HEADER` and, for each of
the run's tables, the trial's rows as an Arrow stream. Header and streams carry
check sums. What a crash cut off at the end of the log is no frame; damage
before the end is an error.
"""

from __future__ import annotations

import os
import struct
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

import pyarrow as pa

from drivelab.held_directory import HeldDirectory
from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.durable import append_durably, require_one_name, storage_error
from drivelab.store.regular_file import opened_regular
from drivelab.store.remote.bring import place_of

_MAGIC = b"DLtrial1"
# length and check sum of each table's stream, in the order of layout.TABLES
_LENGTHS = struct.Struct("<8s" + "QI" * len(layout.TABLES))
_CHECK_SUM = struct.Struct("<I")
_HEADER_BYTES = _LENGTHS.size + _CHECK_SUM.size


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where a trial's streams lie in the log, each as (offset, length, check sum)."""

    streams: tuple[tuple[int, int, int], ...]

    @property
    def end(self) -> int:
        """Where the next frame begins."""
        offset, length, _ = self.streams[-1]
        return offset + length


@dataclass(frozen=True, slots=True)
class LogContent:
    """What a log holds.

    Attributes
    ----------
    frames : tuple
        One per trial.
    size_bytes : int
        Length of all that is whole; the file may be longer, by what a crash cut off.
    """

    frames: tuple[_Frame, ...]
    size_bytes: int


class TrialLog:
    """A log that takes trials, open as long as it does.

    Parameters
    ----------
    name : str
        What it is called. A log of that name is gone on with; anything else is removed, never cut off.

    Attributes
    ----------
    size_bytes : int
        Length of all trials in it.
    trial_count : int
        How many they are.

    Raises
    ------
    DrivelabError
        S501, S502, S503: it cannot be made, or is a link, or has other names. S506: it is damaged.
    """

    def __init__(self, directory: HeldDirectory, name: str) -> None:
        self._path = directory.path / name
        self.size_bytes = self.trial_count = 0
        try:
            found = self._taken_over(directory, name)
            if found is None:
                directory.remove_name(name)
                found = directory.new_file(name)
                directory.sync()
        except OSError as error:
            raise storage_error(error, self._path) from error
        self._descriptor = found
        self._closed = weakref.finalize(self, os.close, found)

    def _taken_over(self, directory: HeldDirectory, name: str) -> int | None:
        """Descriptor of the log of an earlier writer, if it holds a trial."""
        try:
            descriptor = directory.open_file(name, os.O_RDWR)
        except FileNotFoundError:
            return None
        try:
            # read through the descriptor that is going to be cut: the name may mean another file by now
            with os.fdopen(os.dup(descriptor), "rb") as file:
                content = _content(file, self._path)
            if content.frames:
                require_one_name(descriptor, self._path)
                self.size_bytes, self.trial_count = content.size_bytes, len(content.frames)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    def append(self, tables: Mapping[str, pa.Table]) -> None:
        """Put a trial's rows of every table at the end, durably.

        Raises
        ------
        DrivelabError
            S501, S502, S503: it cannot be written; nothing of it is left behind.
        """
        streams = [_stream(tables[name]) for name in layout.TABLES]
        sizes = [number for stream in streams for number in (stream.size, crc32(stream))]
        lengths = _LENGTHS.pack(_MAGIC, *sizes)
        frame = [lengths, _CHECK_SUM.pack(crc32(lengths)), *streams]
        try:
            self.size_bytes = append_durably(self._descriptor, frame, at=self.size_bytes)
        except OSError as error:
            raise storage_error(error, self._path) from error
        self.trial_count += 1

    def close(self) -> None:
        """Close the log, which stays."""
        self._closed()


def log_content(path: Path) -> LogContent:
    """The whole frames of a log.

    Raises
    ------
    FileNotFoundError
        It has been removed: a segment holds its trials.
    DrivelabError
        S506: it is damaged.
    """
    with _opened(path) as file:
        return _content(file, path)


def read_log(path: Path, table: str) -> Iterator[pa.Table]:
    """The rows of one table, trial by trial.

    Raises
    ------
    FileNotFoundError
        The log has been removed: a segment holds its trials.
    DrivelabError
        S506: it is damaged.
    """
    number = layout.TABLES.index(table)
    with _opened(path) as file:
        for frame in _content(file, path).frames:
            stream = _checked(file, frame.streams[number])
            if stream is None:
                raise _damaged(path, frame.streams[number][0])
            try:
                rows = pa.ipc.open_stream(stream).read_all()
            except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
                raise _damaged(path, frame.streams[number][0]) from error
            yield rows


def _stream(rows: pa.Table) -> pa.Buffer:
    # not compressed: that costs ten times as much as writing it, and a log is short-lived
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def _content(file: BinaryIO, path: Path) -> LogContent:
    frames: list[_Frame] = []
    end = 0
    while (frame := _frame_at(file, end)) is not None:
        frames.append(frame)
        end = frame.end
    # only the last write can have been cut off: in the data of the last frame, or behind it
    whole = end
    if frames and not _is_whole(file, frames[-1]):
        whole = frames.pop().streams[0][0] - _HEADER_BYTES
    if _holds_a_frame(file, whole + 1):
        raise _damaged(path, whole)
    return LogContent(tuple(frames), whole)


def _frame_at(file: BinaryIO, offset: int) -> _Frame | None:
    # a header may claim any length, and nothing can be looked for behind the end
    if offset >= os.fstat(file.fileno()).st_size:
        return None
    file.seek(offset)
    header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        return None
    (check_sum,) = _CHECK_SUM.unpack_from(header, _LENGTHS.size)
    if crc32(header[: _LENGTHS.size]) != check_sum:
        return None
    _, *sizes = _LENGTHS.unpack_from(header)
    streams, begin = [], offset + _HEADER_BYTES
    for length, stream_check_sum in zip(sizes[::2], sizes[1::2], strict=True):
        streams.append((begin, length, stream_check_sum))
        begin += length
    return _Frame(tuple(streams))


def _is_whole(file: BinaryIO, frame: _Frame) -> bool:
    return all(_checked(file, stream) is not None for stream in frame.streams)


def _checked(file: BinaryIO, stream: tuple[int, int, int]) -> bytes | None:
    """The bytes of a stream; None when they are not those that were written."""
    offset, length, check_sum = stream
    if offset + length > os.fstat(file.fileno()).st_size:
        return None
    file.seek(offset)
    content = file.read(length)
    return content if len(content) == length and crc32(content) == check_sum else None


def _holds_a_frame(file: BinaryIO, offset: int) -> bool:
    """Whether a frame begins anywhere behind `offset`: then what stands before it was damaged later."""
    file.seek(offset)
    rest = file.read()
    found = rest.find(_MAGIC)
    while found >= 0:
        if _frame_at(file, offset + found) is not None:
            return True
        found = rest.find(_MAGIC, found + 1)
    return False


def _opened(path: Path) -> BinaryIO:
    try:
        return opened_regular(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DrivelabError("S506", f"{path.name} cannot be read: {error.strerror}", where=place_of(path)) from error


def _damaged(path: Path, offset: int) -> DrivelabError:
    return DrivelabError("S506", f"{path.name} is damaged at byte {offset}", where=place_of(path))
