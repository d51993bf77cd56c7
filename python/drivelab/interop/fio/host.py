"""The environment of this process: what job files may refer to here."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from drivelab.interop.fio.translated import Environment

_SECTOR_BYTES = 512


def environment_of_host() -> Environment:
    """Variables of this process, this computer's processors and memory, and the sizes of what exists."""
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    return Environment(
        variables=dict(os.environ),
        cpu_count=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * page_bytes,
        page_bytes=page_bytes,
        size_of=size_of,
        zone_size_of=zone_size_of,
    )


def size_of(path: str) -> int | None:
    """Bytes of a file or block device; None if it is neither, or can't be looked at."""
    try:
        if os.path.isfile(path):
            return os.path.getsize(path)
        if os.path.isdir(path) or not os.path.exists(path):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.lseek(descriptor, 0, os.SEEK_END) or None
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return None


def zone_size_of(path: str) -> int | None:
    """Bytes of a zone of a zoned drive; None if it is none, or can't be looked at."""
    try:
        found = os.stat(path)
        if not stat.S_ISBLK(found.st_mode):
            return None
        device = Path(f"/sys/dev/block/{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}").resolve()
        queue = next(each / "queue" for each in (device, device.parent) if (each / "queue").is_dir())
        if (queue / "zoned").read_text().strip() == "none":
            return None
        return int((queue / "chunk_sectors").read_text()) * _SECTOR_BYTES or None
    except (OSError, ValueError, StopIteration):
        return None
