"""A load as the block layer saw it: what each thread queued at one device, from a recording of blktrace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.errors import DrivelabError
from drivelab.model.recording import (
    COMMANDS,
    DURABLE_WRITE,
    READ,
    SYNC,
    TRIM,
    WRITE,
    RecordedThread,
    Recording,
    deepest,
)
from drivelab.trace.join import join_trace
from drivelab.trace.recording import RecordingSummary

_SECTOR = 512
_CLASSES = {"read": READ, "write": WRITE, "fua_write": WRITE, "metadata_write": WRITE, "flush": SYNC, "discard": TRIM}
_LARGEST = 1 << 30


def read_block_trace(name: str, only: str) -> Recording:
    """The load of one device of a recording: bios, each from when it was queued until its submitter was told.

    Parameters
    ----------
    name : str
        A file of blktrace, what stands before ``.blktrace.0``, or a directory of them.
    only : str
        The device, ``major:minor``; may be empty where there is one alone.

    Raises
    ------
    DrivelabError
        B901 to B906: it cannot be read, or is not whole. U005: it is of several devices, or of others.

    Notes
    -----
    A write with Force Unit Access becomes a write and a flush when that had ended, which are compared with it as one.
    """
    joined = join_trace([Path(name)], _no_operations())
    damage = RecordingSummary.from_json(joined.facts["recording"]).damage_error()
    if damage is not None:
        raise damage
    events = joined.events
    bios = events.filter(pc.and_(pc.equal(events["kind"], "bio"), pc.is_valid(events["queued_ns"])))
    devices = sorted(set(bios["device"].to_pylist()))
    if only not in devices and (only or len(devices) > 1):
        raise DrivelabError("U005", f"the recording is of {', '.join(devices)}", where="option --only")
    known = pc.is_in(bios["class"], pa.array(list(_CLASSES)))
    chosen = bios.filter(pc.and_(known, pc.equal(bios["device"], only or (devices or [""])[0])))
    return Recording(
        name, "a recording of the block layer", tuple(_threads(chosen)), direct=True, level="commands", calls=COMMANDS
    )


def _no_operations() -> pa.Table:
    names = ("job", "thread", "operation", "start_ns", "submitted_ns", "end_ns", "offset_bytes", "size_bytes")
    return pa.table({name: pa.array([], pa.int64()) for name in (*names, "is_synchronous", "is_durable")})


def _threads(bios: pa.Table) -> list[RecordedThread]:
    queued = bios["queued_ns"].to_numpy(zero_copy_only=False).astype(np.int64)
    # what never ended was outstanding until the recording did
    last = max(int(queued.max(initial=0)), pc.max(bios["ended_ns"]).as_py() or 0)
    ended = pc.fill_null(bios["ended_ns"], last).to_numpy(zero_copy_only=False).astype(np.int64)
    operation = np.array([_CLASSES[name] for name in bios["class"].to_pylist()], dtype=np.int64)
    is_fua = pc.equal(bios["class"], "fua_write").to_numpy(zero_copy_only=False)
    # a flush has no place
    offset = np.where(operation == SYNC, 0, bios["sector"].to_numpy().astype(np.int64) * _SECTOR)
    size = np.where(operation == SYNC, 0, bios["bytes"].to_numpy().astype(np.int64))
    number, none = np.arange(len(ended)), np.zeros_like(ended)
    command = np.where(is_fua, DURABLE_WRITE, operation)
    columns = np.stack([queued, operation, offset, size, np.maximum(ended - queued, 0), command, number, none - 1])
    flushes = np.stack([ended, none + SYNC, none, none, none, none + DURABLE_WRITE, none - 1, number])[:, is_fua]
    pid = bios["pid"].to_numpy(zero_copy_only=False).astype(np.int64)
    columns, pid = np.concatenate([columns, flushes], axis=1), np.concatenate([pid, pid[is_fua]])
    begin = columns[0].min(initial=last)
    return [_thread(columns[:, pid == one], begin) for one in np.unique(pid)]


def _thread(columns: np.ndarray, begin: int) -> RecordedThread:
    columns = _in_pieces(columns[:, np.argsort(columns[0], kind="stable")])
    start, operation, offset, size, latency, command, number, whole = columns
    place_of = {one: place for place, one in enumerate(number.tolist())}
    part_of = np.array([place_of[one] if one >= 0 else -1 for one in whole.tolist()], dtype=np.int64)
    depth = deepest(start, latency)
    return RecordedThread(start - begin, operation, offset, size, latency, depth, call=command, part_of=part_of)


def _in_pieces(columns: np.ndarray) -> np.ndarray:
    """Discards of more than 1 GiB as several: no I/O is larger."""
    pieces = np.maximum(1, -(-columns[3] // _LARGEST))
    if pieces.max(initial=1) == 1:
        return columns
    many = np.repeat(columns, pieces, axis=1)
    number = np.arange(many.shape[1]) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    many[2] += number * _LARGEST
    many[3] = np.minimum(many[3] - number * _LARGEST, _LARGEST)
    return many
