"""Collects SMART facts from several sources: the first that tells a fact is kept, so the best is read first."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from drivelab.model.smart import SmartFacts

# smartctl shows some raw values with parts of them in brackets: "12 (0 3)", "31 (Min/Max 22/40)"
_LEADING_NUMBER = re.compile(r"\s*(\d+)\s*(?:\(.*\))?\s*")
BILLION = 10**9


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object that a tool printed; empty when it printed none."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}


def section(document: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The object at a path of names; empty when there is none."""
    found: Any = document
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, dict) else {}


def rows(document: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list; empty when there is none."""
    found = document.get(name)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def whole_number(value: object) -> int | None:
    """A number as tools write it: 12, 12.0, "12", "1,234", {"hi": 0, "lo": 12}; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        digits = value.replace(",", "").strip()
        return int(digits) if digits.isdecimal() else None
    if isinstance(value, dict) and {"hi", "lo"} <= set(value):
        high, low = whole_number(value["hi"]), whole_number(value["lo"])
        return None if high is None or low is None else (high << 64) + low
    return None


def leading_number(text: object) -> int | None:
    """The number before what smartctl adds in brackets; None when the text is something else."""
    match = _LEADING_NUMBER.fullmatch(text) if isinstance(text, str) else None
    return int(match[1]) if match else None


class Gathered:
    """SMART facts while they are collected.

    Parameters
    ----------
    protocol : str
        ``nvme``, ``ata`` or ``scsi``.
    """

    def __init__(self, protocol: str) -> None:
        self._found: dict[str, Any] = {"protocol": protocol}
        self._attributes: dict[str, int] = {}
        self._resolutions: dict[str, int] = {}
        self._sources: dict[str, str] = {}
        self._unknown: dict[str, str] = {}

    def put(self, name: str, value: int | bool | None, source: str) -> None:
        """Keep a fact, unless it is None or already known."""
        if value is not None and name not in self._found:
            self._found[name] = value
            self._sources[name] = source

    def put_bytes(self, name: str, count: int | None, step_bytes: int, source: str) -> None:
        """Keep a counter of bytes that counts in steps of `step_bytes`."""
        if count is not None and name not in self._found:
            self.put(name, count * step_bytes, source)
            self._resolutions[name] = step_bytes

    def explain(self, name: str, reason: str) -> None:
        """Say why a fact is missing; the last reason counts."""
        if reason:
            self._unknown[name] = reason

    def add_attribute(self, name: str, value: int | None, distinct: str = "") -> None:
        """Keep a counter as the drive names it; a second one of the same name gets `distinct` added."""
        if value is not None:
            self._attributes[f"{name}_{distinct}" if name in self._attributes else name] = value

    def value(self, name: str) -> int | None:
        """A fact that was kept; None when it was not."""
        found = self._found.get(name)
        return found if isinstance(found, int) else None

    def facts(self, drive: str) -> SmartFacts:
        """All of it, as the facts of the drive of this kernel name."""
        return SmartFacts(
            **self._found,
            drive=drive,
            endurance_source=self._sources.get("endurance_bytes", ""),
            attributes=self._attributes,
            resolution_bytes=self._resolutions,
            sources=self._sources,
            unknown={name: reason for name, reason in self._unknown.items() if name not in self._found},
        )
