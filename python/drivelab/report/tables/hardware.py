"""The machines that drives were measured on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from drivelab.model.result_set import Machine, PageForm, ResultSet
from drivelab.report.tables.drive_rows import published_name
from drivelab.report.tables.page_form import PageRow, page_form, page_table
from drivelab.report.tables.table import Table, TableColumn, text_rows

KEY = "hardware"
TITLE = "Machines"
_HEADS = ("machine", "kind", "model", "distribution, kernel", "processor", "links")


def hardware(sets: Sequence[ResultSet]) -> Table | None:
    """Machines with kind, model, distribution, kernel and the speed of their links; None where none is known."""
    if len(sets) == 1 and sets[0].is_reference and (form := _form(sets[0])) is not None:
        table = page_table(sets[0], form, TITLE, [_page_row(machine) for machine in sets[0].machines])
        # a page tells machines that are alike in one row
        return replace(table, rows=tuple(dict.fromkeys(table.rows)))
    is_mixed = len(sets) > 1
    links: dict[tuple[str, ...], dict[str, str]] = {}
    for one in sets:
        for machine in one.machines:
            row = _row(published_name(one, machine.name, is_mixed=is_mixed), machine)
            links.setdefault(row, {}).update(machine.links)
    rows = [(*row, _links_text(found)) for row, found in links.items()]
    if not rows:
        return None
    kept = [place for place in range(len(_HEADS)) if not place or any(row[place] for row in rows)]
    columns = tuple(TableColumn(_HEADS[place]) for place in kept)
    return Table(KEY, TITLE, columns, text_rows([[row[place] or "–" for place in kept] for row in rows]))


def _form(one: ResultSet) -> PageForm | None:
    heads = tuple(dict.fromkeys(head for machine in one.machines for head in machine.printed))
    return page_form(one, KEY) or (PageForm(KEY, TITLE, heads) if heads else None)


def _row(name: str, machine: Machine) -> tuple[str, ...]:
    system = ", ".join(part for part in (machine.distribution, machine.kernel) if part)
    return (name, machine.kind, machine.model, system, machine.cpu)


def _links_text(links: Mapping[str, str]) -> str:
    # "SATA mSATA 6gbps" would name the kind twice
    return ", ".join(speed if kind in speed else f"{kind} {speed}".strip() for kind, speed in links.items())


def _page_row(machine: Machine) -> PageRow:
    kernel = f"Kernel {machine.kernel}" if machine.kernel else ""
    texts = {
        "machine": machine.name,
        "name": machine.name,
        "type": machine.kind,
        "model": machine.model,
        "distro": machine.distribution,
        "kernel": machine.kernel,
        "linux distro/version": ", ".join(part for part in (machine.distribution, kernel) if part),
    } | {kind.lower(): speed for kind, speed in machine.links.items()}
    return PageRow(machine.name, texts, printed=machine.printed)
