"""Finds the kernel's trace files, and gives each trace an instance of its own.

An instance has its own buffer, filters and switches, so nothing that anybody
else traces is touched. It goes away when the trace ends; one that a killed
process left behind is found by its name and removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drivelab.run.process_owner import owner_lives, owner_tag

_USUAL_PLACES = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_PREFIX = "drivelab-"
# the same on every architecture (Linux 5.2)
_SYS_FSOPEN, _SYS_FSCONFIG, _SYS_FSMOUNT = 430, 431, 432
_FSOPEN_CLOEXEC = _FSMOUNT_CLOEXEC = 1
_FSCONFIG_CMD_CREATE = 6
_libc = ctypes.CDLL(None, use_errno=True)


class TraceUnavailableError(Exception):
    """Commands cannot be traced here; the text says why."""


@contextmanager
def tracefs() -> Iterator[Path]:
    """The directory of the kernel's trace files.

    Where tracefs is not mounted, a mount is made that has no place in the
    directory tree: nobody else can see it, and it ends with the descriptor
    that holds it, also when this process is killed.

    Raises
    ------
    TraceUnavailableError
        No permission, or a kernel without tracing.
    """
    if os.geteuid() != 0:
        raise TraceUnavailableError("commands can be traced by root only")
    for place in _USUAL_PLACES:
        if (Path(place) / "instances").is_dir():
            yield Path(place)
            return
    descriptor = _mount_nowhere()
    try:
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _mount_nowhere() -> int:
    """Descriptor of a tracefs mount that is not attached to any directory."""
    context = _libc.syscall(_SYS_FSOPEN, b"tracefs", _FSOPEN_CLOEXEC)
    if context < 0:
        raise TraceUnavailableError(f"tracefs is not mounted, and cannot be: {os.strerror(ctypes.get_errno())}")
    try:
        created = _libc.syscall(_SYS_FSCONFIG, context, _FSCONFIG_CMD_CREATE, None, None, 0)
        mount = _libc.syscall(_SYS_FSMOUNT, context, _FSMOUNT_CLOEXEC, 0) if created == 0 else -1
        if mount < 0:
            raise TraceUnavailableError(f"tracefs is not mounted, and cannot be: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(context)
    return int(mount)


@contextmanager
def trace_instance(root: Path, purpose: str) -> Iterator[Path]:
    """A trace instance of our own below `root`, removed at the end.

    Raises
    ------
    TraceUnavailableError
        It cannot be made.
    """
    remove_stale_instances(root)
    instance = root / "instances" / f"{_PREFIX}{owner_tag()}-{purpose}"
    try:
        instance.mkdir()
    except OSError as error:
        raise TraceUnavailableError(f"no trace instance can be made: {error.strerror}") from error
    try:
        yield instance
    finally:
        _remove(instance)


def remove_stale_instances(root: Path) -> list[str]:
    """Names of the instances that dead processes of drivelab had left behind, now removed."""
    removed = []
    for instance in (root / "instances").glob(f"{_PREFIX}*"):
        if not owner_lives(instance.name.removeprefix(_PREFIX)):
            _remove(instance)
            removed.append(instance.name)
    return removed


def _remove(instance: Path) -> None:
    with contextlib.suppress(OSError):
        (instance / "tracing_on").write_text("0")
        (instance / "events" / "enable").write_text("0")
    # removing the directory of an instance removes everything in it; its files cannot be removed singly
    with contextlib.suppress(OSError):
        instance.rmdir()
