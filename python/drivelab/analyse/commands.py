"""Device commands per operation: what the drive was asked to do for each I/O.

A latency of a durable write cannot be compared with another without them: the
same call is one command on one stack and five on the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from drivelab.analyse.reached_share import reached_device_share
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.workload import READING_OPERATIONS, TREE_OPERATIONS

# Counts of the traced pass may stand for the timed one when flushes and data writes of both agree this well.
AGREEMENT_MAX = 0.05
_COUNTED = "kernel counter of the drive, whole trial"
_TRACED = "trace of every request"


def issued_count(measured: Measurement, operation: str) -> int:
    """Operations of one kind in ramp, measured window and drain together: what the kernel's counters saw."""
    return int(measured.engine.get("all_phases", {}).get(operation, {}).get("count", 0))


def issued_bytes(measured: Measurement, operation: str) -> int:
    """Bytes moved by one kind of operation in all phases together."""
    return int(measured.engine.get("all_phases", {}).get(operation, {}).get("bytes", 0))


def drive_counts(measured: Measurement, target: TargetFacts | None = None) -> DeviceCounts | None:
    """What the drive executed (`Measurement.counted_device`), or all drives of an array together.

    Parameters
    ----------
    target : TargetFacts, optional
        Says which devices are drives; without it the first one is taken.

    Returns
    -------
    DeviceCounts or None
        None when the kernel counted nothing.
    """
    if not measured.devices:
        return None
    names = {drive.name for drive in target.drives} if target else set()
    drives = [counts for counts in measured.devices if counts.device in names]
    if len(drives) <= 1:
        return measured.counted_device
    total = drives[0]
    for other in drives[1:]:
        total = _added(total, other)
    return total


def given_counts(measured: Measurement, target: TargetFacts | None = None) -> DeviceCounts | None:
    """What left memory for the drives: of an array its own counts, since its members get copies and parity besides."""
    names = {drive.name for drive in target.drives} if target else set()
    counted = measured.counted_device
    is_joined = counted is not None and counted.device == measured.context.get("counted_device")
    if len(names) > 1 and is_joined and counted is not None and counted.device not in names:
        return counted
    return drive_counts(measured, target)


def commands_per_operation(measured: Measurement, target: TargetFacts | None = None) -> dict[str, Estimate]:
    """Device commands and bytes for each operation, by metric.

    Returns
    -------
    dict of str to Estimate
        ``device_writes_per_operation`` (those that carried data),
        ``device_flushes_per_operation``, ``fua_writes_per_operation``,
        ``metadata_writes_per_operation``, ``device_reads_per_operation``,
        ``device_bytes_per_operation``, ``device_bytes_per_issued_byte``,
        ``reached_device_share``; those that were counted. They are counts, not samples: both ends equal the
        value when it is exact, and are the bounds when it is not.

    Notes
    -----
    The kernel's counters are divided by the operations of all phases, since
    they do not know about ramp and drain.
    """
    counts = drive_counts(measured, target)
    reads, writes = (sum(issued_count(measured, name) for name in names) for names in _reading_and_changing(measured))
    reached = reached_device_share(measured, given_counts(measured, target))
    found: dict[str, Estimate] = {} if reached is None else {"reached_device_share": reached}
    if counts is None or not reads + writes:
        return found
    if writes:
        found |= _write_commands(measured, counts, writes)
    if reads:
        found["device_reads_per_operation"] = _exact(counts.reads / reads, reads, _COUNTED)
    moved = (counts.bytes_read if reads else 0) + (counts.bytes_written if writes else 0)
    issued = 0 if measured.workload.tree else issued_bytes(measured, "read") + issued_bytes(measured, "write")
    found["device_bytes_per_operation"] = _exact(moved / (reads + writes), reads + writes, _COUNTED, "B")
    if issued:
        found["device_bytes_per_issued_byte"] = _exact(moved / issued, reads + writes, _COUNTED)
    return found


def _reading_and_changing(measured: Measurement) -> tuple[Sequence[str], Sequence[str]]:
    """Operations to which reads of the drive are charged, and those to which writes are."""
    if measured.workload.tree is None:
        return ("read",), ("write",)
    reading = [name for name in TREE_OPERATIONS if name in READING_OPERATIONS]
    return reading, measured.workload.changing_operations


def _write_commands(measured: Measurement, counts: DeviceCounts, writes: int) -> dict[str, Estimate]:
    found = {"device_flushes_per_operation": _exact(_flushes(counts) / writes, writes, _COUNTED)}
    low, high = counts.data_writes_low / writes, counts.data_writes_high / writes
    traced = _traced_commands(measured, low, high)
    if counts.data_writes is not None:
        found["device_writes_per_operation"] = _exact(counts.data_writes / writes, writes, _TRACED)
    elif traced is not None:
        value, operations = float(traced["data_writes_per_operation"]), int(traced["operations"])
        found["device_writes_per_operation"] = _exact(value, operations, f"{_TRACED}, in a pass of its own")
    else:
        found["device_writes_per_operation"] = _between(low, high, writes)
    if counts.fua_writes is not None:
        found["fua_writes_per_operation"] = _exact(counts.fua_writes / writes, writes, _TRACED)
    elif traced is not None:
        for metric in ("fua_writes_per_operation", "metadata_writes_per_operation"):
            found[metric] = _exact(float(traced[metric]), int(traced["operations"]), f"{_TRACED}, in a pass of its own")
    return found


def _traced_commands(measured: Measurement, writes_low: float, writes_high: float) -> dict[str, Any] | None:
    """The counts of the traced pass, when they may stand for the timed one; None otherwise.

    Tracing makes every request slower. Where the number of commands depends on
    the speed (fsync commits the journal once per tick of the clock), the two
    passes differ, and the traced counts are not those of the timed latencies.
    They also differ where the timed pass used something up: the traced pass
    overwrites what was reserved space before, and costs no metadata.
    """
    traced: dict[str, Any] | None = measured.context.get("command_counts")
    if not traced or not traced.get("operations"):
        return None
    timed = traced.get("flushes_per_operation_timed")
    if timed is not None and abs(float(timed) - float(traced["flushes_per_operation"])) > AGREEMENT_MAX:
        return None
    data_writes = float(traced["data_writes_per_operation"])
    return traced if writes_low - AGREEMENT_MAX <= data_writes <= writes_high + AGREEMENT_MAX else None


def _flushes(counts: DeviceCounts) -> int:
    return counts.flushes if counts.issued_flushes is None else counts.issued_flushes


def _exact(value: float, operations: int, method: str, unit: Unit = "1") -> Estimate:
    return Estimate(value, value, value, unit, operations, float(operations), f"{method}: exact")


def _between(low: float, high: float, operations: int) -> Estimate:
    if high - low < 1e-9:
        return _exact(low, operations, _COUNTED)
    method = f"{_COUNTED}: bounds, since it counts empty flush requests as writes"
    return Estimate(None, low, high, "1", operations, float(operations), method)


def _added(one: DeviceCounts, other: DeviceCounts) -> DeviceCounts:
    """Two drives as one; how long both were busy at the same time is not known."""
    return replace(one.plus(other), device=f"{one.device}+{other.device}", busy_ns=None)
