"""Joins a recording with the operations of a program: where the time of each went, and what it made the drive do.

The rules stand in ``crates/drivelab-trace/src/join.rs``: an operation is charged
the bios of its own thread, what the kernel's threads do while it waits, and the
commands that carry these; other programs are charged to nobody. A call that
need not be durable and did not sleep waited for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab import _engine
from drivelab.model.errors import DrivelabError
from drivelab.model.trace import TraceConduct
from drivelab.trace.call_columns import SLEEP_UNKNOWN
from drivelab.trace.recording import RecordingSummary, device_name, reading_errors

_COLUMNS = (
    "job",
    "thread",
    "operation",
    "start_ns",
    "submitted_ns",
    "end_ns",
    "offset_bytes",
    "size_bytes",
    "is_synchronous",
    "is_durable",
)
_SLEEP = "sleep"
_APART_MAX_S = 60
# where an operation lies on the traced disk: first byte in the file, on the disk, and how many
Extent = tuple[int, int, int]
# a device between program and drives, and what it lies on directly: a whole device, first sector, first one after it
Layer = tuple[int, Sequence[tuple[int, int, int]]]


@dataclass(frozen=True, slots=True)
class JoinedTrace:
    """A recording joined with operations.

    Attributes
    ----------
    operations : pyarrow.Table
        One row per operation, in their order: the columns of ``operations/`` (``docs/data_format.md``).
    events : pyarrow.Table
        One row per bio and per command, by time: the columns of ``events/``.
    conduct : TraceConduct
        How whole the trace is; who took it and how is for the caller to add.
    unnamed_bios : int
        Bios of threads whose name is not known. In a recording without any names they count as the kernel's.
    programs : mapping of str to int
        Bios of other programs, by name.
    facts : mapping
        All counts: ``bios`` and ``commands`` by what became of them, ``unmatched_work``, ``lives``, ``recording``.
    """

    operations: pa.Table
    events: pa.Table
    conduct: TraceConduct
    unnamed_bios: int
    programs: Mapping[str, int]
    facts: Mapping[str, Any]


def join_trace(
    recording: Sequence[Path],
    operations: pa.Table,
    *,
    devices: Mapping[int, int] | None = None,
    extents: Mapping[int, Sequence[Extent]] | None = None,
    layers: Sequence[Layer] = (),
    own_threads: Sequence[int] = (),
    names: Mapping[int, str] | None = None,
    lost_events: int = 0,
) -> JoinedTrace:
    """Take the latency of every operation apart by what a recording holds.

    Parameters
    ----------
    recording : sequence of Path
        Directories, base names or files; read as one recording. Its clock is CLOCK_MONOTONIC.
    operations : pyarrow.Table
        From `drivelab.trace.operations_of.operations_of`, or with the column ``sleep`` of
        `drivelab.trace.call_columns`; without it nobody knows which of them slept.
    devices : mapping of int to int, optional
        By job the disk or volume it was sent to, ``major << 20 | minor``. Without it, all bios of the recording count.
    extents : mapping of int to sequence of (int, int, int), optional
        By job where its bytes lie on the disk: offset in the file or device, offset on the disk, length. Of
        several operations in flight it tells whose a bio is; without it their order does.
    layers : sequence of (int, sequence of (int, int, int))
        Devices between the program and its drives, each before all that it lies on: what they send down is
        charged to those that it was for, and what is only in them is their own time.
    own_threads : sequence of int
        Other threads of this program.
    names : mapping of int to str, optional
        Names of threads that the recording does not tell.

    Returns
    -------
    JoinedTrace
        The parts of each operation sum exactly to its latency.

    Raises
    ------
    DrivelabError
        B901 to B906: the recording cannot be read. B910: `operations` lacks a column. B911: recording and
        operations are of different times. B912: the recording is of other disks.

    Notes
    -----
    Ctrl-C is raised while it reads; the interpreter lock is released.
    """
    columns = _columns(operations)
    options = {
        "names": {str(pid): name for pid, name in (names or {}).items()},
        "own_threads": list(own_threads),
        "targets": _targets(devices or {}, extents or {}),
        "layers": _layers(layers),
        "lost_events": lost_events,
    }
    with reading_errors(recording):
        rows, events, text = _engine.join_trace([str(path) for path in recording], columns, json.dumps(options))
    facts = json.loads(text)
    _refuse_another_trace(recording, operations, facts, devices or {})
    lives = pa.Table.from_batches([pa.record_batch(events)])
    return JoinedTrace(
        operations=pa.Table.from_batches([pa.record_batch(rows)]),
        events=lives,
        conduct=_conduct(facts, _open_at_end(lives, operations)),
        unnamed_bios=facts["unnamed_bios"],
        programs=facts["programs"],
        facts=facts,
    )


def _targets(devices: Mapping[int, int], extents: Mapping[int, Sequence[Extent]]) -> dict[str, Any]:
    keys = ("offset", "device_offset", "length")
    return {
        str(job): {
            "device": device,
            "extents": [dict(zip(keys, map(int, extent), strict=True)) for extent in extents.get(job, ())],
        }
        for job, device in devices.items()
    }


def _layers(layers: Sequence[Layer]) -> list[dict[str, Any]]:
    keys = ("device", "start", "end")
    return [
        {"device": device, "below": [dict(zip(keys, stretch, strict=True)) for stretch in below]}
        for device, below in layers
    ]


def _open_at_end(events: pa.Table, operations: pa.Table) -> int:
    """Bios without an end; of those that began after the last operation had ended, the trace did not wait for any."""
    last_ns = pc.max(operations["end_ns"])
    is_open = pc.and_(pc.equal(events["kind"], "bio"), pc.is_null(events["ended_ns"]))
    return int(pc.sum(pc.and_(is_open, pc.less_equal(events["queued_ns"], last_ns))).as_py() or 0)


def _conduct(facts: Mapping[str, Any], open_at_end: int) -> TraceConduct:
    return TraceConduct(
        source="recording",
        reason="",
        lost_events=facts["lost_events"],
        unmatched_bios=facts["bios"]["outside"],
        foreign_bios=facts["bios"]["foreign"],
        duplicate_records=facts["recording"]["duplicates"],
        open_at_end=open_at_end,
        partial_operations=facts["partial_operations"],
    )


def _columns(operations: pa.Table) -> dict[str, Any]:
    missing = [name for name in _COLUMNS if name not in operations.column_names]
    if missing:
        raise DrivelabError("B910", f"the column {missing[0]} is missing", where="operations")
    if _SLEEP not in operations.column_names:
        operations = operations.append_column(_SLEEP, pa.array(np.full(operations.num_rows, SLEEP_UNKNOWN)))
    return {
        name: np.ascontiguousarray(operations.column(name).to_numpy(zero_copy_only=False), dtype=np.int64)
        for name in (*_COLUMNS, _SLEEP)
    }


def _refuse_another_trace(
    recording: Sequence[Path], operations: pa.Table, facts: Mapping[str, Any], devices: Mapping[int, int]
) -> None:
    """A recording of another time or of another disk has nothing to say about these operations."""
    found = RecordingSummary.from_json(facts["recording"])
    if not found.records or not operations.num_rows:
        return
    where = ", ".join(map(str, recording))
    first_ns, last_ns = facts["recording"]["first_time_ns"], facts["recording"]["last_time_ns"]
    starts, ends = (operations.column(name).to_numpy() for name in ("start_ns", "end_ns"))
    # what operations leave in memory is written some seconds after they ended
    apart_s = max(starts.min() - last_ns, first_ns - ends.max()) / 1e9
    if apart_s > _APART_MAX_S:
        raise DrivelabError("B911", f"{apart_s:.0f} s lie between the recording and the operations", where=where)
    names = sorted({device_name(device) for device in devices.values()})
    if names and not set(names) & set(found.devices):
        what = f"it is of {', '.join(found.devices)}, and the operations went to {', '.join(names)}"
        raise DrivelabError("B912", what, where=where)
