"""Reads what ioping prints: lines for people, raw numbers (``-B``, ``-p``) and JSON (``-J``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from drivelab.interop.fio.result_stats import bucket_of
from drivelab.interop.foreign import (
    ForeignFile,
    ForeignTrial,
    SourceText,
    broken_line,
    nothing_in,
    number_of,
    size_level,
    told,
    whole_number_of,
)
from drivelab.interop.json_fields import JsonFields
from drivelab.interop.json_place import json_documents
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.histogram import Histogram
from drivelab.model.workload import BlockSizeShare, OperationShare, TargetRange, Workload

_RAW_COLUMNS = ("count", "time", "iops", "bytes per s", "min", "avg", "max", "mdev", "all requests", "all time")
_RAW = re.compile(r"\s*\d+(\s+\d+){9}\s*")
_REQUEST = re.compile(
    r"(?P<size>[\d.]+ \w+) (?P<way>[<>]{3}) (?P<where>.*): request=(?P<number>\d+) time=(?P<time>[\d.]+ \w+)"
    r"(?P<first> \(warmup\))?.*"
)
_TITLE = re.compile(r"--- (?P<where>.*) ioping statistics ---")
_COMPLETED = re.compile(
    r"(?P<count>[\d.]+(?: [kMG])?) requests completed in (?P<time>[\d.]+ \w+), (?P<bytes>[\d.]+ \w+)"
    r"(?P<way> read| written)?,.*"
)
_GENERATED = re.compile(
    r"generated (?P<count>[\d.]+(?: [kMG])?) requests in (?P<time>[\d.]+ \w+), (?P<bytes>[\d.]+ \w+),.*"
)
_TIMES = re.compile(r"min/avg/max/mdev = ([\d.]+ \w+) / ([\d.]+ \w+) / ([\d.]+ \w+) / ([\d.]+ \w+)")
_BLOCK_DEVICE = re.compile(r"(?P<path>.*) \(block device(?: [\d.]+ \w+)?\)")
_WHERE = re.compile(r"(?P<path>.*) \((?P<type>\S+) (?P<device>\S+)(?: [\d.]+ \w+)?\)|(?P<alone>.*)")
_SECONDS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "hour": 3600 * 10**9,
    "day": 86400 * 10**9,
}
_READ, _WRITE = "<" * 3, ">" * 3
_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_COUNTS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
# ioping rounds a count of more than 999 to three digits
_ROUNDED = 1.006
# a median of fewer lies all on one side of them more often than once in forty times
_FEWEST = {"p50": (0.5, 6), "p90": (0.9, 36), "p99": (0.99, 368)}


@dataclass(slots=True)
class _Session:
    """What one run of ioping tells."""

    line: int = 0
    where: str = ""
    operation: str = ""
    size_bytes: int = 0
    measured: str = ""
    filesystem: str = ""
    device: str = ""
    requests_ns: list[int] = field(default_factory=list)
    # of requests without the first, which warms up: how many, time in them, shortest, longest
    count: int = 0
    time_ns: float = 0
    lowest_ns: float = 0
    highest_ns: float = 0
    # of all requests, with the pauses between them
    all_count: int = 0
    all_ns: float = 0

    def add(
        self, count: int, time_ns: float, lowest_ns: float, highest_ns: float, all_count: int, all_ns: float
    ) -> None:
        self.lowest_ns = min(self.lowest_ns, lowest_ns) if self.count else lowest_ns
        self.highest_ns = max(self.highest_ns, highest_ns)
        self.count += count
        self.time_ns += time_ns
        self.all_count += all_count
        self.all_ns += all_ns


def read_results(source: SourceText) -> ForeignFile:
    """The results that ioping printed.

    Raises
    ------
    DrivelabError
        I502, I503, I504: JSON, a field or a line that cannot be read. I505: no results. I507: an ioping before 1.0.
    """
    is_json = source.text.lstrip()[:1] in ("[", "{")
    sessions = _json_sessions(source) if is_json else _text_sessions(source)
    trials = tuple(_trial(one) for one in sessions if one.count)
    if not trials:
        raise nothing_in(source, "ioping")
    return ForeignFile(source, "ioping", "", trials, tuple(_notes(sessions)), trials[0].measured[:16].replace("T", " "))


def _text_sessions(source: SourceText) -> list[_Session]:
    sessions: list[_Session] = []
    now: _Session | None = None
    is_raw = False
    for number, line in enumerate(source.text.splitlines(), start=1):
        text = line.strip()
        if _RAW.fullmatch(text):
            # every period of one run is a line: together they are that run
            if now is None:
                now = _opened(sessions, number)
            is_raw = True
            values = [
                whole_number_of(one, source, number, f"column {name}")
                for one, name in zip(text.split(), _RAW_COLUMNS, strict=True)
            ]
            if values[2]:
                now.size_bytes = now.size_bytes or _likely_size(values[3] / values[2])
            now.add(values[0], values[1], values[4], values[6], values[8], values[9])
        elif match := _REQUEST.fullmatch(text):
            if now is None or (match["number"] == "1" and now.requests_ns):
                now, is_raw = _opened(sessions, number), False
            _remember(now, match, source, number)
        elif match := _TITLE.fullmatch(text):
            now = now or _opened(sessions, number)
            now.where = match["where"]
        elif now is not None and "requests completed in" in text:
            _read_statistics(now, source, number, is_raw=is_raw)
            now, is_raw = None, False
        elif re.match(r"\d+(\s+\d+){6,}\s*$", text):
            raise broken_line(f"{len(text.split())} numbers where ioping prints {len(_RAW_COLUMNS)}", source, number)
    return sessions


def _opened(sessions: list[_Session], line: int) -> _Session:
    sessions.append(_Session(line=line))
    return sessions[-1]


def _remember(now: _Session, match: re.Match[str], source: SourceText, line: int) -> None:
    now.where = match["where"]
    now.size_bytes = round(_quantity(match["size"], _BYTES, source, line))
    now.operation = {_READ: "read", _WRITE: "write"}.get(match["way"], "mixed")
    if not match["first"]:
        now.requests_ns.append(round(_quantity(match["time"], _SECONDS, source, line)))


def _read_statistics(now: _Session, source: SourceText, line: int, *, is_raw: bool) -> None:
    """The three lines at the end of a run; what raw lines told more exactly is kept."""
    lines = [text.strip() for text in source.text.splitlines()[line - 1 : line + 2]] + ["", ""]
    completed, generated, times = (
        pattern.fullmatch(text) for pattern, text in zip((_COMPLETED, _GENERATED, _TIMES), lines, strict=False)
    )
    if generated is None and any(text.startswith("min/avg/max") for text in lines[1:2]):
        what = "it is of ioping before 1.0, which is not read"
        raise DrivelabError("I507", what, where=source.place(line), do="measure with ioping 1.0 or newer")
    if completed is None or generated is None:
        at = line if completed is None else line + 1
        raise broken_line("it does not end as ioping's statistics do", source, min(at, source.text.count("\n") + 1))
    count = round(_quantity(completed["count"], _COUNTS, source, line))
    if count and times is None:
        raise broken_line("min/avg/max/mdev are missing", source, line + 1)
    way = {" read": "read", " written": "write"}.get(completed["way"] or "", "mixed")
    now.operation = now.operation or way
    if count and not now.size_bytes:
        now.size_bytes = _likely_size(_quantity(completed["bytes"], _BYTES, source, line) / count)
    # a period that was not full when the run ended has no raw line: the statistics hold it, too
    is_whole = is_raw and count <= now.count * _ROUNDED
    if is_whole or times is None:
        return
    now.count = now.all_count = 0
    now.time_ns = now.all_ns = now.highest_ns = 0
    now.add(
        count,
        # the mean has more digits than a count of thousands, and so more than the time over that count
        count * _quantity(times[2], _SECONDS, source, line + 2),
        _quantity(times[1], _SECONDS, source, line + 2),
        _quantity(times[3], _SECONDS, source, line + 2),
        round(_quantity(generated["count"], _COUNTS, source, line + 1)),
        _quantity(generated["time"], _SECONDS, source, line + 1),
    )


def _likely_size(mean_bytes: float) -> int:
    """The power of two that rounded numbers lie at; 0 where they lie at none."""
    power = 2 ** max(0, round(np.log2(mean_bytes))) if 1 <= mean_bytes < 2**40 else 0
    return int(power) if power and abs(mean_bytes / power - 1) < 0.02 else 0


def _quantity(text: str, units: dict[str, int], source: SourceText, line: int) -> float:
    number, _, unit = text.partition(" ")
    if unit not in units:
        raise broken_line(f"{text[:40]!r} has an unknown unit", source, line)
    return number_of(number, source, line, "number") * units[unit]


def _json_sessions(source: SourceText) -> list[_Session]:
    """Each document is one run; of several statistics in it, each counts since the start, so the last is taken."""
    documents, failure = json_documents(source, "[{")
    sessions = []
    for document in documents:
        items = document.value if isinstance(document.value, list) else [document.value]
        now = _Session()
        for place in range(len(items)):
            fields = JsonFields(source, document, {"": items}).below("", place)
            fields = JsonFields(source, document, fields.values, (place,) if isinstance(document.value, list) else ())
            _read_item(now, fields)
        now.line = source.text.count("\n", 0, document.begin) + 1
        sessions.append(now)
    if failure is not None:
        raise failure
    return sessions


def _read_item(now: _Session, item: JsonFields) -> None:
    target = item.below("target")
    now.where, now.filesystem = target.text("path", now.where), target.text("fstype", now.filesystem)
    now.device = target.text("device", now.device)
    now.measured = now.measured or item.text("localtime")[:40]
    request = item.below("io")
    if request.values:
        now.operation = request.text("operation")
        now.size_bytes = int(request.number("size"))
        if request.values.get("ignored") is not True:
            now.requests_ns.append(int(request.number("time")))
    statistics, load = item.below("stat"), item.below("load")
    if statistics.values:
        now.count, now.time_ns = int(statistics.number("count")), statistics.number("time")
        now.lowest_ns, now.highest_ns = statistics.number("min", 0), statistics.number("max", 0)
        now.all_count, now.all_ns = int(load.number("count", 0)), load.number("time", 0)


def _trial(one: _Session) -> ForeignTrial:
    path, device, filesystem = _place(one)
    operation = one.operation if one.operation in ("read", "write") else "mixed"
    fields: dict[str, Any] = {"target": TargetRange(path=path), "backend": "sync", "queue_depth": 1, "job_count": 1}
    if operation != "mixed":
        fields["operations"] = (OperationShare(operation=operation),)  # type: ignore[arg-type]
    if 0 < one.size_bytes <= 2**30:
        fields["block_sizes"] = (BlockSizeShare(bytes=one.size_bytes),)
    parameters = {"operation": operation, "block_size": size_level(one.size_bytes), "filesystem": filesystem}
    histogram = _histogram(one)
    return ForeignTrial(
        workload="request-latency",
        title=f"one request after the other{f', {size_level(one.size_bytes)}' if one.size_bytes else ''}",
        operation=operation,
        known=Workload(**fields),
        estimates=_estimates(one, histogram),
        line=one.line,
        parameters={name: level for name, level in parameters.items() if level and level != "0"},
        drive=device.removeprefix("/dev/")[:80],
        operations={operation: {"count": one.count, "bytes": one.count * one.size_bytes, "errors": 0}},
        histograms={(operation, "total"): histogram} if histogram else {},
        measured_ns=round(one.all_ns),
        backend="sync",
        details={"where": one.where[:400], "local time": one.measured},
    )


def _place(one: _Session) -> tuple[str, str, str]:
    """Path, device and file system; a block device is its own, and has no file system."""
    if match := _BLOCK_DEVICE.fullmatch(one.where):
        return match["path"], match["path"], ""
    place = _WHERE.fullmatch(one.where)
    path = (place["path"] or place["alone"] or "") if place else ""
    device = one.device or (place["device"] if place else "") or ""
    filesystem = one.filesystem or (place["type"] if place else "") or ""
    return (path, path, "") if (filesystem, device) == ("block", "device") else (path, device, filesystem)


def _histogram(one: _Session) -> Histogram | None:
    """Of the requests that stand one by one; ioping rounds them to three or four digits unless it prints JSON."""
    if not one.requests_ns or len(one.requests_ns) != one.count:
        return None
    buckets, counts = np.unique([bucket_of(value) for value in one.requests_ns], return_counts=True)
    return Histogram(
        bucket=buckets.astype(np.int64),
        count=counts.astype(np.int64),
        minimum_ns=min(one.requests_ns),
        maximum_ns=max(one.requests_ns),
        sum_ns=sum(one.requests_ns),
    )


def _estimates(one: _Session, histogram: Histogram | None) -> dict[str, Estimate]:
    start = "total_latency_ns_"
    found = {
        f"{start}mean": told(one.time_ns / one.count, "ns", "time of the requests over their number", one.count),
        f"{start}min": told(one.lowest_ns, "ns", "min", one.count),
        f"{start}max": told(one.highest_ns, "ns", "max; the next may be larger", one.count),
    }
    if histogram is not None:
        for name, (share, fewest) in _FEWEST.items():
            if one.count >= fewest:
                found[start + name] = told(histogram.quantile_ns(share), "ns", "of the requests as listed", one.count)
    if one.all_ns:
        rate = one.all_count / one.all_ns * 1e9
        found["iops"] = told(rate, "1/s", "all requests over all time, with the pauses", one.all_count)
        if one.size_bytes:
            found["throughput_bytes_per_s"] = told(rate * one.size_bytes, "B/s", "the same in bytes", one.all_count)
    return found


def _notes(sessions: Sequence[_Session]) -> Iterator[str]:
    yield "rates count the pauses between requests: ioping measures how long one takes, and not how many a drive can do"
    yield "the first request warms up, and is in none of the latencies"
    if any(one.count and not one.size_bytes for one in sessions):
        yield "the size of a request is not told"
    if any(one.count and one.operation not in ("read", "write") for one in sessions):
        yield "whether it read or wrote is not told"
