"""Reads ``sdparm --get=WCE``: the write cache of a SCSI, SAS or USB drive."""

from __future__ import annotations

import re
from pathlib import Path

_VALUE = re.compile(r"^WCE\s+([01])\b", re.MULTILINE)
_CHANGEABLE = re.compile(r"^WCE\s.*\bcha:\s*([yn])\b", re.MULTILINE)


def command(node: Path) -> tuple[str, ...]:
    """The command that asks one drive."""
    return ("sdparm", "--get=WCE", str(node))


def write_cache_command(node: Path, *, on: bool) -> tuple[str, ...]:
    """The command that switches the write cache until the next power cycle: it is not saved."""
    return ("sdparm", "--quiet", "--set=WCE" if on else "--clear=WCE", str(node))


def parse_write_cache(text: str) -> bool | None:
    """Whether the write cache is on (bit WCE of the caching mode page); None when there is no such page."""
    match = _VALUE.search(text)
    return match[1] == "1" if match else None


def parse_changeable(text: str) -> bool | None:
    """Whether the drive lets its write cache be switched; None when it does not say."""
    match = _CHANGEABLE.search(text)
    return match[1] == "y" if match else None
