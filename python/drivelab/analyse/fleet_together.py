"""What many hosts did at the same time: rates over the time in which all were at work, and one histogram of all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.fleet_together import PartRate, TogetherAnswer, TogetherPart
from drivelab.model.histogram import merge
from drivelab.model.workload import OPERATIONS


def done_together(parts: Sequence[TogetherPart]) -> TogetherAnswer:
    """What several targets came to.

    Parameters
    ----------
    parts : sequence of TogetherPart
        At least one.

    Notes
    -----
    The common window begins with the last job that began and ends with the first target that ended. An interval that
    lies in it in part counts for that part. Histograms are those of whole windows: each I/O is in them once, and none
    is divided.
    """
    begin = max(max(part.window_unix_ns, part.jobs_unix_ns[1]) for part in parts)
    end = min(part.window_unix_ns + part.measured_ns for part in parts)
    window_ns = max(0, end - begin)
    rates = [rate for part in parts for rate in _rates(part, begin, end)]
    operations = list(dict.fromkeys(rate.operation for rate in rates))
    totals = {
        operation: (
            sum(rate.count for rate in rates if rate.operation == operation),
            sum(rate.byte_count for rate in rates if rate.operation == operation),
        )
        for operation in operations
    }
    latencies = {
        operation: merge([part.histograms[key] for part in parts if (key := (operation, "total")) in part.histograms])
        for operation in operations
    }
    spread_ns = max(part.jobs_unix_ns[1] for part in parts) - min(part.jobs_unix_ns[0] for part in parts)
    # the first may have been earlier, and the last later
    errors = sorted((part.error_ns for part in parts), reverse=True)
    voids: dict[str, tuple[str, list[str]]] = {}
    for part in parts:
        for code, text in part.voids.items():
            voids.setdefault(code, (text, []))[1].append(part.key)
    return TogetherAnswer(window_ns, spread_ns, sum(errors[:2]), tuple(rates), totals, latencies, voids)


def _rates(part: TogetherPart, begin: int, end: int) -> list[PartRate]:
    """What one target did between two moments, for each operation that it issued."""
    found = []
    for operation in OPERATIONS:
        histogram = part.histograms.get((operation, "total"))
        if histogram is None or not histogram.total_count:
            continue
        count, moved = _done_between(part.intervals, operation, begin - part.window_unix_ns, end - part.window_unix_ns)
        seconds = max(end - begin, 0) / 1e9
        rate, throughput = (count / seconds, moved / seconds) if seconds else (0.0, 0.0)
        found.append(PartRate(part.key, operation, count, moved, rate, throughput, histogram))
    return found


def _done_between(intervals: pa.Table, operation: str, begin: int, end: int) -> tuple[float, float]:
    """How many operations, and bytes, fall between two moments of a window, in nanoseconds from its start."""
    chosen = pc.and_(pc.equal(intervals["operation"], operation), pc.equal(intervals["latency"], "total"))
    rows = intervals.filter(chosen)
    start = rows["start_ns"].to_numpy().astype(float)
    length = np.maximum(rows["duration_ns"].to_numpy().astype(float), 1.0)
    inside = np.clip(np.minimum(start + length, end) - np.maximum(start, begin), 0.0, None) / length
    return float(inside @ rows["count"].to_numpy()), float(inside @ rows["bytes"].to_numpy())
