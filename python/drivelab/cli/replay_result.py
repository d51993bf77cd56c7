"""What a load came to when it was issued again, beside the recording: as plain data and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from drivelab.model.finding import Finding, gravity
from drivelab.model.measurement import Measurement
from drivelab.model.recording import RECORDED_OPERATIONS, Recording
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_count, format_duration_ns
from drivelab.report.terminal.wrapped import table_lines

SCHEMA = 1
_WARNINGS_MAX = 3
# of the starts; and of the length, as a share
_LATE_SHARE_MAX, _LENGTH_SHARE_MAX = 0.01, 0.001
# closer together than this nothing is seen
_APART_FROM = 1.1
_QUANTILES = {"p50_ns": 0.5, "p99_ns": 0.99}
_HEADS = ("operation", "count", "recorded p50", "p99", "replayed p50", "p99", "from its start p50", "p99")


@dataclass(frozen=True, slots=True)
class Replayed:
    """A load that was issued again to one target."""

    target: TargetFacts
    recording: Recording
    measured: Measurement
    findings: tuple[Finding, ...]


def recording_json(recording: Recording) -> dict[str, Any]:
    """What is known of a recording, for a run and for JSON: its size, its length and its latencies."""
    operations = {}
    for number, name in enumerate(RECORDED_OPERATIONS):
        sizes = recording.column("size_bytes", number)
        if len(sizes):
            latencies = recording.column("latency_ns", number) if recording.has_latencies else None
            operations[name] = {"count": len(sizes), "bytes": int(sizes.sum()), "latency": _quantiles_of(latencies)}
    return {
        "source": recording.source,
        "kind": recording.kind,
        "threads": len(recording.threads),
        "queue_depth": recording.queue_depth,
        "count": recording.count,
        "length_ns": recording.length_ns,
        "end_bytes": recording.end_bytes,
        "notes": list(recording.notes),
        "made_room": recording.made_room,
        "operations": operations,
    }


def _quantiles_of(latencies: Any) -> dict[str, float] | None:
    if latencies is None:
        return None
    ordered = np.sort(latencies)
    return {name: float(ordered[max(1, int(np.ceil(at * len(ordered)))) - 1]) for name, at in _QUANTILES.items()}


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
    measured, recording = one.measured, one.recording
    engine = measured.engine
    arrivals = engine["arrivals"] or {}
    starts = arrivals.get("starts") or {}
    recorded = recording_json(recording)["operations"]
    latency = "response" if speed else "total"
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
                "waited_ns": _waited_ns(measured, [name], latency),
                "recorded": facts["latency"],
                "replayed": _replayed(measured, name, "total"),
                "response": _replayed(measured, name, "response"),
            }
            for name, facts in recorded.items()
        },
        "findings": [finding.to_json() for finding in sorted(one.findings, key=gravity)],
    }


def _waited_ns(measured: Measurement, operations: Sequence[str], latency: str) -> int:
    """How long operations were waited for in all; a response begins at its recorded start."""
    found = (measured.histograms.get((operation, latency)) for operation in operations)
    return sum(histogram.sum_ns for histogram in found if histogram is not None)


def _replayed(measured: Measurement, operation: str, latency: str) -> dict[str, float] | None:
    histogram = measured.histograms.get((operation, latency))
    if histogram is None or not histogram.total_count:
        return None
    return {name: histogram.quantile_ns(at) for name, at in _QUANTILES.items()}


def replay_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The answer for people: a sentence, a table for each target, and at most three warnings."""
    targets = document["targets"]
    # what voids a number stands before it
    for one in targets:
        voids = [finding["text"] for finding in one["findings"] if finding["severity"] == "invalid"]
        yield from (f"Not to be trusted on {one['target']}: {text}." for text in voids)
    yield answer_words(document)
    for one in targets:
        yield ""
        if len(targets) > 1:
            yield _sentence(document, one)
        yield from table_lines([_HEADS, *_rows(one)], plain=True)
        yield f"  {_asked_and_achieved(one)}"
    # the gravest of each target before the second of any
    of_targets = zip_longest(*(_warnings(document, one, several=len(targets) > 1) for one in targets))
    warnings = [warning for one_of_each in of_targets for warning in one_of_each if warning]
    for warning in warnings[:_WARNINGS_MAX]:
        yield f"  {warning}"


def answer_words(document: Mapping[str, Any]) -> str:
    """How the load did, in one sentence: beside its recording, or on which target best."""
    targets = document["targets"]
    return _ranking(document) if len(targets) > 1 else _sentence(document, targets[0])


