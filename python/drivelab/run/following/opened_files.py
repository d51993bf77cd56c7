"""Which file a call opened, by the path that it was given: of those, too, that are closed before anybody looks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.inventory.mounts import mount_of_name, read_mounts
from drivelab.model.system_calls import (
    CHANGE_DIRECTORY,
    CHANGE_TO_DESCRIPTOR,
    FLAGS_AT,
    HAS_OWN_MOUNTS,
    LEAVE_DIRECTORY,
    NO_FILES,
    OPENS,
    PIPES,
)
from drivelab.run.following.recorded_calls import RecordedCalls
from drivelab.run.following.seen_file import SeenFile, device_of, look_at
from drivelab.trace.call_columns import CallTable
from drivelab.trace.descriptors import Descriptors, Start, pair_of, starts_of
from drivelab.trace.file_positions import plain_path

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
    seen: Sequence[SeenFile],
    ended_ns: int,
) -> list[SeenFile]:
    """What calls opened, in the order in which they did; sockets, pipes and the like, too, which are no files.

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
    seen : sequence of SeenFile
        What descriptors stood for when they were looked up: names may be below them.
    ended_ns : int
        Now: sizes are looked at only now.

    Notes
    -----
    A name is left out where it is below a directory that nobody knows; so is what has no name.
    """
    where = dict(directories)
    places = _Places(ended_ns)
    opened = _OpenDirectories(recorded, numbers, processes, seen)
    found = []
    for event in _in_order(recorded, numbers, processes):
        if isinstance(event, Start):
            where[event.child] = None if event.flags & HAS_OWN_MOUNTS else where.get(event.parent)
            continue
        process, call = event["process"], event["call"]
        if call in NO_FILES:
            found.append(_no_file(event, event["result"]))
            continue
        if call in PIPES:
            found += [_no_file(event, descriptor) for descriptor in pair_of(event)]
            continue
        path = recorded.paths.get((event["thread"], event["start_ns"]), "")
        base = where.get(process)
        if base is not None and _is_below(event, path):
            base = opened.name_of(event)
        name = os.path.join(base, path) if base is not None and path else None
        if call in LEAVE_DIRECTORY:
            where[process] = None
        elif call == CHANGE_TO_DESCRIPTOR:
            where[process] = base
        elif call == CHANGE_DIRECTORY:
            where[process] = name
        elif name is not None and _flags(event) & os.O_TMPFILE != os.O_TMPFILE:
            found.append(places.opened(event, name))
            opened.note(event, found[-1])
    return found


def _in_order(
    recorded: RecordedCalls, numbers: Mapping[str, int], processes: Mapping[int, int]
) -> Iterator[Start | dict[str, Any]]:
    told = (*OPENS, *NO_FILES, *PIPES, CHANGE_DIRECTORY, CHANGE_TO_DESCRIPTOR, *LEAVE_DIRECTORY)
    names = {numbers[name]: name for name in told if name in numbers}
    wanted = pc.is_in(recorded.calls["number"].cast(pa.int64()), pa.array(list(names), pa.int64()))
    rows = recorded.calls.filter(pc.and_(wanted, pc.greater_equal(recorded.calls["result"], 0))).to_pylist()
    for row in rows:
        row["call"], row["process"] = names[row["number"]], processes.get(row["thread"], row["thread"])
    events = [(row["end_ns"], row) for row in rows]
    events += [(start.time_ns, start) for start in starts_of(recorded.forks, processes)]
    yield from (event for _, event in sorted(events, key=lambda one: one[0]))


def _is_below(row: Mapping[str, Any], path: str) -> bool:
    """Whether a call means what is below a descriptor of its own, or that itself."""
    if row["call"] == CHANGE_TO_DESCRIPTOR:
        return True
    is_relative = row["call"].startswith("openat") and not path.startswith("/")
    return is_relative and row["argument_0"] % _WORD != _OF_PROCESS % _WORD


def _no_file(row: Mapping[str, Any], descriptor: int) -> SeenFile:
    process, opened_ns = row["process"], row["end_ns"]
    return SeenFile(process, descriptor, f"{row['call']}:", "", False, False, opened_ns, opened_ns, is_told=True)


class _OpenDirectories:
    """Tells which directory a descriptor stood for: by the names that it was opened by, or by what was looked up."""

    def __init__(
        self,
        recorded: RecordedCalls,
        numbers: Mapping[str, int],
        processes: Mapping[int, int],
        seen: Sequence[SeenFile],
    ) -> None:
        self._seen = seen
        self._of_calls = recorded, numbers, processes
        self._names: dict[int, str] = {}
        self._noted: list[tuple[int, int, int, str]] = []

    def note(self, row: Mapping[str, Any], file: SeenFile) -> None:
        """Remember what a call opened, where that may be a directory."""
        if file.kind != "file":
            self._noted.append((row["process"], row["result"], row["end_ns"], file.path))

    def name_of(self, row: Mapping[str, Any]) -> str | None:
        """Of the directory that a call's descriptor stood for; None where nobody knows, or it was removed."""
        for process, descriptor, time_ns, path in self._noted:
            self._names[self._descriptors.spans(process, descriptor).at(time_ns)[1]] = path
        self._noted.clear()
        number, opened = self._descriptors.spans(row["process"], row["argument_0"] % _WORD).at(row["start_ns"])
        name = self._names.get(opened) or (self._seen[number - 1].path if number else "")
        return name if name.startswith("/") and plain_path(name) == name else None

    @cached_property
    def _descriptors(self) -> Descriptors:
        # most programs name no file below a descriptor, and need none of this
        recorded, numbers, processes = self._of_calls
        changes = CallTable(recorded.calls, numbers, processes).changes()
        return Descriptors(self._seen, changes, starts_of(recorded.forks, processes))


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
