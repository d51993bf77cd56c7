"""The drives of a fleet as lines for a terminal: what is odd first, then a line for each drive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from drivelab.model.fleet_inventory import FleetDrive, OddFact
from drivelab.model.names import counted, names_in_words
from drivelab.model.units import format_bytes
from drivelab.report.terminal.wrapped import WIDTH, fitted, table_lines, wrapped

_ROWS_MAX, _NAMED_MAX = 40, 3
_HEADS = ("drive", "model", "firmware", "serial", "size", "may be erased")


def fleet_drive_lines(
    drives: Sequence[FleetDrive],
    odd: Sequence[OddFact],
    shared: Mapping[str, Sequence[str]],
    reasons: Mapping[str, str],
    *,
    plain: bool,
    width: int = WIDTH,
    shows_all: bool = False,
) -> list[str]:
    """How many there are, what is odd about some, and a table.

    Parameters
    ----------
    drives : sequence of FleetDrive
        In the order of their hosts.
    shared : mapping of str to sequence of str
        Serials that several hosts see.
    reasons : mapping of str to str
        Hosts that could not be asked, with why.
    """
    hosts = len({drive.host for drive in drives})
    models = len({drive.model for drive in drives} - {""})
    of_models = f", of {counted(models, 'model')}" if models else ""
    lines = wrapped(f"{counted(len(drives), 'drive')} in {counted(hosts, 'host')}{of_models}.", WIDTH, plain)
    remarks = list(_remarks(drives, odd, shared, reasons))
    if remarks:
        lines += ["", *(line for text in remarks for line in wrapped(f"- {text}", WIDTH, plain, "  "))]
    if drives:
        shown = drives if shows_all else drives[:_ROWS_MAX]
        rows = [_HEADS, *map(_row, shown)]
        lines += ["", *(fitted(line, width) for line in table_lines(rows, plain, left=len(_HEADS)))]
        if len(shown) < len(drives):
            lines.append(f"and {len(drives) - len(shown)} more: --all")
    return lines


def _row(drive: FleetDrive) -> tuple[str, ...]:
    told = (drive.model, drive.firmware, drive.serial)
    return (drive.place, *(text or "-" for text in told), format_bytes(drive.size_bytes), drive.may_be_erased)


def _remarks(
    drives: Sequence[FleetDrive],
    odd: Sequence[OddFact],
    shared: Mapping[str, Sequence[str]],
    reasons: Mapping[str, str],
) -> Iterator[str]:
    for name, reason in reasons.items():
        yield f"{name} could not be asked: {reason}"
    for drive in drives:
        if drive.health:
            yield f"{drive.place} {', '.join(drive.health)}"
    for serial, names in shared.items():
        yield f"{names_in_words(names)} see one drive, {serial}"
    for one in odd:
        others = "; ".join(f"{value} in {_some(of_it)}" for value, of_it in one.others.items())
        yield f"{one.model}: {one.fact} is {one.usual} in {one.count}, but {others}"


def _some(drives: Sequence[FleetDrive]) -> str:
    more = f" and {len(drives) - _NAMED_MAX} more" if len(drives) > _NAMED_MAX else ""
    return f"{', '.join(drive.place for drive in drives[:_NAMED_MAX])}{more}"
