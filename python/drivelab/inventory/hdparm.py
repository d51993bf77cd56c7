"""Reads what hdparm tells of an ATA drive: write cache, power management, and whether a password protects it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_VALUE = re.compile(r"write-caching\s*=\s*([01])\b")
_SECURITY = re.compile(r"^Security:.*\n((?:[ \t].*\n?)*)", re.MULTILINE)
_STATE = re.compile(r"^\s+(?:(not)\s+)?(supported|enabled|locked|frozen)\s*$", re.MULTILINE)
_ERASE_MINUTES = re.compile(r"(\d+)\s*min for SECURITY ERASE UNIT")
_APM = re.compile(r"APM_level\s*=\s*(\d+|off)\b")


@dataclass(frozen=True, slots=True)
class AtaSecurity:
    """The password protection of an ATA drive, on which its secure erase rests.

    Attributes
    ----------
    is_supported : bool
        Whether the drive has it.
    is_enabled, is_locked : bool
        Whether a password is set, and whether the drive answers only to whoever gives it.
    is_frozen : bool
        Whether the firmware of the computer has forbidden all changes until the drive loses power.
    erase_minutes : int
        How long a secure erase takes, as the drive estimates; 0 when it does not say.
    """

    is_supported: bool
    is_enabled: bool
    is_locked: bool
    is_frozen: bool
    erase_minutes: int


def command(node: Path) -> tuple[str, ...]:
    """The command that asks one drive."""
    return ("hdparm", "-W", str(node))


def write_cache_command(node: Path, *, on: bool) -> tuple[str, ...]:
    """The command that switches the write cache; before switching it off it flushes it."""
    return ("hdparm", f"-W{int(on)}", str(node))


def apm_command(node: Path, level: str = "") -> tuple[str, ...]:
    """The command that asks for the level of advanced power management, or sets it; 255 turns it off."""
    return ("hdparm", f"-B{level}", str(node))


def parse_write_cache(text: str) -> bool | None:
    """Whether the write cache is on; None when the drive does not support the question."""
    match = _VALUE.search(text)
    return match[1] == "1" if match else None


def parse_apm(text: str) -> str | None:
    """Level of advanced power management, 1 to 254 or ``off``; None when the drive has none."""
    match = _APM.search(text)
    return match[1] if match else None


def identify_command(node: Path) -> tuple[str, ...]:
    """The command that asks a drive for all it says of itself."""
    return ("hdparm", "-I", str(node))


def parse_security(text: str) -> AtaSecurity | None:
    """The password protection of a drive; None when the text says nothing of it."""
    section = _SECURITY.search(text)
    if section is None:
        return None
    states = {match[2]: match[1] is None for match in _STATE.finditer(section[1])}
    minutes = _ERASE_MINUTES.search(section[1])
    return AtaSecurity(
        is_supported=states.get("supported", False),
        is_enabled=states.get("enabled", False),
        is_locked=states.get("locked", False),
        is_frozen=states.get("frozen", False),
        erase_minutes=int(minutes[1]) if minutes else 0,
    )
