"""The kernel's own file systems: tracefs, debugfs and securityfs, also where nobody has mounted them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from drivelab.inventory.sysfs import chosen, read_text

KernelFilesystem = Literal["tracefs", "debugfs", "securityfs"]

# where each usually is, and a file or directory that shows that it is there
_USUAL_PLACES: dict[KernelFilesystem, tuple[tuple[str, str], ...]] = {
    "tracefs": (("/sys/kernel/tracing", "current_tracer"), ("/sys/kernel/debug/tracing", "current_tracer")),
    "debugfs": (("/sys/kernel/debug", "block"),),
    "securityfs": (("/sys/kernel/security", "lockdown"),),
}
# the same on every architecture (Linux 5.2)
_SYS_FSOPEN, _SYS_FSCONFIG, _SYS_FSMOUNT = 430, 431, 432
_FSOPEN_CLOEXEC = _FSMOUNT_CLOEXEC = 1
_FSCONFIG_CMD_CREATE = 6
_libc = ctypes.CDLL(None, use_errno=True)


class NotMountedError(Exception):
    """A file system of the kernel cannot be reached; the text says why."""


@contextmanager
def kernel_filesystem(kind: KernelFilesystem) -> Iterator[Path]:
    """The directory of a file system of the kernel.

    Where it is not mounted, a mount is made that has no place in the directory
    tree: nobody else can see it, and it ends with the descriptor that holds it,
    also when this process is killed.

    Raises
    ------
    NotMountedError
        It is not mounted, and this process may not mount it, or the kernel has none.
    """
    for place, proof in _USUAL_PLACES[kind]:
        if os.path.exists(os.path.join(place, proof)):
            yield Path(place)
            return
    descriptor = _mount_nowhere(kind)
    try:
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def lockdown_state() -> str:
    """How far the kernel is locked down: none, integrity or confidentiality; empty where it does not say."""
    try:
        with kernel_filesystem("securityfs") as root:
            return chosen(read_text(root / "lockdown")) or ""
    except NotMountedError:
        return ""


def _mount_nowhere(kind: KernelFilesystem) -> int:
    """Descriptor of a mount that is not attached to any directory."""
    context = _libc.syscall(_SYS_FSOPEN, kind.encode(), _FSOPEN_CLOEXEC)
    if context < 0:
        raise _not_mounted(kind)
    try:
        created = _libc.syscall(_SYS_FSCONFIG, context, _FSCONFIG_CMD_CREATE, None, None, 0)
        mount = _libc.syscall(_SYS_FSMOUNT, context, _FSMOUNT_CLOEXEC, 0) if created == 0 else -1
        if mount < 0:
            raise _not_mounted(kind)
    finally:
        os.close(context)
    return int(mount)


def _not_mounted(kind: KernelFilesystem) -> NotMountedError:
    return NotMountedError(f"{kind} is not mounted, and cannot be: {os.strerror(ctypes.get_errno())}")
