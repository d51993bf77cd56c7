"""Reads ``sdparm --get=WCE``: the write cache of a SCSI, SAS or USB drive."""

from __future__ import annotations

import re
from pathlib import Path

_VALUE = re.compile(r"^WCE\s+([01])\b", re.MULTILINE)


def command(node: Path) -> tuple[str, ...]:
    """The command that asks one drive."""
    return ("sdparm", "--get=WCE", str(node))


def parse_write_cache(text: str) -> bool | None:
    """Whether the write cache is on (bit WCE of the caching mode page); None when there is no such page."""
    match = _VALUE.search(text)
    return match[1] == "1" if match else None
