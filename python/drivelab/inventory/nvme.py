"""Reads what nvme-cli prints: whether the volatile write cache (feature 6) is on."""

from __future__ import annotations

import re
from pathlib import Path

# the colon and 0x differ between versions of nvme-cli: "Current value:0x00000001", "Current value: 00000001"
_VALUE = re.compile(r"Current value\s*:\s*(?:0x)?([0-9a-fA-F]+)")


def feature_command(controller: Path) -> tuple[str, ...]:
    """The command that asks a controller for its volatile write cache setting."""
    return ("nvme", "get-feature", str(controller), "--feature-id=6")


def parse_write_cache(text: str) -> bool | None:
    """Whether the volatile write cache is on, bit 0 of feature 6; None when the text does not say."""
    match = _VALUE.search(text)
    return bool(int(match[1], 16) & 1) if match else None
