"""Reads what pg_test_fsync prints: operations per second of each way to make a write durable."""

from __future__ import annotations

import re
from typing import Any

from drivelab.interop.foreign import (
    ForeignFile,
    ForeignTrial,
    SourceText,
    broken_line,
    nothing_in,
    number_of,
    size_level,
    told,
)
from drivelab.model.workload import (
    Access,
    BlockSizeShare,
    Durability,
    DurabilityMethod,
    OperationShare,
    TargetRange,
    Workload,
)

_RESULT = re.compile(r"\s+(\S.*?)\s+([\d.]+) ops/sec(?:\s+\d+ usecs/op)?\s*")
_REFUSED = re.compile(r"\s+(\S.*?)\s+n/a(\*?)\s*")
_SECTION = re.compile(r"(Compare|Test|Non-sync)\S* ?.*:\s*")
_ONE_OR_TWO = re.compile(r"Compare file sync methods using (one|two) (\d{1,6})kB? writes?:")
_PIECES = re.compile(r"(?:(\d{1,4}) (?:\*\s+)?)?(\d{1,6})kB? open_sync writes?")
_METHODS: dict[str, DurabilityMethod] = {
    "open_datasync": "o_dsync",
    "fdatasync": "fdatasync",
    "fsync": "fsync",
    "fsync_writethrough": "fsync",
    "open_sync": "o_sync",
}
_DIRECT = re.compile(r"O_DIRECT supported on this platform for (.*)\.")
_OPENED = ("open_datasync", "open_sync")
_KB = 1024


def read_results(source: SourceText) -> ForeignFile:
    """The results that pg_test_fsync printed.

    Raises
    ------
    DrivelabError
        I503, I504: a field or line that cannot be read. I505: no results.
    """
    trials: list[ForeignTrial] = []
    refused: list[str] = []
    section, direct = "", ""
    for number, line in enumerate(source.text.splitlines(), start=1):
        if match := _DIRECT.match(line.strip()):
            direct = match[1]
        elif _SECTION.fullmatch(line):
            section = line.strip()
        elif match := _RESULT.fullmatch(line):
            trials.append(_trial(section, direct, match, source, number))
        elif match := _REFUSED.fullmatch(line):
            refused.append(f"{match[1]}{' (direct I/O was refused)' if match[2] else ''}")
        elif "ops/sec" in line or "usecs/op" in line:
            raise broken_line(f"{line.strip()[:60]!r} is no result of pg_test_fsync", source, number)
    if not trials:
        raise nothing_in(source, "pg_test_fsync")
    notes = ["the time of an operation is one over its rate, which has more digits than the microseconds printed"]
    if refused:
        notes.append(f"not measured on that platform (n/a): {', '.join(dict.fromkeys(refused))}")
    return ForeignFile(source, "pg_test_fsync", "", tuple(trials), tuple(notes))


def _trial(section: str, direct: str, match: re.Match[str], source: SourceText, line: int) -> ForeignTrial:
    name = match[1]
    rate = number_of(match[2], source, line, "column ops/sec")
    if not rate:
        raise broken_line("0 operations per second are no result", source, line)
    fields: dict[str, Any] = {
        "target": TargetRange(path=""),
        "backend": "sync",
        "operations": (OperationShare(operation="write"),),
        "access": Access(kind="same"),
        "queue_depth": 1,
        "job_count": 1,
    }
    workload, title, factor, level, writes, size_kb = _what(section, name)
    # all ways that open with a flag of their own go past the page cache where the first lines say so
    is_direct = any(way in name for way in _OPENED if way in direct) if direct else None
    if is_direct is not None:
        fields["direct"] = is_direct
    durability = _METHODS.get(name, "o_sync" if "open_sync" in name else "fsync" if "fsync" in name else "none")
    fields["durability"] = Durability(method=durability, every_writes=1 if durability.startswith("o_") else writes)
    if size_kb:
        fields["block_sizes"] = (BlockSizeShare(bytes=size_kb * _KB),)
    method = f"{match[2]} ops/sec"
    each = f"{method}, {writes} writes each" if writes > 1 else method
    estimates = {"iops": told(rate * writes, "1/s", each)}
    if writes == 1 or durability.startswith("o_"):
        # several writes with one sync call have no latency of one write
        estimates["total_latency_ns_mean"] = told(1e9 / rate / writes, "ns", f"one over {each}")
    if size_kb:
        estimates["throughput_bytes_per_s"] = told(rate * writes * size_kb * _KB, "B/s", f"{each} of {size_kb} kB")
    return ForeignTrial(
        workload=workload,
        title=title,
        operation="write" if durability in ("none", "o_sync", "o_dsync") else "durable_write",
        known=Workload(**fields),
        estimates=estimates,
        line=line,
        parameters={factor: level} if factor else {},
        factors=(factor,) if factor else (),
        backend="sync",
        is_direct=is_direct,
        details={"method": name, "section": section},
    )


def _what(section: str, name: str) -> tuple[str, str, str, str, int, int]:
    """Workload, title, factor, level, writes of an operation, and kB of one."""
    if match := _ONE_OR_TWO.fullmatch(section):
        count = 1 if match[1] == "one" else 2
        size = min(int(match[2]), 2**20)
        title = f"{match[1]} {size} KiB write{'s' * (count > 1)}"
        level = name if name == "fsync_writethrough" else _METHODS.get(name, name)
        return f"{match[1]}-write", title, "durability", level, count, size
    if match := _PIECES.fullmatch(name):
        count, size = max(1, int(match[1] or 1)), max(1, min(int(match[2]), 2**20))
        title = f"{count * size} KiB in pieces, each with open_sync"
        return "pieces", title, "block_size", size_level(size * _KB), count, size
    if section.startswith("Non-sync"):
        size = int(found[1]) if (found := re.search(r"(\d{1,6})kB", section)) else 0
        return "not-synced", "write without a sync call", "", "", 1, min(size, 2**20)
    return "other-descriptor", "fsync on the descriptor of the write, or on another", "order", name, 1, 0
