"""The logs that a job asks for, as fio writes them: each I/O a line, or one for so many ms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from drivelab.interop.fio.exported_stats import BUCKETS, buckets_of

# the kinds of log of each option, with the column of the record that their values come from
_LATENCIES = {"lat": "total_latency_ns", "clat": "completion", "slat": "submission_latency_ns"}
_KINDS = {
    "write_bw_log": ("bw",),
    "write_lat_log": ("lat", "clat", "slat"),
    "write_iops_log": ("iops",),
    "write_hist_log": ("clat_hist",),
}
LOG_OPTIONS = tuple(_KINDS)
_DIRECTIONS = 3
_PRIORITY = 0
_MS = 1_000_000
_Row = dict[str, int]
# what a line of a window has of its I/Os
_Of = Literal["mean", "maximum", "both"]
_WINDOW_VALUES: dict[str, _Of] = {"1": "maximum", "max": "maximum", "both": "both"}


def asked_logs(
    name: str,
    options: Mapping[str, str],
    ios: pa.Table,
    first_job: int,
    *,
    begun_ms: int = 0,
    runtime_ms: int = 0,
) -> Iterator[tuple[str, str]]:
    """File names and texts of the logs of a job.

    Parameters
    ----------
    name : str
        The job's: a log without a name of its own has it.
    ios : pyarrow.Table
        Its single I/Os (``ios/TRIAL.parquet``).
    first_job : int
        How fio numbers the first of its jobs: from 1, over all jobs.
    begun_ms : int
        When it began, in ms since 1970: from then on ``log_alternate_epoch`` counts.
    runtime_ms : int
        Where time ended it, when: what was done later belongs to the window that ended then. 0: with its last I/O.

    Yields
    ------
    tuple of (str, str)
        As fio has them: time in ms, value (ns, KiB/s, I/Os or their rate), direction, block size, the offset with
        ``log_offset``, priority. Of a histogram time, direction, block size and the counts of fio's buckets.
    """
    is_one = options.get("per_job_logs", "1") == "0"
    epoch_ms = begun_ms if _is_on(options, "log_alternate_epoch") else 0
    rows = _rows(ios)
    is_submitted = any(row["submission_latency_ns"] for row in rows)
    for option, kinds in _KINDS.items():
        if option not in options:
            continue
        for kind in kinds:
            lines: dict[int, list[str]] = defaultdict(list)
            found = (
                _histograms(rows, options, runtime_ms)
                if kind == "clat_hist"
                else _samples(rows, kind, options, runtime_ms)
            )
            for job, time_ms, fields in found:
                of_job = lines[0 if is_one else job]
                # fio's log is empty of what has no submission apart from the I/O itself
                if kind != "slat" or is_submitted:
                    of_job.append(", ".join(map(str, (epoch_ms + time_ms, *fields))) + "\n")
            for job, texts in lines.items():
                number = "" if is_one else f".{first_job + job}"
                yield f"{options[option] or name}_{kind}{number}.log", "".join(texts)


def _is_on(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "0") not in ("0", "")


def _rows(ios: pa.Table) -> list[_Row]:
    """Reads, writes and trims that went well, in the order of completion."""
    rows = [row for row in ios.to_pylist() if row["operation"] < _DIRECTIONS and row["result"] >= 0]
    begin = min((row["issue_ns"] for row in rows), default=0)
    for row in rows:
        row["done_ns"] = row["issue_ns"] + row["total_latency_ns"] - begin
        row["completion"] = row["total_latency_ns"] - max(0, row["submission_latency_ns"] or 0)
    return sorted(rows, key=lambda row: row["done_ns"])


def _samples(
    rows: list[_Row], kind: str, options: Mapping[str, str], runtime_ms: int
) -> Iterator[tuple[int, int, list[int]]]:
    """Job, time and the other fields of each line: of an I/O, or of those of a window."""
    window_ms = int(options.get("log_avg_msec") or 0)
    has_offset = _is_on(options, "log_offset")
    if not window_ms:
        for row in rows:
            spent_s = max(row["total_latency_ns"], 1) / 1e9
            values = {"bw": row["size_bytes"] / 1024 / spent_s, "iops": 1}
            value = values[kind] if kind in values else row[_LATENCIES[kind]] or 0
            place = [row["offset_bytes"]] if has_offset else []
            fields = [round(value), row["operation"], row["size_bytes"], *place, _PRIORITY]
            yield row["job"], row["done_ns"] // _MS, fields
        return
    of = _WINDOW_VALUES.get(options.get("log_window_value", "avg"), "mean")
    for end_ms, job, direction, length_ms, found in _windows(rows, window_ms, runtime_ms):
        values = {
            "bw": sum(row["size_bytes"] for row in found) / 1.024 / length_ms,
            "iops": len(found) * 1e3 / length_ms,
        }
        told = [values[kind]] if kind in values else _of_window([row[_LATENCIES[kind]] or 0 for row in found], of)
        if kind in values and of == "both":
            told *= 2
        place = [0] if has_offset else []
        yield job, end_ms, [*map(round, told), direction, 0, *place, _PRIORITY]


def _of_window(values: Sequence[int], of: _Of) -> list[float]:
    mean, most = sum(values) / len(values), max(values)
    told: dict[_Of, list[float]] = {"mean": [mean], "maximum": [most], "both": [mean, most]}
    return told[of]


def _windows(rows: list[_Row], window_ms: int, runtime_ms: int) -> Iterator[tuple[int, int, int, float, list[_Row]]]:
    """End in ms, job, direction, length in ms and the I/Os of each window, in that order; the last may be shorter."""
    last_ns = runtime_ms * _MS or max((row["done_ns"] for row in rows), default=0)
    windows: dict[tuple[int, int, int], list[_Row]] = defaultdict(list)
    for row in rows:
        # what is done at its very end belongs to it
        place = max(0, min(row["done_ns"], last_ns) - 1) // (_MS * window_ms)
        windows[place, row["job"], row["operation"]].append(row)
    for (place, job, direction), found in sorted(windows.items()):
        length_ms = min(window_ms, max(1.0, last_ns / _MS - place * window_ms))
        yield place * window_ms + round(length_ms), job, direction, length_ms, found


def _histograms(rows: list[_Row], options: Mapping[str, str], runtime_ms: int) -> Iterator[tuple[int, int, list[int]]]:
    """Job, time and the other fields of each line: direction, block size and the counts of each bucket."""
    # without a window the file is empty, as fio's is
    window_ms = int(options.get("log_hist_msec") or 0)
    # so many buckets become one
    joined = 1 << int(options.get("log_hist_coarseness") or 0)
    for end_ms, job, direction, _, found in _windows(rows, window_ms, runtime_ms) if window_ms else ():
        bucket = buckets_of(np.array([row["completion"] for row in found]))
        counts = np.bincount(bucket // joined, minlength=BUCKETS // joined)
        smallest = min(row["size_bytes"] for row in found)
        yield job, end_ms, [direction, smallest, *counts.tolist()]
