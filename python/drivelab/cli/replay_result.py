"""What a load came to when it was issued again, beside the recording, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from drivelab.model.finding import Finding, gravity
from drivelab.model.measurement import Measurement
from drivelab.model.recording import COMMANDS, RECORDED_OPERATIONS, SYNC, WRITE, Recording
from drivelab.model.target import TargetFacts
from drivelab.recordings.issued_rows import IssuedRows

SCHEMA = 1
# what a file system makes much more of than a drive does, as commands and as an operation
_WITH_FLUSH = (*COMMANDS[SYNC:], RECORDED_OPERATIONS[SYNC])
_NOT_COMPARED: dict[str, Any] = {"times": None, "added_ns": None, "files": []}


@dataclass(frozen=True, slots=True)
class Replayed:
    """A load that was issued again to one target."""

    target: TargetFacts
    recording: Recording
    measured: Measurement
    findings: tuple[Finding, ...]
    changes: list[dict[str, Any]] | None = None
    direct_files: int | None = None


def compared_calls(
    recording: Recording, rows: IssuedRows, target: TargetFacts, speed: float
) -> list[dict[str, Any]] | None:
    """What each kind of call or command took here and there; None where the recording does not tell."""
    # imported here: it takes its time to load, and a wrong option should be told at once
    from drivelab.analyse.replayed_calls import changed_calls

    pairs = rows.pairs()
    if pairs is None:
        return None
    found = changed_calls(pairs, recording.calls or RECORDED_OPERATIONS, [file.name for file in recording.files])
    apart = _not_compared(recording, target, speed)
    return [one | _NOT_COMPARED if one["call"] in apart else one for one in found]


def _voids(findings: Sequence[Finding]) -> dict[str, str]:
    """Why the numbers of an operation are not the drive's, of what says so of one operation."""
    voids = [one for one in findings if one.severity == "invalid" and "operation" in one.evidence]
    return {one.evidence["operation"]: one.text for one in reversed(voids)}


def _void_of_call(recording: Recording, call: str, voids: Mapping[str, str]) -> str | None:
    names = recording.calls or RECORDED_OPERATIONS
    operations = recording.operations_of(names.index(call))
    return next((voids[operation] for operation in operations if operation in voids), None)


def _not_compared(recording: Recording, target: TargetFacts, speed: float) -> tuple[str, ...]:
    """Calls, commands and operations that are not set against those recorded.

    Notes
    -----
    At another speed the load is another one. A flush is a command, and a sync call on a file is much more. As one a
    write with Force Unit Access is set against a write and its flush.
    """
    if speed != 1:
        return (*recording.calls, *RECORDED_OPERATIONS)
    is_apart = recording.level == "commands" and target.kind != "block_device"
    return (*recording.not_compared, *(_WITH_FLUSH if is_apart else ()))


def recording_json(recording: Recording) -> dict[str, Any]:
    """What is known of a recording, for a run and for JSON: its size, its length and its latencies."""
    # imported here: it takes its time to load, and a wrong option should be told at once
    from drivelab.analyse.replayed_calls import quantiles_of_series

    operations = {}
    for number, name in enumerate(RECORDED_OPERATIONS):
        sizes = recording.column("size_bytes", number)
        if len(sizes):
            is_told = recording.has_latencies and not (recording.has_halves and number in (WRITE, SYNC))
            latency = quantiles_of_series(recording.column("latency_ns", number)) if is_told else None
            operations[name] = {"count": len(sizes), "bytes": int(sizes.sum()), "latency": latency}
    return {
        "source": recording.source,
        "kind": recording.kind,
        "level": recording.level,
        "files": [asdict(file) for file in recording.files],
        "threads": len(recording.threads),
        "queue_depth": recording.queue_depth,
        "count": recording.count,
        "length_ns": recording.length_ns,
        "duration_ns": recording.duration_ns,
        "end_bytes": recording.needed_bytes,
        "notes": list(recording.notes),
        "not_played": list(recording.not_played),
        "not_compared": list(recording.not_compared),
        "doubt": recording.doubt,
        "made_room": recording.made_room,
        "operations": operations,
    }


def replay_json(recording: Recording, speed: float, done: Sequence[Replayed], directory: str) -> dict[str, Any]:
    """Everything about a replay, the best target first.

    Notes
    -----
    Targets are ranked by how long their calls took in all, and as fast as possible by the time that all of it took. How
    late calls began is told beside it: one stall makes thousands of them late.
    """
    targets = [_target_json(each, speed) for each in done]
    return {
        "schema": SCHEMA,
        "recording": recording_json(recording),
        "speed": speed or None,
        "targets": sorted(targets, key=lambda one: (one["achieved"]["count"] < one["asked"]["count"], one["rank_ns"])),
        "run": directory,
    }


def _target_json(one: Replayed, speed: float) -> dict[str, Any]:
    from drivelab.analyse.replayed_calls import quantiles_of_operation

    measured, recording = one.measured, one.recording
    engine = measured.engine
    arrivals = engine["arrivals"] or {}
    starts = arrivals.get("starts") or {}
    recorded = recording_json(recording)["operations"]
    latency = "response" if speed else "total"
    apart = _not_compared(recording, one.target, speed)
    voids = _voids(one.findings)
    counts = {name: int(engine["operations"].get(name, {}).get("count", 0)) for name in recorded}
    return {
        "target": one.target.text,
        "trial": measured.name,
        "asked": {"count": recording.count, "length_ns": round(recording.length_ns / speed) if speed else None},
        "achieved": {
            "count": sum(counts.values()),
            "length_ns": starts.get("achieved_ns"),
            "late": arrivals.get("late"),
            "missed": arrivals.get("missed"),
            "start_error_ns": {at: starts.get(f"error_ns_{at}") for at in ("p50", "p99", "max")} if speed else None,
            "direct": engine["achieved"]["direct"],
            "direct_files": one.direct_files,
            "queue_depth_max": engine["achieved"]["queue_depth_max"],
        },
        "measured_ns": engine["measured_ns"],
        "waited_ns": _waited_ns(measured, list(recorded), latency),
        "rank_ns": _waited_ns(measured, list(recorded), "total") if speed else engine["measured_ns"],
        "stopped_by": engine["stopped_by"],
        "errors": engine["errors"],
        "operations": {
            name: {
                "count": counts[name],
                "recorded_count": facts["count"],
                "waited_ns": _waited_ns(measured, [name], "total"),
                "recorded": None if name in apart else facts["latency"],
                "replayed": quantiles_of_operation(measured, name, "total"),
                "response": quantiles_of_operation(measured, name, "response"),
                "void": voids.get(name),
            }
            for name, facts in recorded.items()
        },
        "calls": one.changes
        and [call | {"void": _void_of_call(recording, call["call"], voids)} for call in one.changes],
        "findings": [finding.to_json() for finding in sorted(one.findings, key=gravity)],
    }


def _waited_ns(measured: Measurement, operations: Sequence[str], latency: str) -> int:
    """How long operations were waited for in all; a response begins at its recorded start."""
    found = (measured.histograms.get((operation, latency)) for operation in operations)
    return sum(histogram.sum_ns for histogram in found if histogram is not None)
