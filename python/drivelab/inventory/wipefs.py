"""Reads ``wipefs --no-act --json``: every signature that libblkid recognises on a device."""

from __future__ import annotations

import json
from pathlib import Path


def command(node: Path) -> tuple[str, ...]:
    """The command that lists the signatures of one device and changes nothing."""
    return ("wipefs", "--no-act", "--json", str(node))


def parse(text: str) -> tuple[str, ...]:
    """Types of the signatures, each once, in their order on the device; empty when there is none."""
    return tuple(dict.fromkeys(kind for kind, _ in identified(text)))


def identified(text: str) -> tuple[tuple[str, str], ...]:
    """Type and UUID of each signature, in their order on the device; the UUID is empty where a format has none."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return ()
    rows = document.get("signatures", [])
    return tuple((str(row["type"]), str(row.get("uuid") or "")) for row in rows if row.get("type"))
