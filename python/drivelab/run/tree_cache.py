"""Takes the names, inodes and contents of a tree out of memory, or brings them there.

A file that was made a moment ago is looked up in memory, and then neither a
stat nor a read of it says anything about the drive.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from drivelab.model.workload import Workload
from drivelab.run.page_cache import Residency, drop_from_page_cache, in_all, read_into_page_cache

_DROP_CACHES = "/proc/sys/vm/drop_caches"
# page cache, and names with their inodes
_ALL_OF_THEM = "3\n"
# include/uapi/linux/fs.h; another number on alpha, mips, powerpc and sparc
_FIFREEZE, _FITHAW = 0xC0045877, 0xC0045878
# an inode gives up its pages first and can be given up itself only after them
_ROUNDS = 2


def drop_cached(workload: Workload) -> dict[str, Any]:
    """What is left of a workload's target in memory after it was dropped, for the context of a measurement.

    Returns
    -------
    dict
        ``dropped_page_cache``: a `Residency`. Of a tree nobody can say what is
        left; there ``method`` is ``drop_caches``, or empty beside a ``reason``,
        and the reads that the kernel counts at the drive tell.
    """
    if workload.tree is None:
        left = [drop_from_page_cache(opened) for opened in workload.target.all_opened_by]
        return {"dropped_page_cache": asdict(in_all(left))}
    return {"dropped_page_cache": asdict(_drop_names_and_inodes())}


def _drop_names_and_inodes() -> Residency:
    """How all names, inodes and pages that nobody uses were dropped from memory: there is no call for some of them."""
    # what is not written yet stays
    os.sync()
    try:
        for _ in range(_ROUNDS):
            with open(_DROP_CACHES, "w") as control:
                control.write(_ALL_OF_THEM)
    except OSError as error:
        return Residency("", f"names and inodes stay in memory: {_DROP_CACHES}: {error.strerror}")
    return Residency("drop_caches", "")


def write_out_log(mount_point: str) -> None:
    """Have a file system write everything to its place that is only in its log: until then its inodes stay in memory.

    It is frozen for a moment, so it must be one that nobody else uses. One that
    cannot be frozen is left as it is: what the drive reads will tell.

    Parameters
    ----------
    mount_point : str
        Of a file system that drivelab has mounted.
    """
    descriptor = os.open(mount_point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.ioctl(descriptor, _FIFREEZE, 0)
            fcntl.ioctl(descriptor, _FITHAW, 0)
    finally:
        os.close(descriptor)


def warm_cached(workload: Workload) -> dict[str, Any]:
    """What of a workload's target is in memory after it was read, for the context of a measurement."""
    asked = workload.target
    if workload.tree is None:
        found = in_all(
            [read_into_page_cache(opened, asked.offset_bytes, asked.size_bytes) for opened in asked.all_opened_by]
        )
        return {"warmed_page_cache": asdict(found)}
    reads = any(share.operation == "read_file" for share in workload.operations)
    names = sum(1 for path in _files_below(asked.opened_by) if not reads or read_into_page_cache(path).reason == "")
    return {"warmed_page_cache": asdict(Residency("looked up", "")) | {"names": names}}


def _files_below(directory: str) -> Iterator[str]:
    """Every file, after its attributes were read."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files_below(entry.path)
                continue
            entry.stat(follow_symlinks=False)
            yield entry.path
