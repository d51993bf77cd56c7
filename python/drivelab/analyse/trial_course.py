"""How the throughput of one trial went, from its intervals: the levels it had, and what it settled at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.analyse.byte_bins import IntervalBytes
from drivelab.analyse.change_points import BINS_MIN, throughput_course
from drivelab.analyse.steady_state import steady_state
from drivelab.model.estimate import Estimate
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.throughput_course import SteadyState, ThroughputChange, ThroughputCourse
from drivelab.model.workload import OPERATIONS

# sync calls are none: they belong to the writes before them
DATA_OPERATIONS = OPERATIONS
_WHOLE_TARGETS = ("block_device", "scratch", "simulated")


def interval_bytes(intervals: pa.Table | None, measured_ns: int) -> IntervalBytes | None:
    """What a trial moved in each of its intervals.

    Parameters
    ----------
    intervals : pyarrow.Table or None
        Its rows of the intervals table.
    measured_ns : int
        Length of its window: the last interval ends with it, unless the intervals say how long each was.

    Returns
    -------
    IntervalBytes or None
        Reads, writes and trims together; None where there are fewer intervals than changes can be seen in.
    """
    if intervals is None or intervals.num_rows == 0:
        return None
    is_data = pc.is_in(intervals["operation"], pa.array(DATA_OPERATIONS))
    rows = intervals.filter(pc.and_(pc.equal(intervals["latency"], "total"), is_data))
    if rows.num_rows == 0:
        return None
    number, own_ns = (rows[name].to_numpy().astype(np.int64) for name in ("interval", "duration_ns"))
    length_ns = int(own_ns.max())
    # in a trial of several windows the last interval of each says how long it was
    has_windows = bool(own_ns.min() < length_ns)
    length = int(number.max()) + 1 if has_windows else max(1, -(-measured_ns // length_ns))
    if length < BINS_MIN:
        return None
    # what completed at the very end of the window may carry the number of an interval that never was
    place = np.minimum(number, length - 1)
    moved, count = (rows[name].to_numpy().astype(np.float64) for name in ("bytes", "count"))
    duration_ns = np.full(length, float(length_ns))
    if has_windows:
        duration_ns[place] = own_ns
    else:
        duration_ns[-1] = max(1.0, measured_ns - (length - 1) * length_ns)
    sums = np.bincount(place, weights=moved, minlength=length).astype(np.float64)
    return IntervalBytes(sums, duration_ns, float(moved.sum() / max(1.0, count.sum())))


def course_of_intervals(intervals: pa.Table | None, measured_ns: int, capacity_bytes: int) -> ThroughputCourse | None:
    """The levels of a trial and whether it was steady at the end; None where it had too few intervals.

    Parameters
    ----------
    intervals : pyarrow.Table or None
        Its rows of the intervals table.
    measured_ns : int
        Length of its window.
    capacity_bytes : int
        As `capacity_bytes` has it; 0 where it is unknown.
    """
    series = interval_bytes(intervals, measured_ns)
    if series is None:
        return None
    course = throughput_course(series, capacity_bytes)
    if not capacity_bytes or not series.total_bytes:
        return course
    return replace(course, steady=steady_state(series, capacity_bytes))


def course_of_trial(measured: Measurement, target: TargetFacts | None) -> ThroughputCourse | None:
    """The same of a trial as measured; none where one sync call follows all writes, whose bytes are in memory."""
    if writes_until_one_sync(measured):
        return None
    measured_ns = int(measured.engine.get("measured_ns", 0))
    return course_of_intervals(measured.intervals, measured_ns, capacity_of_target(measured, target))


def writes_until_one_sync(measured: Measurement) -> bool:
    """Whether one sync call, or one of each job, follows all writes."""
    sync = measured.histograms.get(("sync", "total"))
    writes = measured.operation_count("write")
    durability = measured.workload.durability
    if sync is None or not sync.total_count:
        return False
    return durability.at_end or (sync.total_count == 1 and durability.every_writes >= max(2, writes))


def capacity_of_target(measured: Measurement, target: TargetFacts | None) -> int:
    """Bytes of what a trial was about; see `capacity_bytes`."""
    range_bytes = measured.workload.target.size_bytes
    if target is None:
        return range_bytes
    return capacity_bytes(target.kind, target.size_bytes, [drive.size_bytes for drive in target.drives], range_bytes)


def capacity_bytes(kind: str, size_bytes: int, drive_bytes: Sequence[int], range_bytes: int) -> int:
    """The capacity that a trial's bytes are held against.

    Parameters
    ----------
    kind, size_bytes : str, int
        Of the target.
    drive_bytes : sequence of int
        Sizes of the drives beneath it.
    range_bytes : int
        What the trial used of it.

    Returns
    -------
    int
        Of a block device or a scratch drive its own, of anything on a file
        system that of the drives; where neither is known, the range.
    """
    own = size_bytes if kind in _WHOLE_TARGETS else 0
    return own or sum(drive_bytes) or range_bytes


def course_estimates(course: ThroughputCourse | None) -> dict[str, Estimate]:
    """The numbers of a course: of its cliff, and of what it settled at."""
    if course is None:
        return {}
    return _of_cliff(course.cliff) | _of_steady(course.steady)


def _of_cliff(cliff: ThroughputChange | None) -> dict[str, Estimate]:
    if cliff is None:
        return {}
    count = cliff.before.sample_count
    method = "place of the change, by its likelihood ratio"
    until = Estimate(
        float(cliff.at_bytes), float(cliff.low_bytes), float(cliff.high_bytes), "B", count, float(count), method
    )
    return {
        "bytes_until_cliff": until,
        "throughput_before_cliff_bytes_per_s": cliff.before,
        "throughput_after_cliff_bytes_per_s": cliff.after,
    }


def _of_steady(steady: SteadyState | None) -> dict[str, Estimate]:
    if steady is None or steady.verdict != "steady" or steady.bytes_until_steady is None:
        return {}
    count = steady.round_count
    until = Estimate(
        float(steady.bytes_until_steady), None, None, "B", count, float(count), "start of the first steady window"
    )
    return {"steady_throughput_bytes_per_s": steady.bytes_per_s, "bytes_until_steady": until}
