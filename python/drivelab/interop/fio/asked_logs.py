"""The logs that a job asks for, as fio writes them: each I/O a line, or one for so many ms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import pyarrow as pa

# the kinds of log of each option, with the column of the record that their values come from
_LATENCIES = {"lat": "total_latency_ns", "clat": "completion", "slat": "submission_latency_ns"}
_KINDS = {"write_bw_log": ("bw",), "write_lat_log": ("lat", "clat", "slat"), "write_iops_log": ("iops",)}
LOG_OPTIONS = tuple(_KINDS)
_DIRECTIONS = 3
_PRIORITY = 0


def asked_logs(name: str, options: Mapping[str, str], ios: pa.Table, first_job: int) -> Iterator[tuple[str, str]]:
    """File names and texts of the logs of a job.

    Parameters
    ----------
    name : str
        The job's: a log without a name of its own has it.
    options : mapping of str to str
        The options that hold for it.
    ios : pyarrow.Table
        Its single I/Os (``ios/TRIAL.parquet``).
    first_job : int
        How fio numbers the first of its jobs: from 1, over all jobs.

    Yields
    ------
    tuple of (str, str)
        As fio has them: time in ms, value (ns, KiB/s, I/Os or their rate), direction, block size, the offset with
        ``log_offset``, priority.
    """
    window_ms = int(options.get("log_avg_msec") or 0)
    is_one = options.get("per_job_logs", "1") == "0"
    has_offset = options.get("log_offset", "0") not in ("0", "")
    rows = _rows(ios)
    for option, kinds in _KINDS.items():
        if option not in options:
            continue
        for kind in kinds:
            lines: dict[int, list[str]] = defaultdict(list)
            for job, time_ms, value, direction, size, offset in _samples(rows, kind, window_ms):
                place = f"{offset}, " if has_offset else ""
                lines[0 if is_one else job].append(f"{time_ms}, {value}, {direction}, {size}, {place}{_PRIORITY}\n")
            for job, texts in lines.items():
                number = "" if is_one else f".{first_job + job}"
                yield f"{options[option] or name}_{kind}{number}.log", "".join(texts)


def _rows(ios: pa.Table) -> list[dict[str, int]]:
    """Reads, writes and trims that went well, in the order of completion."""
    rows = [row for row in ios.to_pylist() if row["operation"] < _DIRECTIONS and row["result"] >= 0]
    begin = min((row["issue_ns"] for row in rows), default=0)
    for row in rows:
        row["done_ns"] = row["issue_ns"] + row["total_latency_ns"] - begin
        row["completion"] = row["total_latency_ns"] - max(0, row["submission_latency_ns"] or 0)
    return sorted(rows, key=lambda row: row["done_ns"])


def _samples(rows: list[dict[str, int]], kind: str, window_ms: int) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Job, time, value, direction, size and offset of each line."""
    if not window_ms:
        for row in rows:
            spent_s = max(row["total_latency_ns"], 1) / 1e9
            values = {"bw": row["size_bytes"] / 1024 / spent_s, "iops": 1}
            value = values[kind] if kind in values else row[_LATENCIES[kind]] or 0
            time_ms = row["done_ns"] // 1_000_000
            yield row["job"], time_ms, round(value), row["operation"], row["size_bytes"], row["offset_bytes"]
        return
    windows: dict[tuple[int, int, int], list[dict[str, int]]] = defaultdict(list)
    for row in rows:
        windows[row["done_ns"] // (1_000_000 * window_ms), row["job"], row["operation"]].append(row)
    for (window, job, direction), found in windows.items():
        values = {
            "bw": sum(row["size_bytes"] for row in found) / 1.024 / window_ms,
            "iops": len(found) * 1e3 / window_ms,
        }
        value = values[kind] if kind in values else sum(row[_LATENCIES[kind]] or 0 for row in found) / len(found)
        yield job, (window + 1) * window_ms, round(value), direction, 0, 0
