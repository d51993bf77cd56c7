"""What the calls of a followed program come to: by call, the slowest ones, and who was at the drive meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from drivelab.model.layer_times import layers_of
from drivelab.model.trace import LAYERS, PARTS, Part

Integers = NDArray[np.int64]
OWN = "the program itself"
WRITEBACK = "writeback (kworker)"
_KERNEL_WORKER = "kworker"
_JOURNALS = ("jbd2/", "xfsaild/", "btrfs-", "f2fs_")


@dataclass(frozen=True, slots=True)
class CallSummary:
    """The calls of one name; times in ns.

    Attributes
    ----------
    p50_ns, p99_ns, slowest_ns : float
        Of the latency, as seen in the sample.
    time_ns : int
        How long all of them took together.
    parts_ns : mapping of Part to int
        Sums over all: together they are `time_ns`.
    of_unknown_files : int
        How many more of this name there were, of which nobody knows whether their file was on the disk.
    """

    call: str
    count: int
    per_second: float
    p50_ns: float
    p99_ns: float
    slowest_ns: float
    time_ns: int
    parts_ns: Mapping[Part, int]
    of_unknown_files: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = ("call", "count", "per_second", "p50_ns", "p99_ns", "slowest_ns", "time_ns", "of_unknown_files")
        return {name: getattr(self, name) for name in names} | {"parts_ns": dict(self.parts_ns)}


@dataclass(frozen=True, slots=True)
class SlowCall:
    """One of the slowest calls, with its story; times in ns.

    Attributes
    ----------
    call, file, thread : str, str, int
        What it was, on which file (empty where it was not seen), by whom.
    start_ns, latency_ns : int
        When it began by CLOCK_MONOTONIC, and how long it took.
    parts_ns : mapping of Part to int
        They sum to the latency.
    at_drive_ns : mapping of str to int
        By process how long bios of it were on their way meanwhile; these times overlap.
    """

    call: str
    file: str
    thread: int
    start_ns: int
    latency_ns: int
    parts_ns: Mapping[Part, int]
    at_drive_ns: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = ("call", "file", "thread", "start_ns", "latency_ns")
        told = {name: getattr(self, name) for name in names}
        return told | {"parts_ns": dict(self.parts_ns), "at_drive_ns": dict(self.at_drive_ns)}


def call_summaries(
    operations: pa.Table, duration_ns: int, of_unknown_files: Mapping[str, int] | None = None
) -> tuple[CallSummary, ...]:
    """The calls by name, those that took most time first.

    Parameters
    ----------
    operations : pyarrow.Table
        Joined operations with the column ``call``.
    duration_ns : int
        How long the program was followed.
    of_unknown_files : mapping of str to int, optional
        By name how many more calls there were whose file nobody knows.

    Notes
    -----
    Quantiles are the smallest latency that so many calls do not exceed (nearest rank).
    """
    found = []
    told = operations.select([name for name in operations.column_names if name.endswith("_ns")])
    for call in pc.unique(operations["call"]).to_pylist():
        rows = told.filter(pc.equal(operations["call"], call))
        latency = _column(rows, "latency_ns")
        p50, p99 = np.quantile(latency, [0.5, 0.99], method="inverted_cdf")
        rate = latency.size * 1e9 / max(1, duration_ns)
        parts: dict[Part, int] = {part: int(_column(rows, f"{part}_ns").sum()) for part in PARTS}
        if in_layers := int(layers_of(rows).sum()):
            parts[LAYERS] = in_layers
        times = float(p50), float(p99), float(latency.max()), int(latency.sum())
        found.append(CallSummary(call, latency.size, rate, *times, parts, (of_unknown_files or {}).get(call, 0)))
    return tuple(sorted(found, key=lambda one: -one.time_ns))


def at_drive(operations: pa.Table, events: pa.Table, own_threads: Collection[int]) -> dict[str, Integers]:
    """By process, for each operation, how long bios of it were on their way meanwhile, in ns.

    Parameters
    ----------
    own_threads : collection of int
        Threads of the program, whose bios are those of ``the program itself``.

    Notes
    -----
    From being queued to their end; several at once count once, so that nothing exceeds the latency.
    """
    is_meant = pc.and_(pc.equal(events["kind"], "bio"), pc.is_valid(events["queued_ns"]))
    rows = events.select(["queued_ns", "ended_ns", "pid", "process"]).filter(is_meant)
    start = _column(operations, "start_ns")
    end = start + _column(operations, "latency_ns")
    queued = _column(rows, "queued_ns")
    last = int(max(end.max(initial=0), queued.max(initial=0)))
    ended = np.asarray(pc.fill_null(rows["ended_ns"], last), dtype=np.int64)
    names, places = _whose(rows, own_threads)
    found: dict[str, Integers] = {}
    for place, name in enumerate(names):
        begins, ends = _union(queued[places == place], ended[places == place])
        found[name] = _covered(begins, ends, end) - _covered(begins, ends, start)
    return found


def _whose(rows: pa.Table, own_threads: Collection[int]) -> tuple[list[str], NDArray[np.int32]]:
    """Names of processes in the order in which they come, and by bio the place of its own among them."""
    encoded = pc.dictionary_encode(rows["process"], null_encoding="encode").combine_chunks()
    names = [_plain(name) for name in encoded.dictionary.to_pylist()]
    distinct = list(dict.fromkeys([*names, OWN]))
    by_code = np.array([distinct.index(name) for name in names], dtype=np.int32)
    is_own = pc.is_in(rows["pid"], pa.array(sorted(own_threads), rows["pid"].type)).to_numpy()
    places = np.where(is_own, distinct.index(OWN), by_code[encoded.indices.to_numpy()])
    found, first = np.unique(places, return_index=True)
    order = found[np.argsort(first)]
    ranks = np.zeros(len(distinct), dtype=np.int32)
    ranks[order] = np.arange(order.size)
    return [distinct[place] for place in order], ranks[places]


def slowest_calls(operations: pa.Table, at_work: Mapping[str, Integers], most: int) -> tuple[SlowCall, ...]:
    """The slowest calls, the slowest first."""
    order = np.argsort(-_column(operations, "latency_ns"), kind="stable")[:most]
    found = []
    for place in order.tolist():
        row = operations.slice(place, 1).to_pylist()[0]
        told = {name: int(times[place]) for name, times in at_work.items() if times[place] > 0}
        parts: dict[Part, int] = {part: row[f"{part}_ns"] for part in PARTS}
        if in_layers := sum(row.get("layers_ns") or ()):
            parts[LAYERS] = in_layers
        by_time = dict(sorted(told.items(), key=lambda one: -one[1]))
        slow = SlowCall(row["call"], row["file"], row["thread"], row["start_ns"], row["latency_ns"], parts, by_time)
        found.append(slow)
    return tuple(found)


def neighbour(at_drive_ns: Mapping[str, int], waited_ns: int) -> tuple[str, float]:
    """The other program whose bios were at the drive longest while calls waited, and for which part of that time.

    Notes
    -----
    What the kernel writes back and the journals of file systems work for the program, too: they are no others.
    """
    others = {
        who: time for who, time in at_drive_ns.items() if who not in (OWN, WRITEBACK) and not who.startswith(_JOURNALS)
    }
    name = max(others, key=lambda who: others[who], default="")
    return (name, others[name] / waited_ns) if name and waited_ns else ("", 0.0)


def _plain(name: str | None) -> str:
    """Workers of the kernel are one; others go by their name."""
    if not name:
        return "a process without a name"
    return WRITEBACK if name.startswith(_KERNEL_WORKER) else name


def _union(begins: Integers, ends: Integers) -> tuple[Integers, Integers]:
    """Intervals that may overlap as some that do not, in order."""
    order = np.argsort(begins, kind="stable")
    begins, reach = begins[order], np.maximum.accumulate(ends[order]) if ends.size else ends
    is_new = np.ones(begins.size, dtype=bool)
    is_new[1:] = begins[1:] > reach[:-1]
    is_last = np.append(is_new[1:], True) if begins.size else is_new
    return begins[is_new], reach[is_last]


def _covered(begins: Integers, ends: Integers, until: Integers) -> Integers:
    """How much of the intervals lies before each moment."""
    lengths = np.concatenate([[0], np.cumsum(ends - begins)])
    place = np.searchsorted(begins, until, side="right")
    beyond = np.maximum(0, ends[place - 1] - until) * (place > 0) if begins.size else np.zeros_like(until)
    return np.asarray(lengths[place] - beyond, dtype=np.int64)


def _column(rows: pa.Table, name: str) -> Integers:
    return np.asarray(rows[name].fill_null(0), dtype=np.int64)
