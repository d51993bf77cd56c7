"""What the calls of a followed program come to: by call, the slowest ones, and who was at the drive meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from drivelab.analyse.quantile import median_and_p99
from drivelab.model.layer_times import layers_of
from drivelab.model.trace import LAYERS, PARTS, Part

Integers = NDArray[np.int64]
OWN = "the program itself"
_KERNEL_WORKER = "kworker"
# how all work of such threads is called ends so, whatever it is
_BY_WORKER = f" ({_KERNEL_WORKER})"
WRITEBACK, KERNEL = f"writeback{_BY_WORKER}", f"the kernel{_BY_WORKER}"
_NAMELESS = "a process without a name"
_JOURNALS = ("jbd2/", "xfsaild/", "btrfs-", "f2fs_")


@dataclass(frozen=True, slots=True)
class CallSummary:
    """The calls of one name; times in ns.

    Attributes
    ----------
    p50_ns, slowest_ns : float
        Of the latency, as seen in the sample.
    p99_ns, p99_at_least_ns : float or None
        The same of its 99 % quantile; of calls that do not carry it there is only a bound (`median_and_p99`).
    time_ns : int
        How long all of them took together.
    parts_ns : mapping of Part to int
        Sums over all: together they are `time_ns`.
    of_unknown_files : int
        How many more of this name there were, of which nobody knows whether their file was on the disk.
    layers_ns : mapping of str to int
        By title of the layer what of `parts_ns` was spent in layers.
    """

    call: str
    count: int
    per_second: float
    p50_ns: float
    p99_ns: float | None
    slowest_ns: float
    time_ns: int
    parts_ns: Mapping[Part, int]
    of_unknown_files: int = 0
    p99_at_least_ns: float | None = None
    layers_ns: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = ("call", "count", "per_second", "p50_ns", "p99_ns", "slowest_ns", "time_ns", "of_unknown_files")
        told = {name: getattr(self, name) for name in (*names, "p99_at_least_ns")}
        return told | {"parts_ns": dict(self.parts_ns), "layers_ns": dict(self.layers_ns)}


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
    layers_ns : mapping of str to int
        By title of the layer what of them was spent in layers.
    at_drive_ns : mapping of str to int
        By process how long bios of it were on their way meanwhile; these times overlap.
    others_alone_ns : int
        How long bios of other programs were on their way while none that the call waited for was.
    """

    call: str
    file: str
    thread: int
    start_ns: int
    latency_ns: int
    parts_ns: Mapping[Part, int]
    at_drive_ns: Mapping[str, int]
    others_alone_ns: int = 0
    layers_ns: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = ("call", "file", "thread", "start_ns", "latency_ns", "others_alone_ns")
        told = {name: getattr(self, name) for name in names}
        mappings = ("parts_ns", "layers_ns", "at_drive_ns")
        return told | {name: dict(getattr(self, name)) for name in mappings}


@dataclass(frozen=True, slots=True)
class ReadsOutside:
    """Reads that the threads of a program sent while they were in none of its calls that count.

    Attributes
    ----------
    count, size_bytes : int
        How many, and what they read.
    time_ns : int
        How long any of them was on its way.
    """

    count: int
    size_bytes: int
    time_ns: int


