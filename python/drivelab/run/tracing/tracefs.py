"""Finds the kernel's trace files, and gives each trace an instance of its own.

An instance has its own buffer, filters and switches, so nothing that anybody
else traces is touched. It goes away when the trace ends; one that a killed
process left behind is found by its name and removed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drivelab.run.process_owner import owner_lives, owner_tag
from drivelab.state.kernel_filesystem import NotMountedError, kernel_filesystem
from drivelab.state.signals import signals_held, signals_obeyed

_PREFIX = "drivelab-"
_LOSSES = ("overrun", "commit overrun", "dropped events")


class TraceUnavailableError(Exception):
    """Commands cannot be traced here; the text says why."""


@contextmanager
def tracefs() -> Iterator[Path]:
    """The directory of the kernel's trace files.

    Raises
    ------
    TraceUnavailableError
        No permission, or a kernel without tracing.
    """
    if os.geteuid() != 0:
        raise TraceUnavailableError("commands can be traced by root only")
    with contextlib.ExitStack() as stack:
        try:
            root = stack.enter_context(kernel_filesystem("tracefs"))
        except NotMountedError as error:
            raise TraceUnavailableError(str(error)) from error
        yield root


@contextmanager
def trace_instance(root: Path, purpose: str) -> Iterator[Path]:
    """A trace instance of our own below `root`, removed at the end.

    Raises
    ------
    TraceUnavailableError
        It cannot be made.
    """
    remove_stale_instances(root)
    if not (root / "instances").is_dir():
        raise TraceUnavailableError("this kernel has no private trace instances")
    instance = root / "instances" / f"{_PREFIX}{owner_tag()}-{purpose}"
    with signals_held():
        try:
            instance.mkdir()
        except OSError as error:
            raise TraceUnavailableError(f"no trace instance can be made: {error.strerror}") from error
        try:
            # held open, nobody can remove it: not who lives in a container, where our process cannot be seen, either
            with _held(instance), signals_obeyed():
                yield instance
        finally:
            _is_removed(instance)


@contextmanager
def _held(instance: Path) -> Iterator[None]:
    try:
        descriptor = os.open(instance / "tracing_on", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise TraceUnavailableError(f"a trace instance is gone again: {error.strerror}") from error
    try:
        yield
    finally:
        os.close(descriptor)


def remove_stale_instances(root: Path) -> list[str]:
    """Names of the instances that dead processes of drivelab had left behind, now removed.

    One that somebody holds open stays: its process may live in a container,
    where its number is another one.
    """
    stale = [
        instance
        for instance in (root / "instances").glob(f"{_PREFIX}*")
        if not owner_lives(instance.name.removeprefix(_PREFIX))
    ]
    return [instance.name for instance in stale if _is_removed(instance)]


def _is_removed(instance: Path) -> bool:
    # removing the directory of an instance removes everything in it; its files cannot be removed singly
    try:
        instance.rmdir()
    except OSError:
        return False
    return True


def lost_events_by_cpu(directory: Path) -> dict[int, int]:
    """Events that each CPU's buffer of an instance, or of the shared one, could not keep."""
    lost = {}
    for stats in directory.glob("per_cpu/cpu*/stats"):
        numbers = dict.fromkeys(_LOSSES, 0)
        for line in stats.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() in numbers:
                numbers[name.strip()] = int(value)
        lost[int(stats.parent.name.removeprefix("cpu"))] = sum(numbers.values())
    return lost
