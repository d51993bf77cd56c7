"""Reads ``smartctl --json``: identity, write cache and interface speed as the drive itself tells them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class SmartctlFacts:
    """What smartctl found out about a drive; None where it found nothing.

    ``reason`` says why it found nothing at all, in its own words.
    """

    model: str | None = None
    serial: str | None = None
    firmware: str | None = None
    wwn: str | None = None
    write_cache_enabled: bool | None = None
    link_rate_bits_per_s: int | None = None
    link_rate_bits_per_s_max: int | None = None
    reason: str = ""


def command(node: Path) -> tuple[str, ...]:
    """The command that asks one drive; it spins up no sleeping disk."""
    return ("smartctl", "--json", "--info", "--get=wcache", str(node))


def parse(text: str) -> SmartctlFacts:
    """Facts from the JSON of one drive."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return SmartctlFacts(reason="smartctl printed no JSON (before version 7.0 it cannot)")
    speed = document.get("interface_speed", {})
    facts = SmartctlFacts(
        model=document.get("model_name") or document.get("scsi_model_name"),
        serial=document.get("serial_number"),
        firmware=document.get("firmware_version") or document.get("scsi_revision"),
        wwn=_wwn(document.get("wwn")),
        write_cache_enabled=document.get("write_cache", {}).get("enabled"),
        link_rate_bits_per_s=_rate(speed.get("current")),
        link_rate_bits_per_s_max=_rate(speed.get("max")),
    )
    return facts if facts.serial or facts.model else SmartctlFacts(reason=_complaint(document))


def _rate(speed: dict[str, Any] | None) -> int | None:
    if not speed:
        return None
    return int(speed.get("units_per_second", 0)) * int(speed.get("bits_per_unit", 0)) or None


def _wwn(parts: dict[str, int] | None) -> str | None:
    return f"0x{parts['naa']:x}{parts['oui']:06x}{parts['id']:09x}" if parts else None


def _complaint(document: dict[str, Any]) -> str:
    messages = document.get("smartctl", {}).get("messages", [])
    text = messages[0].get("string", "") if messages else "no answer from the drive"
    return f"smartctl: {text}"
