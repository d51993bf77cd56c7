"""Reads what nvme-cli prints: features, what a controller can do, how far a sanitize has come."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

WRITE_CACHE, APST = 6, 0x0C
# the colon and 0x differ between versions of nvme-cli: "Current value:0x00000001", "Current value: 00000001"
_VALUE = re.compile(r"Current value\s*:\s*(?:0x)?([0-9a-fA-F]+)")

_PROGRESS = re.compile(r"\(SPROG\)\s*:\s*(\d+)")
_STATUS = re.compile(r"\(SSTAT\)\s*:\s*(?:0x)?([0-9a-fA-F]+)")
# SPROG counts in these parts of the whole
_PROGRESS_WHOLE = 65536


@dataclass(frozen=True, slots=True)
class ControllerAbilities:
    """What a controller can do to all that it holds; NVMe Base Specification, Identify Controller.

    Attributes
    ----------
    can_format : bool
        Whether it has the Format NVM command (OACS bit 1).
    formats_all : bool
        Whether a format, or an erase with it, reaches every namespace (FNA bits 0 and 1).
    can_erase_blocks, can_erase_keys, can_overwrite : bool
        Kinds of sanitize that it has (SANICAP bits 1, 0 and 2).
    """

    can_format: bool
    formats_all: bool
    can_erase_blocks: bool
    can_erase_keys: bool
    can_overwrite: bool


@dataclass(frozen=True, slots=True)
class SanitizeStatus:
    """How far a sanitize has come; NVMe Base Specification, Sanitize Status log page.

    Attributes
    ----------
    fraction : float
        Part that is done, 0 to 1.
    is_running, has_failed : bool
        State of the last one that was started.
    """

    fraction: float
    is_running: bool
    has_failed: bool


def feature_command(controller: Path, feature: int = WRITE_CACHE) -> tuple[str, ...]:
    """The command that asks a controller for one of its features."""
    return ("nvme", "get-feature", str(controller), f"--feature-id={feature}")


def write_cache_command(controller: Path, *, on: bool) -> tuple[str, ...]:
    """The command that switches the volatile write cache until the next power cycle: it is not saved."""
    return ("nvme", "set-feature", str(controller), f"--feature-id={WRITE_CACHE}", f"--value={int(on)}")


def parse_write_cache(text: str) -> bool | None:
    """Whether the volatile write cache is on, bit 0 of feature 6; None when the text does not say."""
    return _is_enabled(text)


def parse_apst(text: str) -> bool | None:
    """Whether autonomous power state transitions are on, bit 0 of feature 0x0c; None when the text does not say."""
    return _is_enabled(text)


def _is_enabled(text: str) -> bool | None:
    match = _VALUE.search(text)
    return bool(int(match[1], 16) & 1) if match else None


def abilities_command(controller: Path) -> tuple[str, ...]:
    """The command that asks a controller what it can do."""
    return ("nvme", "id-ctrl", str(controller), "--output-format=json")


def parse_abilities(text: str) -> ControllerAbilities | None:
    """What a controller can do; None when the text does not say."""
    try:
        known = json.loads(text)
        commands, formats, sanitizes = (int(known[field]) for field in ("oacs", "fna", "sanicap"))
    except (ValueError, KeyError, TypeError):
        return None
    return ControllerAbilities(
        can_format=bool(commands & 2),
        formats_all=bool(formats & 3),
        can_erase_blocks=bool(sanitizes & 2),
        can_erase_keys=bool(sanitizes & 1),
        can_overwrite=bool(sanitizes & 4),
    )


def sanitize_status_command(controller: Path) -> tuple[str, ...]:
    """The command that asks how far a sanitize has come."""
    return ("nvme", "sanitize-log", str(controller))


def parse_sanitize_status(text: str) -> SanitizeStatus | None:
    """How far a sanitize has come; None when the text does not say."""
    progress, status = _PROGRESS.search(text), _STATUS.search(text)
    if progress is None or status is None:
        return None
    state = int(status[1], 16) & 7
    is_running = state == 2
    return SanitizeStatus(int(progress[1]) / _PROGRESS_WHOLE if is_running else 1.0, is_running, state == 3)
