"""Reads ``wipefs --no-act --json``: every signature that libblkid recognises on a device."""

from __future__ import annotations

import json
from pathlib import Path


def command(node: Path) -> tuple[str, ...]:
    """The command that lists the signatures of one device and changes nothing."""
    return ("wipefs", "--no-act", "--json", str(node))


def parse(text: str) -> tuple[str, ...]:
    """Types of the signatures, each once, in their order on the device; empty when there is none."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return ()
    return tuple(dict.fromkeys(str(row["type"]) for row in document.get("signatures", []) if row.get("type")))
