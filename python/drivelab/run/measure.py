"""Runs one workload and gathers everything that is needed to believe, or not to believe, its numbers.

Around the engine's run it reads the kernel's counters of every device beneath
the target, the state of the file and of the page cache, and what else the
computer was busy with. It writes nothing but the workload's own I/O.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.workload import FILE_WRITING_OPERATIONS, Workload
from drivelab.run.before_writing import look_before, prepare_own_target
from drivelab.run.bucket_watch import run_as_asked
from drivelab.run.device_counters import (
    CounterReading,
    counted_device,
    counted_devices,
    counts_between,
    read_counters,
)
from drivelab.run.emptied_cache import emptied_cache
from drivelab.run.engine import (
    EngineRun,
    Looks,
    ProgressListener,
    RecordListener,
    StopRequest,
)
from drivelab.run.extents import ExtentShares, extent_shares
from drivelab.run.extents import in_all as shares_in_all
from drivelab.run.own_reads import own_reads_between, read_own_reads
from drivelab.run.page_cache import Residency, residency
from drivelab.run.page_cache import in_all as resident_in_all
from drivelab.run.surroundings import read_surroundings, surroundings_between
from drivelab.run.told_start import ToldStart
from drivelab.run.tree_cache import drop_cached

# long enough to notice another program at work, short enough for a check of a dozen trials
IDLE_WATCH_S = 0.05
_SYNC_CALLS = ("fdatasync", "fsync")


def measure(
    name: str,
    workload: Workload,
    target: TargetFacts,
    *,
    stop: StopRequest | None = None,
    progress: ProgressListener | None = None,
    on_records: RecordListener | None = None,
    drops_page_cache: bool = False,
    idle_watch_s: float = IDLE_WATCH_S,
    looks: Looks | None = None,
    start: ToldStart | None = None,
) -> Measurement:
    """What one workload did, beside what the kernel counted meanwhile.

    Parameters
    ----------
    name : str
        Name of the trial, unique within its run.
    workload : Workload
        What to issue. Its path may be a file that is made for the purpose in the target's directory.
    stop : StopRequest, optional
        Ends the trial within an interval; what was measured is kept.
    progress : callable, optional
        Called about every 0.1 s; the trial ends when it returns False.
    on_records : callable, optional
        Takes the records of single I/Os; without it they are kept in the measurement.
    drops_page_cache : bool
        Whether what the page cache holds of it is written out and given up first; what stays is in the context.
    idle_watch_s : float
        How long to watch for the work of others before the trial.

    Returns
    -------
    Measurement
        Neither what is made of the target first is counted, nor that its write cache is emptied afterwards. ``devices``
        covers the whole run, ramp and drain included, from just before the engine was called until just after:
        compare it with ``engine["all_phases"]``.

    Raises
    ------
    DrivelabError
        C201 to C209: the device may not be written to any more. E301 to E315, as the engine reports them. U050: nobody
        said when to begin.
    """
    prepare_own_target(workload, stop=stop)
    dropped = drop_cached(workload) if drops_page_cache else {}
    gate = start.gate if start is not None else None

    def issue() -> EngineRun:
        return run_as_asked(workload, stop=stop, on_progress=progress, on_records=on_records, looks=looks, start=gate)

    measured = _counted(name, workload, target, issue, idle_watch_s)
    told = start.context(measured.engine, stop) if start is not None else {}
    emptied = emptied_cache(workload, measured.engine, stop)
    return replace(measured, context=measured.context | dropped | told | emptied)


def _counted(
    name: str, workload: Workload, target: TargetFacts, issue: Callable[[], EngineRun], idle_watch_s: float
) -> Measurement:
    """What a workload did that is issued here, with what is read before and after it."""
    names, reason = counted_devices(target.devices, workload.backend)
    counted = counted_device(target.devices)
    other_work = watch_idle([counted] if counted in names else names, idle_watch_s)
    extents = extents_of(workload)
    drives = [drive.name for drive in target.drives]
    surroundings_before = read_surroundings(drives)
    look_before(workload)
    before = read_counters(names)
    # what others read of a drive meanwhile is in both: they leave pages, and the drive counts their reads
    resident_before = resident_of(workload)
    is_on_loop = any(layer.kind == "loop" for layer in target.devices)
    own_before = read_own_reads(with_workers=is_on_loop)
    run = issue()
    own_after = read_own_reads(with_workers=is_on_loop)
    resident_after = resident_of(workload)
    after = read_counters(names)
    surroundings_after = read_surroundings(drives)
    return run.measurement(
        name,
        workload,
        devices=counts_between(before, after, sync_calls=sync_call_count(workload, run)),
        context=surroundings_between(surroundings_before, surroundings_after)
        | context_of_file(workload, extents, resident_before, resident_after)
        | {"own_reads": own_reads_between(own_before, own_after)}
        | {"other_work": other_work, "device_counters_reason": reason, "counted_device": counted},
    )


def sync_call_count(workload: Workload, run: EngineRun) -> int | None:
    """How many fsync and fdatasync calls a run made; None when it made none."""
    durability, phases = workload.durability, run.summary["all_phases"]
    has_calls = durability.method in _SYNC_CALLS
    if not has_calls and not (workload.tree and durability.directory):
        return None

    def done(operations: Sequence[str]) -> int:
        return sum(int(phases.get(operation, {}).get("count", 0)) for operation in operations)

    calls = done(["sync"])
    if workload.tree is not None:
        # an update syncs its journal, the journal's header, and the file
        synced = done(FILE_WRITING_OPERATIONS) + 2 * done(["update"])
        calls += synced // durability.every_writes if has_calls and not durability.at_end else 0
        calls += done(workload.changing_operations) if durability.directory else 0
    return calls


def watch_idle(names: Sequence[str], duration_s: float = IDLE_WATCH_S) -> dict[str, Any] | None:
    """What the first of some devices did while we did nothing: the work of others."""
    if not names:
        return None
    before = read_counters(names[:1])
    time.sleep(duration_s)
    after: CounterReading = read_counters(names[:1])
    counted = counts_between(before, after)
    if not counted:
        return None
    return {
        "duration_ns": after.read_at_ns - before.read_at_ns,
        "reads": counted[0].reads,
        "writes": counted[0].writes,
        "flushes": counted[0].flushes,
        "discards": counted[0].discards,
        "bytes_read": counted[0].bytes_read,
        "bytes_written": counted[0].bytes_written,
    }


def extents_of(workload: Workload) -> ExtentShares:
    """How the range that a workload is about to use is allocated."""
    asked, reason = workload.target, _why_not_looked_at(workload)
    if reason:
        return ExtentShares("", reason)
    start, length = asked.offset_bytes, asked.size_bytes
    return shares_in_all([extent_shares(path, start_bytes=start, length_bytes=length) for path in asked.all_opened_by])


def resident_of(workload: Workload) -> Residency:
    """What the page cache holds of that range now."""
    asked, reason = workload.target, _why_not_looked_at(workload)
    if reason:
        return Residency("", reason)
    start, length = asked.offset_bytes, asked.size_bytes
    return resident_in_all([residency(path, start_bytes=start, length_bytes=length) for path in asked.all_opened_by])


def _why_not_looked_at(workload: Workload) -> str:
    if workload.backend == "null":
        return "null backend"
    return "the target is a tree of files" if workload.tree is not None else ""


def context_of_file(workload: Workload, extents: ExtentShares, before: Residency, after: Residency) -> dict[str, Any]:
    """What is known about the file and the page cache, for the context of a measurement."""
    return {
        "extents": extents.to_json(),
        "page_cache": {
            "method": after.method,
            "reason": after.reason,
            "range_bytes": workload.target.size_bytes * len(workload.target.all_opened_by),
            "resident_bytes_before": before.resident_bytes,
            "resident_bytes_after": after.resident_bytes,
            "dirty_bytes_after": after.dirty_bytes,
        },
    }
