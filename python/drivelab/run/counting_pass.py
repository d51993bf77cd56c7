"""A short pass of a synchronous workload that is traced: which commands one operation costs.

A latency of synchronous writes means little without the commands behind it: a
write with two flushes and one with none are not the same thing. Tracing adds
to the latency, so the timed pass is never traced; this one runs after it, with
the same workload, and its latencies are thrown away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from drivelab.model.measurement import DeviceCounts
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Limits, Workload
from drivelab.run.before_writing import look_before
from drivelab.run.device_counters import counted_device, counts_between, read_counters
from drivelab.run.engine import StopRequest, prepare_target, run_workload
from drivelab.run.trace_counts import CommandCounts, trace_commands
from drivelab.run.tracing.tracefs import TraceUnavailableError

OPERATIONS = 200
LONGEST_NS = 1_200_000_000
_PER_OPERATION = ("data_writes", "metadata_writes", "fua_writes", "flushes")


def command_counts(
    workload: Workload,
    target: TargetFacts,
    *,
    timed_operations: int,
    timed_devices: tuple[DeviceCounts, ...],
    stop: StopRequest | None = None,
) -> dict[str, Any]:
    """Commands that each operation of a workload costs the drive, for the context of its measurement.

    Parameters
    ----------
    workload : Workload
        The workload of the timed pass; it is issued again for `OPERATIONS`
        operations or `LONGEST_NS`, whichever comes first.
    timed_operations : int
        Operations of the timed pass, in all phases.
    timed_devices : tuple of DeviceCounts
        The kernel's counters of the timed pass, the drive first.

    Returns
    -------
    dict
        ``command_counts`` (None when commands could not be counted) and
        ``command_counts_reason``. The counts are those of `CommandCounts` with
        the same per operation; ``flushes_per_operation_timed`` is what the
        kernel's counters say about the timed pass, and has to agree.

    Raises
    ------
    DrivelabError
        C201 to C209: the device may not be written to any more. E301 to E315: the pass failed.
    """
    drive = counted_device(target.devices)
    reason = _why_not_countable(target, drive)
    if reason:
        return {"command_counts": None, "command_counts_reason": reason}
    short = workload.model_copy(
        update={
            # no more than were timed: in a file with room for these, others would go over what is written already
            "limits": Limits(count=min(OPERATIONS, timed_operations or OPERATIONS), runtime_ns=LONGEST_NS),
            "ramp_ns": 0,
            "record_ios": False,
        }
    )
    try:
        # a tree is brought into its state first; making files is not the workload
        prepare_target(short, stop=stop)
        look_before(short)
        with trace_commands(drive) as trace:
            before = read_counters([drive])
            run = run_workload(short, stop=stop)
            after = read_counters([drive])
            counted = trace.counts()
    except TraceUnavailableError as unavailable:
        return {"command_counts": None, "command_counts_reason": str(unavailable)}
    operations = changed_count(workload, run.summary)
    if not operations:
        return {"command_counts": None, "command_counts_reason": "the counting pass did nothing"}
    kernel = counts_between(before, after)
    facts = counts_json(counted, operations) | {
        "writes_counted": kernel[0].writes if kernel else None,
        "flushes_counted": kernel[0].flushes if kernel else None,
        "flushes_per_operation_timed": timed_flushes_per_operation(target, timed_operations, timed_devices),
    }
    return {"command_counts": facts, "command_counts_reason": ""}


def changed_count(workload: Workload, summary: Mapping[str, Any]) -> int:
    """Operations that changed the target, in all phases: writes, or those on the files of a tree."""
    phases = summary["all_phases"]
    return sum(int(phases.get(name, {}).get("count", 0)) for name in workload.changing_operations)


def _why_not_countable(target: TargetFacts, drive: str) -> str:
    if not drive:
        return target.no_device_reason or "no drive is known beneath"
    if len(target.drives) > 1:
        return f"{len(target.drives)} drives lie beneath, and only one can be counted"
    return ""


def counts_json(counted: CommandCounts, operations: int) -> dict[str, Any]:
    """Counts as plain data, each kind also per operation."""
    facts: dict[str, Any] = asdict(counted) | {"operations": operations}
    for kind in _PER_OPERATION:
        facts[f"{kind}_per_operation"] = facts[kind] / operations
    return facts


def timed_flushes_per_operation(
    target: TargetFacts, operations: int, devices: tuple[DeviceCounts, ...]
) -> float | None:
    """Flushes per operation that the kernel counted in a timed pass; None when it counted none of the drive."""
    drive = counted_device(target.devices)
    for counts in devices:
        if counts.device == drive and operations:
            return counts.flushes / operations
    return None
