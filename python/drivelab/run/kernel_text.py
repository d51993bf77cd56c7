"""Small files of the kernel's, of which hundreds are read before and after each trial: each with one call of it."""

from __future__ import annotations

import os

# more than the kernel says of a process or a device in one line or a few
_BYTES_MAX = 4096


def kernel_text(path: str) -> str:
    """What it says now; empty where whatever it is about has ended, or is not ours to look at."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, _BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
