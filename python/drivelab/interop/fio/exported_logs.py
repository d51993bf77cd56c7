"""Latency, bandwidth and IOPS logs in fio's format: what fio-plot draws its lines from."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.measurement import Measurement

_DIRECTIONS = {"read": 0, "write": 1, "trim": 2}
# name of the log, our latency
_LATENCIES = {"lat": "total", "clat": "completion", "slat": "submission"}
_LINES_AT_ONCE = 50_000


def logs_of(measured: Measurement, ios: pa.Table | None) -> dict[str, Iterator[str]]:
    """The logs of a trial, by fio's name for their kind: lat, clat, slat, bw and iops.

    Parameters
    ----------
    ios : pyarrow.Table or None
        Its single I/Os, when they were recorded: ``lat`` then has a line for each of them.

    Returns
    -------
    dict of str to iterator of str
        Pieces of text, each with whole lines: time in ms, value, direction, block
        size, offset, priority; a window has 0 for the sizes and offsets of its
        I/Os. Latencies in ns, bw in KiB/s.
    """
    logs = {"lat": _single_ios(ios)} if ios is not None else {}
    for name, latency in _LATENCIES.items():
        # a synchronous call has no submission latency, and its completion is the whole, as with fio
        source = "total" if name == "clat" and not _is_measured(measured, latency) else latency
        # a latency without intervals has no windows: no log, because readers stumble over an empty one
        if name not in logs and _has_windows(measured, source):
            logs[name] = _windows(measured, source, name)
    for name in ("bw", "iops"):
        logs[name] = _windows(measured, "total", name)
    return logs


def _is_measured(measured: Measurement, latency: str) -> bool:
    return any(kind == latency and operation in _DIRECTIONS for operation, kind in measured.histograms)


def _has_windows(measured: Measurement, latency: str) -> bool:
    return bool(pc.any(pc.equal(measured.intervals["latency"], latency)).as_py())


def _windows(measured: Measurement, latency: str, name: str) -> Iterator[str]:
    rows = measured.intervals
    of_directions = pc.is_in(rows["operation"], pa.array(list(_DIRECTIONS)))
    rows = rows.filter(pc.and_(of_directions, pc.equal(rows["latency"], latency)))
    columns = ["operation", "start_ns", "duration_ns", "count", "bytes", "sum_ns"]
    lines = []
    for operation, start_ns, duration_ns, count, moved, sum_ns in zip(
        *(rows[column].to_pylist() for column in columns), strict=True
    ):
        if not count or not duration_ns:
            continue
        values = {"bw": moved / 1024 * 1e9 / duration_ns, "iops": count * 1e9 / duration_ns}
        value = round(values.get(name, sum_ns / count))
        lines.append(f"{round((start_ns + duration_ns) / 1e6)}, {value}, {_DIRECTIONS[operation]}, 0, 0, 0\n")
    yield "".join(lines)


def _single_ios(ios: pa.Table) -> Iterator[str]:
    ios = ios.filter(pc.and_(pc.less(ios["operation"], len(_DIRECTIONS)), pc.greater_equal(ios["result"], 0)))
    done_ns = pc.add(ios["issue_ns"], ios["total_latency_ns"])
    begin_ns = pc.min(ios["issue_ns"]).as_py() or 0
    # fio writes a line when an I/O is done
    order = pc.sort_indices(done_ns)
    ios, done_ns = ios.take(order), done_ns.take(order)
    for begin in range(0, len(ios), _LINES_AT_ONCE):
        part, done = ios.slice(begin, _LINES_AT_ONCE), done_ns.slice(begin, _LINES_AT_ONCE)
        columns = ("total_latency_ns", "operation", "size_bytes", "offset_bytes")
        rows = zip(done.to_pylist(), *(part[column].to_pylist() for column in columns), strict=True)
        yield "".join(
            f"{(end - begin_ns) // 1_000_000}, {latency}, {direction}, {size}, {offset}, 0\n"
            for end, latency, direction, size, offset in rows
        )
