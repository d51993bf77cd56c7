"""Where the kernel tells about itself; replaced by small trees of files in tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SystemPaths:
    """Roots of the kernel's file systems and of the system's own files.

    Attributes
    ----------
    sys, proc, dev : Path
        Normally ``/sys``, ``/proc`` and ``/dev``.
    root : Path
        Root of everything else that is read (``/etc/os-release``, ``/run/udev``).
    """

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    dev: Path = Path("/dev")
    root: Path = Path("/")


SYSTEM = SystemPaths()
