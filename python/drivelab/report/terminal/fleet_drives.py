"""The drives of a fleet as lines for a terminal: what is odd first, then a line for each drive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from drivelab.model.fleet_inventory import FleetDrive, OddFact
from drivelab.model.names import counted, in_number, names_in_words
from drivelab.model.units import format_bytes
from drivelab.report.terminal.wrapped import WIDTH, fitted, table_lines, wrapped

_ROWS_MAX, _NAMED_MAX = 40, 3
_HEADS = ("drive", "model", "firmware", "serial", "size", "may be erased")


def fleet_drive_lines(
    drives: Sequence[FleetDrive],
    odd: Sequence[OddFact],
    shared: Mapping[str, Sequence[FleetDrive]],
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
    shared : mapping of str to sequence of FleetDrive
        What several hosts see, by its identity, as each of them calls it.
    reasons : mapping of str to str
        Hosts that could not be asked, with why.
    """
    hosts = len({drive.host for drive in drives})
    models = len({drive.model for drive in drives} - {""})
    of_models = f", of {counted(models, 'model')}" if models else ""
    meant = _different([drive for drive in drives if drive.is_meant])
    are_meant = f"; {meant} of them {in_number(meant, 'are')} meant" if meant else ""
    where = f"{', seen from' if shared else ' in'} {counted(hosts, 'host')}"
    told = f"{counted(_different(drives), 'drive')}{where}{of_models}{are_meant}."
    lines = wrapped(told, WIDTH, plain)
    remarks = list(_remarks(drives, odd, shared, reasons))
    if remarks:
        lines += ["", *(line for text in remarks for line in wrapped(f"- {text}", WIDTH, plain, "  "))]
    if drives:
        ordered = sorted(drives, key=lambda one: not one.is_meant)
        shown = ordered if shows_all else ordered[:_ROWS_MAX]
        rows = [_HEADS, *map(_row, shown)]
        if meant:
            marks = ("meant", *("yes" if one.is_meant else "-" for one in shown))
            rows = [(place, mark, *rest) for (place, *rest), mark in zip(rows, marks, strict=True)]
        lines += ["", *(fitted(line, width) for line in table_lines(rows, plain, left=len(rows[0])))]
        if len(shown) < len(drives):
            lines.append(f"and {len(drives) - len(shown)} more: --all")
    return lines


def _different(drives: Sequence[FleetDrive]) -> int:
    """How many drives these are: what several hosts see is one."""
    return len({drive.identity or drive.place for drive in drives})


def _row(drive: FleetDrive) -> tuple[str, ...]:
    told = (drive.model, drive.firmware, drive.serial)
    return (drive.place, *(text or "-" for text in told), format_bytes(drive.size_bytes), drive.may_be_erased)


def _remarks(
    drives: Sequence[FleetDrive],
    odd: Sequence[OddFact],
    shared: Mapping[str, Sequence[FleetDrive]],
    reasons: Mapping[str, str],
) -> Iterator[str]:
    for name, reason in reasons.items():
        yield f"{name} could not be asked: {reason}"
    for drive in drives:
        if drive.health:
            yield f"{drive.place} {', '.join(drive.health)}"
    by_hosts: dict[tuple[str, ...], list[str]] = {}
    for identity, seen in shared.items():
        # without serial and WWN its names there
        name = "/".join({one.name: None for one in seen}) if "device" in seen[0].known_as else identity
        by_hosts.setdefault(tuple(one.host for one in seen), []).append(name)
    for hosts, names in by_hosts.items():
        what = "one drive, " if len(names) == 1 else f"the same {len(names)} drives: "
        yield f"{names_in_words(hosts)} see {what}{_first_of(names)}"
    for one in odd:
        others = "; ".join(f"{value} in {_some(of_it)}" for value, of_it in one.others.items())
        yield f"{one.model}: {one.fact} is {one.usual} in {one.count}, but {others}"


def _some(drives: Sequence[FleetDrive]) -> str:
    return _first_of([drive.place for drive in drives])


def _first_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"{', '.join(names[:_NAMED_MAX])}{more}"
