"""The disks that were tried, how many, and what a small durable write costs on each host, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from drivelab.model.result_set import SIMULATED, MeasuredDrive, Observation, PageForm, ResultSet
from drivelab.model.setting import AS_FOUND
from drivelab.report.numerals import column_unit
from drivelab.report.tables.drive_rows import DriveRow, drive_identity, drive_rows, published_name
from drivelab.report.tables.number import number_of, observation_notes
from drivelab.report.tables.number_table import NoteList
from drivelab.report.tables.page_form import PageRow, page_form, page_table
from drivelab.report.tables.small_writes import FILESYSTEM, WRITE_CACHE, SmallWrite, small_writes
from drivelab.report.tables.table import Table, TableCell, TableColumn

KEY = "disks"
TITLE = "Disks and their performance"
_HEADS = ("model", "quantity", "power-loss protection", "performance")
_CAPACITOR_HEADS = ("capacitor", "power-loss protection", "power loss protection", "plp")
_QUANTITY_HEADS = ("qty", "quantity")
# the sizes of a check; of more than that there are other tables
_SENTENCES_MAX = 4
_CAPTION = (
    "What a small durable write takes from its call on, as each host had it in its first setting: with the write "
    "cache on where that was measured, on the first file system of the experiment."
)


@dataclass(slots=True)
class _Disk:
    """A model: its drives, and what each host says of it."""

    identities: set[tuple[str, ...]] = field(default_factory=set)
    drives: list[MeasuredDrive] = field(default_factory=list)
    sentences: dict[str, dict[str, None]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def disks(sets: Sequence[ResultSet]) -> Table | None:
    """A row per model; None where nothing tells what a small durable write costs.

    In a report of one published page it is made only where the page has it.
    """
    if len(sets) == 1 and sets[0].is_reference:
        form = _form(sets[0])
        if form is None:
            return None
        return page_table(sets[0], form, TITLE, [_page_row(drive) for drive in sets[0].drives if drive.printed])
    found: dict[str, _Disk] = {}
    writes = small_writes(sets)
    for row in drive_rows(sets):
        one = row.sets[0]
        is_named = one.is_reference or row.drive.kind == SIMULATED or not row.drive.model
        name = row.drive.name if is_named else row.drive.model
        disk = found.setdefault(published_name(one, name, is_mixed=len(sets) > 1), _Disk())
        disk.identities.add(drive_identity(one, row.drive))
        disk.drives.append(row.drive)
        for write in writes:
            _tell(disk, row, write, is_alone=len(writes) == 1)
    if not any(disk.sentences for disk in found.values()):
        return None
    notes = NoteList()
    rows = [_row(name, disk, notes) for name, disk in found.items() if disk.sentences]
    kept = [place for place in range(len(_HEADS)) if any(row[place].text for row in rows)]
    columns = tuple(TableColumn(_HEADS[place]) for place in kept)
    return Table(KEY, TITLE, columns, tuple(tuple(row[p] for p in kept) for row in rows), _CAPTION, tuple(notes.texts))


def _form(one: ResultSet) -> PageForm | None:
    heads = tuple(dict.fromkeys(head for drive in one.drives for head in drive.printed))
    return page_form(one, KEY) or (PageForm(KEY, TITLE, heads) if "performance" in heads else None)


def _tell(disk: _Disk, row: DriveRow, write: SmallWrite, *, is_alone: bool) -> None:
    """Adds what a drive did on its host."""
    found = list(write.of(row).values())
    first = next((one for one in found if one.levels.get(WRITE_CACHE) in ("on", None)), found[0] if found else None)
    if first is None:
        return
    settings = [] if is_alone else [write.title]
    settings += [first.levels.get(FILESYSTEM, "")]
    cache = first.levels.get(WRITE_CACHE, AS_FOUND)
    settings += [f"write cache {cache}"] if cache != AS_FOUND else []
    inside = ", ".join(each for each in settings if each)
    told = f"{_known(first)} per write on {row.machine or 'an unknown host'}"
    disk.sentences.setdefault(inside, {})[told] = None
    disk.notes += [*observation_notes(first), *write.row_notes(row)]


def _known(one: Observation) -> str:
    """The latency in a unit of its own, with the digits that are known: ``~200 µs``, ``less than 1 ms``."""
    number = number_of([one])
    if number is None or number.shown is None:
        return "an unknown time"
    unit = column_unit([number.shown], "ns")
    return f"{number.text(unit)}\u00a0{unit.name}"


def _row(name: str, disk: _Disk, notes: NoteList) -> tuple[TableCell, ...]:
    return (
        TableCell(name),
        TableCell(_printed(disk.drives, _QUANTITY_HEADS) or str(len(disk.identities))),
        TableCell(_printed(disk.drives, _CAPACITOR_HEADS)),
        TableCell(_sentence(disk.sentences), notes=notes.numbers(disk.notes)),
    )


def _sentence(told: Mapping[str, Mapping[str, None]]) -> str:
    """What was measured in each setting, which is named behind it."""
    sentences = [f"{', '.join(each)} ({inside})" if inside else ", ".join(each) for inside, each in told.items()]
    more = len(sentences) - _SENTENCES_MAX
    return "; ".join(sentences[:_SENTENCES_MAX] + ([f"and {more} more workloads and settings"] if more > 0 else []))


def _printed(drives: Sequence[MeasuredDrive], heads: Sequence[str]) -> str:
    told = (text for drive in drives for head, text in drive.printed.items() if head.lower() in heads and text)
    return next(told, "")


def _page_row(drive: MeasuredDrive) -> PageRow:
    return PageRow(drive.name, {"model": drive.name}, printed=drive.printed)