def call_summaries(
    operations: pa.Table,
    duration_ns: int,
    of_unknown_files: Mapping[str, int] | None = None,
    layers: Sequence[str] = (),
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
    layers : sequence of str
        Titles of the layers, in the order of ``layers_ns``.

    Notes
    -----
    Quantiles are the smallest latency that so many calls do not exceed (nearest rank).
    """
    found = []
    told = operations.select([name for name in operations.column_names if name.endswith("_ns")])
    for call in pc.unique(operations["call"]).to_pylist():
        rows = told.filter(pc.equal(operations["call"], call))
        latency = _column(rows, "latency_ns")
        p50, p99, at_least = median_and_p99(latency)
        rate = latency.size * 1e9 / max(1, duration_ns)
        in_layers = layers_of(rows).sum(axis=0).tolist()
        parts = _parts({part: int(_column(rows, f"{part}_ns").sum()) for part in PARTS}, in_layers)
        times = p50, p99, float(latency.max()), int(latency.sum())
        unknown = (of_unknown_files or {}).get(call, 0)
        by_layer = _by_layer(layers, in_layers)
        found.append(CallSummary(call, latency.size, rate, *times, parts, unknown, at_least, by_layer))
    return tuple(sorted(found, key=lambda one: -one.time_ns))


def _parts(parts_ns: dict[Part, int], in_layers_ns: Sequence[int]) -> dict[Part, int]:
    """The same with the time in layers, if there is any."""
    return parts_ns | ({LAYERS: sum(in_layers_ns)} if any(in_layers_ns) else {})


def _by_layer(layers: Sequence[str], times_ns: Sequence[int]) -> dict[str, int]:
    """Times by the title of the layer; none where no title is known."""
    found: Counter[str] = Counter()
    for title, time_ns in zip(layers, times_ns, strict=False):
        found[title] += time_ns
    return {title: time_ns for title, time_ns in found.items() if time_ns}


def at_drive(
    operations: pa.Table, events: pa.Table, own_threads: Collection[int], layer_above: Mapping[str, str] | None = None
) -> dict[str, Integers]:
    """By process, for each operation, how long bios of it were on their way meanwhile, in ns.

    Parameters
    ----------
    own_threads : collection of int
        Threads of the program, whose bios are those of ``the program itself``.
    layer_above : mapping of str to str, optional
        By ``major:minor`` of what lies below a layer that layer, whose work the kernel's workers do there.

    Notes
    -----
    From being queued to their end; several at once count once, so that nothing exceeds the latency.
    """
    rows = _queued_bios(events)
    start = _column(operations, "start_ns")
    end = start + _column(operations, "latency_ns")
    queued, ended = _ways(rows, end)
    whose = pc.dictionary_encode(_whose(rows, own_threads, layer_above or {})).combine_chunks()
    places = whose.indices.to_numpy()
    found: dict[str, Integers] = {}
    for place, name in enumerate(whose.dictionary.to_pylist()):
        begins, ends = _union(queued[places == place], ended[places == place])
        found[name] = _covered(begins, ends, end) - _covered(begins, ends, start)
    return found


def reads_outside(events: pa.Table, own_threads: Collection[int], layer_above: Mapping[str, str]) -> ReadsOutside:
    """Reads of the program that belong to none of its calls, as page faults of mapped files.

    Parameters
    ----------
    own_threads, layer_above
        As `at_drive` takes them; what is sent on below a layer is counted there.
    """
    rows = _queued_bios(events, "bytes")
    is_below = pc.is_in(rows["device"], pa.array(layer_above, pa.string()))
    is_own = pc.and_(pc.is_in(rows["pid"], pa.array(sorted(own_threads), rows["pid"].type)), pc.invert(is_below))
    is_outside = pc.and_(pc.less(rows["operation_index"], 0), pc.equal(rows["class"], "read"))
    rows = rows.filter(pc.and_(is_own, is_outside))
    begins, ends = _union(*_ways(rows, np.zeros(0, dtype=np.int64)))
    return ReadsOutside(rows.num_rows, int(_column(rows, "bytes").sum()), int((ends - begins).sum()))


def others_alone(
    operations: pa.Table, events: pa.Table, own_threads: Collection[int], layer_above: Mapping[str, str] | None = None
) -> Integers:
    """How long, for each operation, bios of other programs were on their way while none of the program's was, in ns.

    Parameters
    ----------
    own_threads, layer_above
        As `at_drive` takes them.

    Notes
    -----
    Of the program is what is charged to any of its calls. Only what lies behind the first bio of a call counts, and no
    more than its parts ``between`` and ``return``, in which nothing of it goes on.
    """
    rows = _queued_bios(events)
    end = _column(operations, "start_ns") + _column(operations, "latency_ns")
    start = _column(operations, "start_ns") + _column(operations, "fs_in_ns")
    queued, ended = _ways(rows, end)
    is_program = np.asarray(pc.greater_equal(rows["operation_index"], 0))
    names = pc.dictionary_encode(_whose(rows, own_threads, layer_above or {})).combine_chunks()
    is_named = np.array([_is_other(name) for name in names.dictionary.to_pylist()], dtype=bool)
    is_other = is_named[names.indices.to_numpy()] & ~is_program

    def busy(which: NDArray[np.bool_]) -> Integers:
        begins, ends = _union(queued[which], ended[which])
        return _covered(begins, ends, end) - _covered(begins, ends, start)

    alone = busy(is_other | is_program) - busy(is_program)
    in_parts = _column(operations, "between_ns") + _column(operations, "return_ns")
    return np.asarray(np.minimum(alone, in_parts), dtype=np.int64)


def _queued_bios(events: pa.Table, *beside: str) -> pa.Table:
    """What of them has to be known, which is the half of their columns."""
    is_meant = pc.and_(pc.equal(events["kind"], "bio"), pc.is_valid(events["queued_ns"]))
    names = ["operation_index", "device", "class", "pid", "process", "queued_ns", "ended_ns", *beside]
    return events.select(names).filter(is_meant)


def _ways(rows: pa.Table, ends_of_operations: Integers) -> tuple[Integers, Integers]:
    """When each bio was queued, and when it ended; of those that are open, behind everything."""
    queued = _column(rows, "queued_ns")
    last = int(max(ends_of_operations.max(initial=0), queued.max(initial=0)))
    return queued, np.asarray(pc.fill_null(rows["ended_ns"], last), dtype=np.int64)


def _whose(rows: pa.Table, own_threads: Collection[int], layer_above: Mapping[str, str]) -> pa.ChunkedArray:
    """By bio whose it is: the program's, a layer's, what the kernel writes back, or a process's by its name."""
    process = pc.if_else(pc.equal(pc.fill_null(rows["process"], ""), ""), _NAMELESS, rows["process"])
    # the flushes and the metadata that they write belong to syncs, and no data that waits in memory
    by_kernel = pc.if_else(pc.equal(rows["class"], "write"), WRITEBACK, KERNEL)
    layers = pa.array([f"{layer}{_BY_WORKER}" for layer in layer_above.values()], pa.string())
    by_layer = layers.take(pc.index_in(rows["device"], pa.array(layer_above, pa.string())).combine_chunks())
    by_worker = pc.coalesce(pa.chunked_array([by_layer]), by_kernel)
    named = pc.if_else(pc.starts_with(process, _KERNEL_WORKER), by_worker, process)
    return pc.if_else(pc.is_in(rows["pid"], pa.array(sorted(own_threads), rows["pid"].type)), OWN, named)


def slowest_calls(
    operations: pa.Table, at_work: Mapping[str, Integers], alone: Integers, most: int, layers: Sequence[str] = ()
) -> tuple[SlowCall, ...]:
    """The slowest calls, the slowest first.

    Parameters
    ----------
    at_work, alone
        From `at_drive` and `others_alone`.
    layers : sequence of str
        Titles of the layers.
    """
    order = np.argsort(-_column(operations, "latency_ns"), kind="stable")[:most]
    found = []
    for place in order.tolist():
        row = operations.slice(place, 1).to_pylist()[0]
        told = {name: int(times[place]) for name, times in at_work.items() if times[place] > 0}
        in_layers = row.get("layers_ns") or ()
        parts = _parts({part: row[f"{part}_ns"] for part in PARTS}, in_layers)
        by_time = dict(sorted(told.items(), key=lambda one: -one[1]))
        told_of = row["call"], row["file"], row["thread"], row["start_ns"], row["latency_ns"]
        found.append(SlowCall(*told_of, parts, by_time, int(alone[place]), _by_layer(layers, in_layers)))
    return tuple(found)


def neighbour(at_drive_ns: Mapping[str, int], waited_ns: int) -> tuple[str, float]:
    """The other program whose bios were at the drive longest while calls waited, and for which part of that time.

    Notes
    -----
    What the kernel's workers and the journals of file systems do is work for the program, too: they are no others.
    """
    others = {who: time for who, time in at_drive_ns.items() if _is_other(who)}
    name = max(others, key=lambda who: others[who], default="")
    return (name, others[name] / waited_ns) if name and waited_ns else ("", 0.0)


def _is_other(who: str) -> bool:
    return who != OWN and not who.endswith(_BY_WORKER) and not who.startswith(_JOURNALS)


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
