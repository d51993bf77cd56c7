"""What is mounted where, whatever other tests mount meanwhile: names of any byte, and of characters that end a line."""

from __future__ import annotations

import os
from pathlib import Path


def device_on(directory: Path) -> Path:
    """The device that is mounted on a directory.

    Raises
    ------
    KeyError
        Nothing is.
    """
    return Path(_devices()[str(directory)])


def is_anything_mounted_below(directory: Path) -> bool:
    """Whether a directory, or something in it, is a mount point."""
    return any(Path(place).is_relative_to(directory) for place in _devices())


def _devices() -> dict[str, str]:
    """The device of each mount point, of which the last one mounted counts."""
    lines = os.fsdecode(Path("/proc/self/mounts").read_bytes()).split("\n")
    return {words[1]: words[0] for words in (line.split(" ") for line in lines) if len(words) > 1}
