"""Reads ``hdparm -W``: the write cache of an ATA drive."""

from __future__ import annotations

import re
from pathlib import Path

_VALUE = re.compile(r"write-caching\s*=\s*([01])\b")


def command(node: Path) -> tuple[str, ...]:
    """The command that asks one drive."""
    return ("hdparm", "-W", str(node))


def parse_write_cache(text: str) -> bool | None:
    """Whether the write cache is on; None when the drive does not support the question."""
    match = _VALUE.search(text)
    return match[1] == "1" if match else None
