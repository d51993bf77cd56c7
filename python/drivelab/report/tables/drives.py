"""The drives that were measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from drivelab.model.result_set import MeasuredDrive, PageForm, ResultSet
from drivelab.model.units import format_bytes, format_decimal_bytes
from drivelab.report.tables.drive_rows import drive_identity, published_name, serial_end
from drivelab.report.tables.page_form import PageRow, bare_head, page_form, page_table
from drivelab.report.tables.table import Table, TableColumn, text_rows

KEY = "drives"
TITLE = "Drives"
_HEADS = ("drive", "kind", "firmware", "capacity", "controller", "link", "installed on")
_NAME_HEADS = ("drive name", "drive", "ssd", "model", "name")


def drives(sets: Sequence[ResultSet]) -> Table | None:
    """Drives with firmware, capacity, controller, link and machine; None where none is known."""
    if len(sets) == 1 and sets[0].is_reference and (form := _form(sets[0])) is not None:
        return page_table(sets[0], form, TITLE, [_page_row(drive) for drive in sets[0].drives])
    is_mixed = len(sets) > 1
    found: dict[tuple[str, ...], tuple[str, MeasuredDrive, list[str]]] = {}
    for one in sets:
        for drive in one.drives:
            own = [each.machine for each in one.observations if each.drive == drive.name]
            name = published_name(one, drive.name, is_mixed=is_mixed)
            entry = found.setdefault((*drive_identity(one, drive), drive.firmware), (name, drive, []))
            entry[2].extend(own or [drive.machine])
    if not found:
        return None
    counts = Counter(name for name, _, _ in found.values())
    rows = []
    for name, drive, machines in found.values():
        unique = f"{name}{serial_end(drive)}" if counts[name] > 1 else name
        rows.append(_row(unique, drive, ", ".join(dict.fromkeys(each for each in machines if each))))
    kept = [place for place in range(len(_HEADS)) if not place or any(row[place] for row in rows)]
    columns = tuple(TableColumn(_HEADS[place]) for place in kept)
    return Table(KEY, TITLE, columns, text_rows([[row[place] or "–" for place in kept] for row in rows]))


def _form(one: ResultSet) -> PageForm | None:
    told = page_form(one, KEY)
    # a page that prints how they performed prints another table
    heads = tuple(dict.fromkeys(head for drive in one.drives for head in drive.printed))
    is_named = any(bare_head(head) in _NAME_HEADS for head in heads) and "performance" not in heads
    return told or (PageForm(KEY, TITLE, heads) if is_named else None)


def _row(name: str, drive: MeasuredDrive, machines: str) -> tuple[str, ...]:
    return (name, drive.kind, drive.firmware, _capacity(drive), drive.controller, drive.link, machines)


def _capacity(drive: MeasuredDrive) -> str:
    if drive.capacity_bytes is None:
        return ""
    # makers count in powers of 1000, files are made in powers of 1024
    is_file = not drive.capacity_bytes % 2**20 and not drive.model
    return format_bytes(drive.capacity_bytes) if is_file else format_decimal_bytes(drive.capacity_bytes)


def _page_row(drive: MeasuredDrive) -> PageRow:
    texts = {
        "drive name": drive.name,
        "drive": drive.name,
        "ssd": drive.name,
        "firmware": drive.firmware,
        "capacity": _capacity(drive),
        "controller": drive.controller,
        "link": drive.link,
        "installed on": drive.machine,
    }
    return PageRow(drive.name, texts, printed=drive.printed)
