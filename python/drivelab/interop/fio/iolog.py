"""fio's iolog, versions 2 and 3: what a job did, line by line, as a load that can be issued again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from drivelab.model.errors import DrivelabError
from drivelab.model.recording import READ, SYNC, TRIM, WRITE, RecordedThread, Recording

BEGINNING = b"fio version "
_EACH_JOB = "record each job into a file of its own: one at a time, or each with a write_iolog of its own"
_HEAD = re.compile(r"fio version (\d+) iolog")
_OPERATIONS = {"read": READ, "write": WRITE, "trim": TRIM, "sync": SYNC, "datasync": SYNC}
_FILE_ACTIONS = ("add", "open", "close")
# files of one recording lie one behind the other, each from a multiple of this on
_FILE_STEP = 1 << 20
_LARGEST = 1 << 30
# a petabyte, and thirty years of microseconds: sums of them stay within 64 bits
_DIGITS_MAX = 16
_LAST_NS = 10**18


@dataclass(slots=True)
class _Lines:
    """What has been read so far."""

    version: int
    source: str
    now_ns: int = 0
    rows: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    # by name: number and first byte behind what was used
    files: dict[str, int] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    has_fsync: bool = False


def read_iolog(text: str, source: str, *, queue_depth: int = 1) -> Recording:
    """The load of an iolog: one thread, whose I/Os the recording does not time.

    Parameters
    ----------
    queue_depth : int
        The most that are outstanding at once, which the recording does not tell either.

    Raises
    ------
    DrivelabError
        B906: another version. B921: a line that cannot be read, or is cut short. B923: out of order.

    Notes
    -----
    Version 3 tells the start of each I/O in microseconds. Version 2 tells none; a ``wait`` in it is until so many
    milliseconds after the start, as fio itself does it.
    """
    lines = text.split("\n")
    head = _HEAD.fullmatch(lines[0].strip())
    if head is None or head[1] not in ("2", "3"):
        what = f"{lines[0].strip()[:60]!r} is no iolog of version 2 or 3"
        raise DrivelabError("B906", what, where=source, do="write it again with fio's write_iolog, fio 2.0 or newer")
    if lines.pop():
        what = f"line {len(lines) + 1} is cut short: the file ends in the middle of it"
        raise DrivelabError("B921", what, where=source, do="copy the whole file, or take the line out")
    found = _Lines(int(head[1]), source)
    for number, line in enumerate(lines[1:], start=2):
        _take(found, number, line)
    return _recording(found, queue_depth)


def _take(found: _Lines, number: int, line: str) -> None:
    words = line.split()
    first = 1 if found.version == 3 else 0
    if not words:
        return
    if len(words) >= 2 + first and words[-1] in _FILE_ACTIONS:
        _number(found, number, words[0]) if first else None
        return
    if line.startswith(BEGINNING.decode()):
        what = f"line {number} begins another iolog: several jobs wrote into one file"
        raise DrivelabError("B923", what, where=found.source, do=_EACH_JOB)
    if len(words) < 4 + first or words[-3] not in (*_OPERATIONS, "wait"):
        raise _unreadable(found, number, line, "is no line of an iolog")
    offset, size = (_number(found, number, word) for word in words[-2:])
    action = words[-3]
    if first or action == "wait":
        _go_to(found, number, _number(found, number, words[0]) * 1000 if first else offset * 1_000_000)
    if action == "wait":
        if first:
            raise _unreadable(found, number, line, "has a wait, which only version 2 knows")
        return
    operation = _OPERATIONS[action]
    found.has_fsync |= action == "sync"
    if operation == SYNC:
        found.rows.append((found.now_ns, SYNC, 0, 0, 0))
        return
    if not 0 < size <= _LARGEST:
        raise _unreadable(found, number, line, "has a size that is not from 1 B to 1 GiB")
    file = found.files.setdefault(" ".join(words[first:-3]), len(found.ends))
    if file == len(found.ends):
        found.ends.append(0)
    found.ends[file] = max(found.ends[file], offset + size)
    found.rows.append((found.now_ns, operation, file, offset, size))


def _go_to(found: _Lines, number: int, moment_ns: int) -> None:
    if moment_ns >= _LAST_NS:
        raise _unreadable(found, number, str(moment_ns), "ns after the beginning is too late for any recording")
    if moment_ns < found.now_ns:
        what = f"line {number} is earlier than the one before: {moment_ns // 1000} us after {found.now_ns // 1000} us"
        raise DrivelabError("B923", what, where=found.source, do=_EACH_JOB)
    found.now_ns = moment_ns


def _number(found: _Lines, number: int, word: str) -> int:
    if not (word.isascii() and word.isdecimal()):
        raise _unreadable(found, number, word, "is no number")
    if len(word) >= _DIGITS_MAX:
        raise _unreadable(found, number, word, "is beyond any place, and any time since a recording began")
    return int(word)


def _unreadable(found: _Lines, number: int, text: str, what: str) -> DrivelabError:
    return DrivelabError("B921", f"line {number}: {text[:80]!r} {what}", where=found.source)


def _recording(found: _Lines, queue_depth: int) -> Recording:
    rows = np.array(found.rows, dtype=np.int64).reshape(-1, 5)
    steps = [-(-end // _FILE_STEP) * _FILE_STEP for end in found.ends]
    begins = np.concatenate([[0], np.cumsum(steps)]).astype(np.int64)
    start_ns = rows[:, 0] - (rows[0, 0] if len(rows) else 0)
    thread = RecordedThread(start_ns, rows[:, 1], rows[:, 3] + begins[rows[:, 2]], rows[:, 4], queue_depth=queue_depth)
    return Recording(
        source=found.source,
        kind=f"fio's iolog v{found.version}",
        threads=(thread,) if len(rows) else (),
        sync="fsync" if found.has_fsync else "fdatasync",
        notes=tuple(_notes(found)),
    )


def _notes(found: _Lines) -> Iterator[str]:
    if len(found.ends) > 1:
        yield f"the {len(found.ends)} files of the recording lie one behind the other on the target"
