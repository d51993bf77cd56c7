"""Reads the CSV of diskbenchmark: a line for each series of writes with fdatasync, with the seconds of all together."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from drivelab.interop.foreign import (
    ForeignFile,
    ForeignTrial,
    SourceText,
    broken_field,
    broken_line,
    nothing_in,
    number_of,
    size_level,
    told,
    whole_number_of,
)
from drivelab.model.contents import Contents
from drivelab.model.names import counted
from drivelab.model.workload import (
    Access,
    BlockSizeShare,
    Durability,
    Limits,
    OperationShare,
    Pacing,
    TargetRange,
    Workload,
)

COLUMNS = ("machine", "disk", "writecache", "size", "offset", "direct", "count", "seconds")
_SWITCH = {"yes": True, "no": False, "on": True, "off": False}
_LARGEST_BLOCK = 2**30


def read_results(source: SourceText) -> ForeignFile:
    """The results of a CSV of diskbenchmark.

    Raises
    ------
    DrivelabError
        I503, I504: a field or line that cannot be read. I505: no results.
    """
    trials = []
    rows = csv.reader(io.StringIO(source.text, newline=""))
    try:
        for row in rows:
            cells = tuple(cell.strip() for cell in row)
            if not any(cells) or cells[0].startswith("#") or cells == COLUMNS:
                continue
            if len(cells) != len(COLUMNS):
                what = f"{len(cells)} fields where there are {len(COLUMNS)}: {','.join(COLUMNS)}"
                raise broken_line(what, source, rows.line_num)
            trials.append(_trial(dict(zip(COLUMNS, cells, strict=True)), source, rows.line_num))
    except csv.Error as error:
        raise broken_line(f"it is no CSV: {error}", source, max(1, rows.line_num)) from None
    if not trials:
        raise nothing_in(source, "diskbenchmark")
    notes = (
        "seconds are those of all writes together: each line has a mean, and nothing of how its writes scatter",
        "whether the file was reserved or grew depends on the version of the program: it is not in the file",
    )
    return ForeignFile(source, "diskbenchmark", "", tuple(trials), notes)


def _trial(cells: Mapping[str, str], source: SourceText, line: int) -> ForeignTrial:
    size = whole_number_of(cells["size"], source, line, "column size", least=1)
    shift = whole_number_of(cells["offset"], source, line, "column offset")
    count = whole_number_of(cells["count"], source, line, "column count", least=1)
    seconds = number_of(cells["seconds"], source, line, "column seconds")
    is_direct = _switch(cells, "direct", source, line)
    cache = "on" if _switch(cells, "writecache", source, line) else "off"
    if not seconds:
        raise broken_field("0 seconds for all writes are none", source, line, "column seconds")
    if size > _LARGEST_BLOCK:
        raise broken_field(f"{size} bytes are more than 1 GiB", source, line, "column size")
    method = f"{counted(count, 'write')} with fdatasync in {seconds:g} s"
    return ForeignTrial(
        workload="reserved",
        title="write + fdatasync",
        operation="durable_write",
        known=Workload(
            target=TargetRange(path=""),
            backend="sync",
            operations=(OperationShare(operation="write"),),
            block_sizes=(BlockSizeShare(bytes=size),),
            access=Access(kind="sequential"),
            shift_bytes=shift,
            queue_depth=1,
            job_count=1,
            direct=is_direct,
            durability=Durability(method="fdatasync"),
            contents=Contents(kind="random"),
            pacing=Pacing(kind="closed"),
            limits=Limits(count=count),
        ),
        estimates={
            "total_latency_ns_mean": told(seconds / count * 1e9, "ns", method, count),
            "iops": told(count / seconds, "1/s", method, count),
            "throughput_bytes_per_s": told(count * size / seconds, "B/s", method, count),
        },
        line=line,
        parameters={
            "block_size": size_level(size),
            "shift": str(shift),
            "direct": "true" if is_direct else "false",
            "write-cache": cache,
        },
        factors=("block_size", "write-cache"),
        machine=cells["machine"][:80],
        drive=cells["disk"][:80],
        operations={
            "write": {"count": count, "bytes": count * size, "errors": 0},
            "sync": {"count": count, "bytes": 0, "errors": 0},
        },
        measured_ns=round(seconds * 1e9),
        backend="sync",
        is_direct=is_direct,
    )


def _switch(cells: Mapping[str, str], name: str, source: SourceText, line: int) -> bool:
    found = _SWITCH.get(cells[name].lower())
    if found is None:
        raise broken_field(f"{cells[name][:40]!r} is neither yes nor no", source, line, f"column {name}")
    return found
