"""Traced passes as a trace of Perfetto: what the published messages read is what the run holds, to the nanosecond."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.interop.perfetto import perfetto_packets, traced_tables
from drivelab.store.read import open_run

# the messages as Perfetto publishes them; its trace processor is a program that no package index holds
messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

RUN = Path(__file__).resolve().parents[2] / "golden" / "runs" / "explained-appends"
PARTS = ("fs_in_ns", "queue_ns", "device_ns", "flush_ns", "between_ns", "return_ns")
Drawn = tuple[str, str, int, int, dict[str, Any]]


def drawn(packets: Iterable[bytes]) -> list[Drawn]:
    """Track, name, beginning, end and facts of each slice; fails where two of a track overlap."""
    trace = messages.Trace()
    trace.ParseFromString(b"".join(packets))
    names: dict[int, str] = {}
    ends: dict[int, int] = {}
    open_slices: dict[int, tuple[str, int, dict[str, Any]]] = {}
    found = []
    for packet in sorted(trace.packet, key=lambda one: one.timestamp):
        if packet.HasField("track_descriptor"):
            names[packet.track_descriptor.uuid] = packet.track_descriptor.name
            continue
        event, track = packet.track_event, packet.track_event.track_uuid
        assert track in names, "a track is described"
        if event.type == messages.TrackEvent.TYPE_SLICE_BEGIN:
            assert track not in open_slices, "slices of one track never overlap"
            assert packet.timestamp >= ends.get(track, 0)
            facts = {one.name: one.string_value or one.uint_value for one in event.debug_annotations}
            open_slices[track] = (event.name, packet.timestamp, facts | {"flows": list(event.flow_ids)})
        else:
            name, start_ns, facts = open_slices.pop(track)
            ends[track] = packet.timestamp
            found.append((names[track], name, start_ns, packet.timestamp, facts))
    assert not open_slices, "what begins ends"
    return found


def test_every_operation_bio_and_command_of_a_stored_run_is_there_to_the_nanosecond() -> None:
    run = open_run(RUN)
    left_out: list[str] = []
    found = drawn(perfetto_packets(traced_tables(run.traced_trials, run.operations, run.events), left_out))
    assert left_out == []
    asked = []
    for trial in run.traced_trials:
        operations, events = run.operations(trial), run.events(trial)
        assert operations is not None
        assert events is not None
        for one in operations.to_pylist():
            asked.append((one["start_ns"], one["start_ns"] + one["latency_ns"]))
        for one in events.to_pylist():
            first, last = ("queued_ns", "ended_ns") if one["kind"] == "bio" else ("issued_ns", "completed_ns")
            asked.append((one[first], one[last]))
    assert sorted((start, end) for _, _, start, end, _ in found) == sorted(asked)
    appends = [facts for _, name, _, _, facts in found if name == "durable_write 4 KiB"]
    assert appends
    assert all(facts.get("flush_ns", 0) >= 0 for facts in appends)


def test_an_operation_and_what_it_caused_are_joined_and_trials_are_not() -> None:
    run = open_run(RUN)
    found = drawn(perfetto_packets(traced_tables(run.traced_trials, run.operations, run.events), []))
    members = defaultdict(list)
    for track, _, _, _, facts in found:
        for flow in facts["flows"]:
            members[flow].append(track.partition(" ")[0])
    assert all(places.count("thread") == 1 for places in members.values())
    assert any({"block", "device"} <= set(places) for places in members.values())


def table(intervals: list[tuple[int, int]]) -> pa.Table:
    count = len(intervals)
    columns = {name: [0] * count for name in ("operation", "offset_bytes", "size_bytes", *PARTS)}
    starts, lasted = [start for start, _ in intervals], [length for _, length in intervals]
    return pa.table({**columns, "thread": [7] * count, "start_ns": starts, "latency_ns": lasted})


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 300)), min_size=1, max_size=60))
def test_what_overlaps_has_slots_of_its_own_and_no_more_than_it_takes(intervals: list[tuple[int, int]]) -> None:
    found = drawn(perfetto_packets([("t", table(intervals), None)], []))
    assert sorted((start, end) for _, _, start, end, _ in found) == sorted((a, a + b) for a, b in intervals)
    most = max(sum(a <= at < a + b for a, b in intervals) for at, _ in intervals)
    tracks = {track for track, *_ in found}
    # what takes no time needs a slot, too
    assert len(tracks) <= max(1, most) + sum(not length for _, length in intervals)


def test_what_has_no_end_is_left_out_and_counted() -> None:
    run = open_run(RUN)
    events = run.events(run.traced_trials[0])
    assert events is not None
    endless = events.set_column(
        events.column_names.index("ended_ns"), "ended_ns", pa.nulls(events.num_rows, pa.int64())
    )
    left_out: list[str] = []
    b"".join(perfetto_packets([("t", table([(0, 1)]), endless)], left_out))
    bios = sum(kind == "bio" for kind in events["kind"].to_pylist())
    assert left_out == [f"{bios} bios and commands of t whose beginning or end was not seen"]
