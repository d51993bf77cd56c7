"""Reads ``lsblk --json``: the only tool that may know contents and serials without root, through udev."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COMMAND = ("lsblk", "--json", "--bytes", "--output-all")


@dataclass(frozen=True, slots=True)
class LsblkDevice:
    """What lsblk says about one block device; empty where it says nothing."""

    serial: str
    wwn: str
    model: str
    vendor: str
    revision: str
    contents: str
    partition_table: str
    label: str
    uuid: str


def parse(text: str) -> dict[str, LsblkDevice]:
    """What lsblk says about each block device, by kernel name; empty when the text is not its JSON."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return {}
    listed = document.get("blockdevices") if isinstance(document, dict) else None
    return {row["kname"]: _device(row) for row in _flatten(listed or []) if row.get("kname")}


def _flatten(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield row
        yield from _flatten(row.get("children") or [])


def _device(row: dict[str, Any]) -> LsblkDevice:
    def text(column: str) -> str:
        return str(row.get(column) or "").strip()

    return LsblkDevice(
        serial=text("serial"),
        wwn=text("wwn"),
        model=text("model"),
        vendor=text("vendor"),
        revision=text("rev"),
        contents=text("fstype"),
        partition_table=text("pttype"),
        label=text("label"),
        uuid=text("uuid"),
    )
