"""Traced passes as a trace of Perfetto: each thread, layer and slot of a queue is a track, in its own protobuf format.

The messages are TracePacket, TrackDescriptor and TrackEvent of
``perfetto_trace.proto``. Only a handful of their fields are needed, all of them
numbers and texts, so they are written here without a protobuf library.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import count

import pyarrow as pa

from drivelab.model.layer_times import layers_of
from drivelab.model.units import format_bytes

# of operations, by their number in the table
_OPERATIONS = ("read", "write", "trim", "sync", "durable_write")
_PARTS = ("fs_in_ns", "queue_ns", "device_ns", "flush_ns", "between_ns", "return_ns")
_BEGIN, _END = 1, 2
# of all packets: one program wrote them
_SEQUENCE = 1
_JOURNAL = "jbd2/"


@dataclass(frozen=True, slots=True)
class Slice:
    """Something that took time: from when to when, what it was, and what belongs to it.

    Attributes
    ----------
    start_ns, end_ns : int
        CLOCK_MONOTONIC.
    name, category : str
        What it is called, and its kind: program, bio, command, flush or journal.
    flow : int
        Joins it to others of the same operation; 0 joins it to none.
    """

    start_ns: int
    end_ns: int
    name: str
    category: str
    facts: tuple[tuple[str, int | str], ...] = ()
    flow: int = 0


def perfetto_packets(trials: Iterable[tuple[str, pa.Table, pa.Table | None]], left_out: list[str]) -> Iterator[bytes]:
    """The packets of a trace, in pieces to be written one behind the other.

    Parameters
    ----------
    trials : iterable of (str, pyarrow.Table, pyarrow.Table or None)
        Name, operations and events of each traced trial.
    left_out : list of str
        Takes what could not be drawn, in words.

    Yields
    ------
    bytes
        Parts of a ``Trace`` message.
    """
    uuids = count(1)
    for first_flow, (name, operations, events) in _with_flows(trials):
        trial = next(uuids)
        yield _descriptor(trial, name, 0)
        tracks = _Tracks(trial, lambda: next(uuids))
        yield from tracks.drawn(_operation_slices(operations, first_flow))
        if events is not None:
            yield from tracks.drawn(_event_slices(events, first_flow, name, left_out))


def _with_flows(
    trials: Iterable[tuple[str, pa.Table, pa.Table | None]],
) -> Iterator[tuple[int, tuple[str, pa.Table, pa.Table | None]]]:
    """Each trial with the number that its first operation goes by: none has two meanings in a trace."""
    first = 1
    for trial in trials:
        yield first, trial
        first += trial[1].num_rows


@dataclass
class _Tracks:
    """Gives each slice of a place the first slot that is free, since slices of one track must not overlap."""

    parent: int
    new_uuid: Callable[[], int]
    # of each place: its free slots, those taken with when they become free, and the track of each slot
    _free: dict[str, list[int]] = field(default_factory=dict)
    _taken: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _uuids: dict[tuple[str, int], int] = field(default_factory=dict)

    def drawn(self, slices: Iterable[tuple[str, Slice]]) -> Iterator[bytes]:
        """Packets of slices, each with its place; a track is described before its first slice."""
        for place, one in sorted(slices, key=lambda item: item[1].start_ns):
            slot = self._slot(place, one)
            uuid = self._uuids.get((place, slot))
            if uuid is None:
                uuid = self._uuids[place, slot] = self.new_uuid()
                yield _descriptor(uuid, f"{place}, slot {slot}", self.parent)
            yield _event(one.start_ns, _BEGIN, uuid, one) + _event(one.end_ns, _END, uuid)

    def _slot(self, place: str, one: Slice) -> int:
        free, taken = self._free.setdefault(place, []), self._taken.setdefault(place, [])
        while taken and taken[0][0] <= one.start_ns:
            heapq.heappush(free, heapq.heappop(taken)[1])
        slot = heapq.heappop(free) if free else len(taken)
        heapq.heappush(taken, (one.end_ns, slot))
        return slot


def _operation_slices(operations: pa.Table, first_flow: int) -> Iterator[tuple[str, Slice]]:
    columns = [operations[name].to_pylist() for name in ("thread", "operation", "start_ns", "latency_ns")]
    places = [operations[name].to_pylist() for name in ("offset_bytes", "size_bytes")]
    parts = [operations[name].to_pylist() for name in _PARTS]
    own = [_own(operations, name) for name in ("call", "file")]
    layers = layers_of(operations).sum(axis=1).tolist()
    rows = zip(*columns, *places, *own, layers, zip(*parts, strict=True), strict=True)
    for flow, (thread, kind, start_ns, latency_ns, offset, size, call, file, in_layers, times) in enumerate(
        rows, first_flow
    ):
        name = call or (_OPERATIONS[kind] if kind < len(_OPERATIONS) else f"operation {kind}")
        facts: list[tuple[str, int | str]] = [("offset_bytes", offset)]
        facts += [("file", file)] if file else []
        facts += [(part, time) for part, time in zip(_PARTS, times, strict=True) if time]
        facts += [("layers_ns", in_layers)] if in_layers else []
        told = f"{name} {format_bytes(size)}" if size else name
        yield f"thread {thread}", Slice(start_ns, start_ns + latency_ns, told, "program", tuple(facts), flow)


def _own(operations: pa.Table, name: str) -> list[str]:
    """A column that only calls of a followed program have; empty words for other operations."""
    return operations[name].to_pylist() if name in operations.column_names else [""] * operations.num_rows


def _event_slices(events: pa.Table, first_flow: int, trial: str, left_out: list[str]) -> Iterator[tuple[str, Slice]]:
    names = ("kind", "operation_index", "device", "sector", "bytes", "class", "pid", "process")
    times = ("queued_ns", "ended_ns", "issued_ns", "completed_ns")
    rows = zip(*(events[name].to_pylist() for name in (*names, *times)), strict=True)
    endless = 0
    for kind, index, device, sector, size, of_class, pid, process, queued, ended, issued, completed in rows:
        start_ns, end_ns = (queued, ended) if kind == "bio" else (issued, completed)
        if start_ns is None or end_ns is None:
            endless += 1
            continue
        is_journal = process.startswith(_JOURNAL)
        category = "flush" if of_class == "flush" else "journal" if is_journal else kind
        told = f"{of_class} {format_bytes(size)}" if size else of_class
        facts = (("sector", sector), ("pid", pid), ("process", process))
        flow = first_flow + index if index >= 0 else 0
        place = f"block layer {device}" if kind == "bio" else f"device {device}"
        name = f"{told} (journal)" if is_journal else told
        yield place, Slice(start_ns, end_ns, name, category, facts, flow)
    if endless:
        left_out.append(f"{endless} bios and commands of {trial} whose beginning or end was not seen")


def _descriptor(uuid: int, name: str, parent: int) -> bytes:
    """A packet that says what a track is called and below which it stands."""
    told = _number(1, uuid) + _text(2, name) + (_number(5, parent) if parent else b"")
    return _packet(_message(60, told))


def _event(time_ns: int, kind: int, track: int, one: Slice | None = None) -> bytes:
    """A packet for the beginning or the end of a slice."""
    told = _number(9, kind) + _number(11, track)
    if one is not None:
        told += _text(23, one.name) + _text(22, one.category) + b"".join(map(_fact, one.facts))
        if one.flow:
            told += _key(47, 1) + one.flow.to_bytes(8, "little")
    return _packet(_number(8, time_ns) + _message(11, told))


def _fact(fact: tuple[str, int | str]) -> bytes:
    name, value = fact
    told = _text(6, value) if isinstance(value, str) else _number(3, value)
    return _message(4, _text(10, name) + told)


def _packet(told: bytes) -> bytes:
    return _message(1, told + _number(10, _SEQUENCE))


def _message(number: int, told: bytes) -> bytes:
    return _key(number, 2) + _varint(len(told)) + told


@lru_cache(maxsize=4096)
def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode("utf-8", "replace"))


def _number(number: int, value: int) -> bytes:
    return _key(number, 0) + _varint(value)


@cache
def _key(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    """A number of at least 0 in groups of 7 bits, the lowest first."""
    if value <= 0x7F:
        return value.to_bytes(1, "little")
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def with_devices_named(events: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """The same with the names of devices, by ``major:minor``; one that is not known keeps its number."""
    told = pa.array([names.get(number, number) for number in events["device"].to_pylist()], pa.string())
    return events.set_column(events.column_names.index("device"), "device", told)


def traced_tables(
    names: Sequence[str], operations: Callable[[str], pa.Table | None], events: Callable[[str], pa.Table | None]
) -> Iterator[tuple[str, pa.Table, pa.Table | None]]:
    """Name, operations and events of trials, one after the other, so that one is in memory at a time."""
    for name in names:
        found = operations(name)
        if found is not None:
            yield name, found, events(name)
