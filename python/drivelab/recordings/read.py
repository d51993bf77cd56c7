"""Reads a recorded load, whatever recorded it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from drivelab.interop.fio.iolog import BEGINNING, read_iolog
from drivelab.model.errors import DrivelabError
from drivelab.model.names import counted
from drivelab.model.recording import Recording
from drivelab.recordings.followed_calls import read_followed_calls
from drivelab.recordings.own_run import read_kept_ios, read_own_run
from drivelab.store.find_run import stored_in
from drivelab.store.followed import CALLS, RECORDING, StoredFollowed, holds_followed, open_followed

_PARQUET = b"PAR1"
_THREADS_MAX, _DEPTH_MAX = 1024, 4096
_DAY_NS = 24 * 3600 * 10**9
_KNOWN = (
    "name a followed program (explain --pid), a run or a file with kept I/Os (io --record), fio's iolog, or what "
    "blktrace wrote (NAME.blktrace.0, or their directory)"
)
# the longest run of the engine
_LENGTH_MAX_NS = 366 * _DAY_NS


def is_of_program(name: str) -> bool:
    """Whether a recording is that of a followed program, which has system calls and commands."""
    stored = _stored_in(name)
    return stored is not None and holds_followed(stored)


def _stored_in(name: str) -> Path | None:
    """The run that is meant; the calls of a followed program, by the name of their file, are the program's."""
    path = Path(name)
    return path.parent if path.name == CALLS and holds_followed(path.parent) else stored_in(name)


def read_recording(name: str, *, only: str = "", queue_depth: int = 0, calls: bool = False) -> Recording:
    """The load of a recording.

    Parameters
    ----------
    name : str
        fio's iolog, a run of drivelab's or its file of I/Os, a recording of blktrace.
    only : str
        The trial of a run, or the device of a block trace; may be empty where there is one alone.
    queue_depth : int
        The most that each thread has outstanding; 0 is as recorded, and 1 where that is not told.
    calls : bool
        Of a followed program its system calls on their files; else the commands of its disk.

    Raises
    ------
    DrivelabError
        B901 to B906, B920 to B923: it cannot be read, or not issued again. U005: `only` names nothing in it.
        S504 to S506: a run that cannot be read.
    """
    recording = _read(name, only, queue_depth, calls=calls)
    if not any(map(len, recording.threads)) or not recording.end_bytes:
        raise DrivelabError("B922", "it holds no read, write or trim", where=name)
    if recording.length_ns > _LENGTH_MAX_NS:
        what = f"its first and its last start are {recording.length_ns // _DAY_NS} days apart: times of two clocks"
        raise DrivelabError("B921", what, where=name, do="record it again, on one machine")
    if len(recording.threads) > _THREADS_MAX or recording.queue_depth > _DEPTH_MAX:
        what = f"it has {counted(len(recording.threads), 'thread')} with up to {recording.queue_depth} I/Os outstanding"
        bound = f"{_THREADS_MAX} threads and {_DEPTH_MAX} are issued at most"
        raise DrivelabError("B920", f"{what}; {bound}", where=name, do="set a smaller --queue-depth, or record less")
    return recording


def _read(name: str, only: str, queue_depth: int, *, calls: bool) -> Recording:
    path = Path(name)
    stored = _stored_in(name)
    if stored is not None and holds_followed(stored):
        program = open_followed(stored)
        if calls:
            return _with_depth(read_followed_calls(program), queue_depth)
        only = only or _traced_device(program)
    elif stored is not None:
        return _with_depth(read_own_run(stored, only), queue_depth)
    begin = None if stored is not None else _beginning(path)
    if begin == b"":
        raise DrivelabError("B922", "the file is empty", where=name)
    if begin is not None and begin.startswith(_PARQUET):
        return _with_depth(read_kept_ios(path), queue_depth)
    if begin is not None and begin.startswith(BEGINNING):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        return read_iolog(text, name, queue_depth=queue_depth or 1)
    # imported here: the reader of block traces loads the engine
    from drivelab.recordings.block_trace import read_block_trace

    try:
        return _with_depth(read_block_trace(str(stored / RECORDING) if stored is not None else name, only), queue_depth)
    except DrivelabError as error:
        if error.code not in ("B902", "B905"):
            raise
        raise DrivelabError("B920", f"{name} is no recording that is known", where=name, do=_KNOWN) from None


def _traced_device(program: StoredFollowed) -> str:
    """``major:minor`` of the disk that its calls were on, above others that were traced with it."""
    devices = program.record.target.get("devices", ())
    return next((str(one["device_number"]) for one in devices if one["name"] == program.record.disk), "")


def _with_depth(recording: Recording, queue_depth: int) -> Recording:
    if not queue_depth:
        return recording
    threads = tuple(replace(thread, queue_depth=queue_depth) for thread in recording.threads)
    return replace(recording, threads=threads)


def _beginning(path: Path) -> bytes | None:
    """The first bytes of a file; None where there is no file of that name, as of a block trace."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return file.read(16)
    except OSError as error:
        raise DrivelabError("B903", f"it cannot be read: {error.strerror}", where=str(path)) from error
