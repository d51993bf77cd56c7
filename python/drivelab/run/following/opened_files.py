"""Which file a call opened, by the path that it was given: of those, too, that are closed before anybody looks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.inventory.mounts import mount_of_name, read_mounts
from drivelab.model.system_calls import CHANGE_DIRECTORY, FLAGS_AT, HAS_OWN_MOUNTS, LEAVE_DIRECTORY, OPENS
from drivelab.run.following.recorded_calls import RecordedCalls
from drivelab.run.following.seen_file import SeenFile, device_of, look_at
from drivelab.trace.descriptors import Start, starts_of

_PROC = Path("/proc")
# stands for the directory of the process, where a call takes a descriptor of one (AT_FDCWD)
_OF_PROCESS = -100
_CREAT_FLAGS = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
_WORD = 2**32


def directory_of(process: int) -> str | None:
    """From where a process looks up names; None where its names are not ours: it has gone, or is in a container."""
    try:
        ours, theirs = (os.stat(_PROC / one / "ns" / "mnt").st_ino for one in ("self", str(process)))
        root = os.readlink(_PROC / str(process) / "root")
        return os.readlink(_PROC / str(process) / "cwd") if (ours, root) == (theirs, "/") else None
    except OSError:
        return None


def opened_files(
    recorded: RecordedCalls,
    numbers: Mapping[str, int],
    processes: Mapping[int, int],
    directories: Mapping[int, str | None],
    ended_ns: int,
) -> list[SeenFile]:
    """What calls opened, in the order in which they did.

    Parameters
    ----------
    recorded : RecordedCalls
        With paths.
    numbers : mapping of str to int
        The kernel's number of each call.
    processes : mapping of int to int
        The process of each thread.
    directories : mapping of int to str or None
        Of the processes that were there at the beginning, from where each looked up names then.
    ended_ns : int
        Now: sizes are looked at only now.

    Notes
    -----
    A name is left out where it is one below a descriptor, or below a directory that
    nobody knows; so is what has no name.
    """
    if not recorded.paths:
        return []
    where = dict(directories)
    places = _Places(ended_ns)
    found = []
    for event in _in_order(recorded, numbers, processes):
        if isinstance(event, Start):
            where[event.child] = None if event.flags & HAS_OWN_MOUNTS else where.get(event.parent)
            continue
        process, path = event["process"], recorded.paths.get((event["thread"], event["start_ns"]), "")
        base = where.get(process)
        name = os.path.join(base, path) if base is not None and path else None
        if event["call"] in (CHANGE_DIRECTORY, *LEAVE_DIRECTORY):
            where[process] = name if event["call"] == CHANGE_DIRECTORY else None
        elif name is not None and _is_named(event, path):
            found.append(places.opened(event, name))
    return found


def _in_order(
    recorded: RecordedCalls, numbers: Mapping[str, int], processes: Mapping[int, int]
) -> Iterator[Start | dict[str, Any]]:
    names = {numbers[name]: name for name in (*OPENS, CHANGE_DIRECTORY, *LEAVE_DIRECTORY) if name in numbers}
    wanted = pc.is_in(recorded.calls["number"].cast(pa.int64()), pa.array(list(names), pa.int64()))
    rows = recorded.calls.filter(pc.and_(wanted, pc.greater_equal(recorded.calls["result"], 0))).to_pylist()
    for row in rows:
        row["call"], row["process"] = names[row["number"]], processes.get(row["thread"], row["thread"])
    events = [(row["end_ns"], row) for row in rows]
    events += [(start.time_ns, start) for start in starts_of(recorded.forks, processes)]
    yield from (event for _, event in sorted(events, key=lambda one: one[0]))


def _is_named(row: Mapping[str, Any], path: str) -> bool:
    """Whether what was opened has a name (not O_TMPFILE), and one that is below no descriptor."""
    is_below = row["call"].startswith("openat") and row["argument_0"] % _WORD != _OF_PROCESS % _WORD
    return (path.startswith("/") or not is_below) and _flags(row) & os.O_TMPFILE != os.O_TMPFILE


class _Places:
    """Tells what names stand for; each, and each directory, is looked up once."""

    def __init__(self, ended_ns: int) -> None:
        self._ended_ns = ended_ns
        self._mounts = read_mounts()
        self._directories: dict[str, str] = {}
        self._known: dict[str, SeenFile] = {}

    def opened(self, row: Mapping[str, Any], name: str) -> SeenFile:
        """What a call opened."""
        if name not in self._known:
            self._known[name] = self._found(name)
        flags = _flags(row)
        return replace(
            self._known[name],
            process=row["process"],
            descriptor=row["result"],
            is_durable=bool(flags & os.O_DSYNC),
            is_written=flags & os.O_ACCMODE != os.O_RDONLY,
            first_ns=row["end_ns"],
            last_ns=row["end_ns"],
            is_append=bool(flags & os.O_APPEND),
            is_direct=bool(flags & os.O_DIRECT),
            is_closed_on_exec=bool(flags & os.O_CLOEXEC),
            is_synced=flags & os.O_SYNC == os.O_SYNC,
        )

    def _found(self, name: str) -> SeenFile:
        """The path without links, its device, and what it is now."""
        path = name
        device, is_remote = self._device(path)
        # one of a server that is gone would take for ever
        if not is_remote:
            path = self._without_links(name)
            device, is_remote = self._device(path)
        found = SeenFile(0, 0, path, device, False, False, 0, 0, sized_ns=self._ended_ns, is_told=True)
        if device and not is_remote:
            look_at(found, path)
        return found

    def _without_links(self, name: str) -> str:
        directory, last = os.path.split(name)
        if directory not in self._directories:
            self._directories[directory] = os.path.realpath(directory)
        path = os.path.join(self._directories[directory], last)
        return os.path.realpath(path) if last in ("", ".", "..") or os.path.islink(path) else path

    def _device(self, path: str) -> tuple[str, bool]:
        return device_of(path, mount_of_name(Path(path), self._mounts))


def _flags(row: Mapping[str, Any]) -> int:
    """With which flags a call opens; 0 where it does not say so itself (`openat2`)."""
    if row["call"] == "creat":
        return _CREAT_FLAGS
    return int(row[f"argument_{FLAGS_AT[row['call']]}"]) if row["call"] in FLAGS_AT else 0
