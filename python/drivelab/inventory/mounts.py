"""What is mounted and what is swapped to, as the kernel lists it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.sysfs import read_names, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths

_OCTAL = re.compile(r"\\([0-7]{3})")
_BLANK = re.compile(r"[ \t]")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo."""

    mount_id: int
    device_number: str
    mount_point: str
    filesystem: str
    source: str
    options: tuple[str, ...]


def parse_mountinfo(text: str) -> list[Mount]:
    """The mounts that a mountinfo file lists, in its order (a later one hides an earlier one)."""
    mounts = []
    # the kernel escapes blanks and newlines of names, and nothing else at which `splitlines` would part them
    for line in text.split("\n"):
        before, separator, after = line.partition(" - ")
        fields, described = before.split(" "), after.split(" ")
        if not separator or len(fields) < 6 or len(described) < 3:
            continue
        options = dict.fromkeys(fields[5].split(",") + described[2].split(","))
        # the file system's own rw says nothing when this mount of it is read-only
        if "ro" in fields[5].split(","):
            options.pop("rw", None)
        mounts.append(
            Mount(
                mount_id=int(fields[0]),
                device_number=fields[2],
                mount_point=unescape(fields[4]),
                filesystem=described[0],
                source=unescape(described[1]),
                options=tuple(options),
            )
        )
    return mounts


def parse_swaps(text: str) -> list[str]:
    """Devices and files that are swapped to, from ``/proc/swaps``."""
    return [unescape(_BLANK.split(line, maxsplit=1)[0]) for line in text.split("\n")[1:] if line]


def read_mounts(paths: SystemPaths = SYSTEM) -> list[Mount]:
    """The mounts that this process sees."""
    return parse_mountinfo(read_names(paths.proc / "self" / "mountinfo") or "")


def read_foreign_mounts(paths: SystemPaths = SYSTEM) -> list[Mount]:
    """The mounts that the first process sees; empty when we may not look or it is this namespace.

    A container does not see what its host has mounted, and the host's drives are
    visible in it all the same.
    """
    text = read_names(paths.proc / "1" / "mountinfo")
    return [] if text is None or text == read_names(paths.proc / "self" / "mountinfo") else parse_mountinfo(text)


def read_swaps(paths: SystemPaths = SYSTEM) -> list[str]:
    """Devices and files that are swapped to."""
    return parse_swaps(read_names(paths.proc / "swaps") or "")


def mount_of_path(path: Path, paths: SystemPaths = SYSTEM) -> Mount | None:
    """The mount that a path lies on.

    Notes
    -----
    The kernel names the mount of an open file; only where it does not (a path
    that may not be opened), the longest mount point that the path begins with counts.
    """
    mounts = read_mounts(paths)
    mount_id = _mount_id(path, paths)
    by_id = [mount for mount in mounts if mount.mount_id == mount_id]
    return by_id[-1] if by_id else mount_of_name(path, mounts)


def _mount_id(path: Path, paths: SystemPaths) -> int | None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = read_text(paths.proc / "self" / "fdinfo" / str(descriptor)) or ""
    finally:
        os.close(descriptor)
    values = [line.split()[1] for line in text.splitlines() if line.startswith("mnt_id:")]
    return int(values[0]) if values else None


def mount_of_name(path: Path, mounts: list[Mount]) -> Mount | None:
    """The mount whose place is the longest that a path begins with; nothing is looked at."""
    parents = {str(parent) for parent in _with_parents(path)}
    found = [mount for mount in mounts if mount.mount_point in parents]
    # max keeps the first of equals, and the last mount of a place is the visible one
    return max(reversed(found), key=lambda mount: len(mount.mount_point), default=None)


def _with_parents(path: Path) -> Iterator[Path]:
    yield path
    yield from path.parents


def unescape(text: str) -> str:
    """A name as it is, of which the kernel has written blanks and backslashes as octal numbers."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
