"""Reads recordings in the simplest way there is, so that what wrote them can be checked."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_HEADER = struct.Struct("<IIQQIIIIIHH")
_MAGIC_V7 = 0x65617407
LETTERS = {1: "Q", 2: "M", 3: "F", 4: "G", 6: "R", 7: "D", 8: "C", 9: "P", 10: "U", 11: "UT", 12: "I", 13: "X", 15: "A"}
READ, WRITE, FLUSH, META, FUA, NOTICE = 1, 2, 4, 0x1000, 0x8000, 0x400


class TraceRecord(NamedTuple):
    """One record; `action` is blkparse's letter, a notice has the number of its kind."""

    action: str
    category: int
    sector: int
    bytes: int
    thread: int
    device: int
    cpu: int
    error: int
    payload: bytes
    time_ns: int
    sequence: int


def read_all(files: Iterable[Path]) -> tuple[list[TraceRecord], list[TraceRecord]]:
    """Records and notices, file by file."""
    records: list[TraceRecord] = []
    notices: list[TraceRecord] = []
    for path in files:
        content, at = path.read_bytes(), 0
        while at < len(content):
            magic, sequence, time_ns, sector, size, action, *rest = _HEADER.unpack_from(content, at)
            thread, device, cpu, error, payload_bytes = rest
            assert magic == _MAGIC_V7, f"{path} at {at}"
            at += _HEADER.size
            payload = content[at : at + payload_bytes]
            at += payload_bytes
            kind = action & 0xFFFF
            is_notice = bool(action >> 16 & NOTICE)
            letter = str(kind) if is_notice else LETTERS[kind]
            record = TraceRecord(
                letter, action >> 16, sector, size, thread, device, cpu, error, payload, time_ns, sequence
            )
            (notices if is_notice else records).append(record)
    return records, notices


def counts(records: Iterable[TraceRecord]) -> dict[str, int]:
    """Commands by kind: writes and reads carry data, flushes none."""
    found: Counter[str] = Counter()
    for record in records:
        if record.action != "D":
            continue
        if record.bytes == 0 and record.category & FLUSH:
            found["flushes"] += 1
        elif record.category & WRITE:
            found["writes"] += 1
            found["bytes_written"] += record.bytes
        else:
            found["reads"] += 1
    return dict(found)