def _ranking(document: Mapping[str, Any]) -> str:
    """Which target looked best: one pass each has nothing to tell that from chance by."""
    best, *others = document["targets"]
    what = "its calls took" if document["speed"] else "it took"
    told = f"{what} {format_duration_ns(best['rank_ns'])} there in all"
    if others[0]["rank_ns"] < _APART_FROM * best["rank_ns"]:
        alike = [best, *(one for one in others if one["rank_ns"] < _APART_FROM * best["rank_ns"])]
        names = " and ".join(one["target"] for one in alike)
        times = " and ".join(format_duration_ns(one["rank_ns"]) for one in alike)
        return f"{names} cannot be told apart for this load: {what} {times} in all."
    worse = ", ".join(f"{_times(one['rank_ns'], best['rank_ns'])} as long on {one['target']}" for one in others)
    return f"{best['target']} looked best for this load: {told}, {worse}; with one pass each that may be chance."


def _sentence(document: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    # what it waits for most
    name, facts = max(one["operations"].items(), key=lambda item: item[1]["waited_ns"])
    plural = f"{name}s" if name != "sync" else "sync calls"
    ends = ""
    if document["speed"]:
        ends = f"; {format_count(one['achieved']['late'])} of {format_count(one['asked']['count'])} started late"
    replayed, recorded = facts["replayed"], facts["recorded"]
    if replayed is None:
        return f"On {one['target']} none of this load's {plural} came to an end{ends}."
    median = format_duration_ns(replayed["p50_ns"])
    if recorded is None:
        return f"On {one['target']} this load's {plural} took {median} at the median{ends}."
    if document["recording"]["made_room"]:
        return (
            f"On {one['target']} this load's {plural} took {median} at the median{ends}; not comparable with the "
            f"recorded {format_duration_ns(recorded['p50_ns'])}, of writes that gave their file its room."
        )
    compared = f"{_times(replayed['p50_ns'], recorded['p50_ns'])} as long as recorded"
    against = f"median {median} against {format_duration_ns(recorded['p50_ns'])}"
    return f"On {one['target']} this load's {plural} took {compared} ({against}){ends}."


def _times(value: float, base: float) -> str:
    if not base:
        return "many times"
    return f"{value / base:.2f}x" if value < 10 * base else f"{format_count(value / base)}x"


def _rows(one: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, facts in one["operations"].items():
        cells = [
            format_duration_ns(facts[kind][at]) if facts[kind] else "-"
            for kind in ("recorded", "replayed", "response")
            for at in _QUANTILES
        ]
        yield name, format_count(facts["count"]), *cells


def _asked_and_achieved(one: Mapping[str, Any]) -> str:
    asked, achieved = one["asked"], one["achieved"]
    way = "direct" if achieved["direct"] else "through the page cache"
    done = f"{format_count(achieved['count'])} of {format_count(asked['count'])} I/Os, {way}"
    if asked["length_ns"] is None:
        return f"{done} in {format_duration_ns(one['measured_ns'])}, as fast as possible"
    if achieved["length_ns"] is None:
        return f"{done}: ended before the first one"
    length = (
        f"length {format_duration_ns(asked['length_ns'])} asked, {format_duration_ns(achieved['length_ns'])} achieved"
    )
    error = achieved["start_error_ns"]
    return (
        f"{done}; {length}; starts late by {format_duration_ns(error['p50'])}, p99 {format_duration_ns(error['p99'])}"
    )


def _warnings(document: Mapping[str, Any], one: Mapping[str, Any], *, several: bool) -> Iterator[str]:
    where = f"{one['target']}: " if several else ""
    asked, achieved = one["asked"], one["achieved"]
    for error in one["errors"]:
        yield f"failed: {where}{error['count']} {error['operation']} with {error['name']}"
    if achieved["count"] < asked["count"] and not one["errors"]:
        yield f"warning: {where}{format_count(asked['count'] - achieved['count'])} I/Os were not issued: it was stopped"
    late = achieved["late"] or 0
    if late > _LATE_SHARE_MAX * asked["count"]:
        told = "latency from the recorded start shows what they waited"
        depth = document["recording"]["queue_depth"]
        if not any(facts["recorded"] for facts in one["operations"].values()):
            told = f"the recording tells no queue depth, and at most {depth} was outstanding (--queue-depth)"
        yield f"warning: {where}{format_count(late)} I/Os began more than 50 us after their time; {told}"
    if asked["length_ns"] and (achieved["length_ns"] or 0) > (1 + _LENGTH_SHARE_MAX) * asked["length_ns"]:
        share = 100 * (achieved["length_ns"] / asked["length_ns"] - 1)
        yield f"warning: {where}it took {share:.2g} % longer than recorded: the target did not keep up"
    for finding in one["findings"]:
        if finding["severity"] == "warning":
            yield f"warning: {where}{finding['text']}"
