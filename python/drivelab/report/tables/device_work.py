"""What an operation made the drive do: commands and bytes beside what such an operation should cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drivelab.model.trace import DEVICE_WORK, Explanation
from drivelab.report.content import TracedCombination
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import count_text, rate_text
from drivelab.report.tables.number import ratio_text
from drivelab.report.tables.table import Table, TableCell, TableColumn

WORK_NAMES: Mapping[str, str] = {
    "device_writes": "writes",
    "journal_writes": "writes by the journal",
    "device_reads": "reads",
    "flushes": "flushes",
    "fua_writes": "bios with FUA",
    "preflush_writes": "bios with a flush before",
    "bytes_written": "bytes written",
    "bytes_read": "bytes read",
    "journal_bytes": "bytes of the journal",
    "bios": "bios",
}
VERDICTS = {
    "ok": "as expected",
    "too_few_flushes": "too few flushes: not durable",
    "too_many": "more than expected",
    "unknown": "nothing to compare with",
}
CAPTION = (
    "Means over the traced operations, with the work of the file system's own threads. Writes, reads and flushes are "
    "commands that the device was given; FUA, the flush before a write and the journal are counted as they were "
    "handed to the block layer, because a drive without FUA is sent a write and a flush instead. Amplification is "
    "bytes written to the device per byte that the program wrote."
)
_BYTES = ("bytes_written", "bytes_read", "journal_bytes")
_OF_WRITES = ("device_writes", "journal_writes", "flushes", "fua_writes", "bytes_written")
_NOTHING = "–"


def device_work_table(traced: Sequence[TracedCombination]) -> Table | None:
    """A row for each combination that has an explanation; None without one."""
    found = [one for one in traced if one.is_answered]
    if not found:
        return None
    has_writes = any(one.explanation.work.get("device_writes") for one in found)
    # that a write costs no flush is an answer; that a read writes nothing is none
    always = set(_OF_WRITES) if has_writes else set()
    if any(one.explanation.conduct.layers for one in found):
        # a layer may not say what it made of them
        always.discard("journal_writes")
    names = [name for name in WORK_NAMES if name in always or any(one.explanation.work.get(name) for one in found)]
    notes: list[str] = []
    rows = tuple(_row(one, names, notes) for one in found)
    return Table(
        key="device-work",
        title="What the drive was told for each operation",
        columns=(
            TableColumn("combination"),
            *(TableColumn(WORK_NAMES[name], "B" if name in _BYTES else "", is_number=True) for name in names),
            TableColumn("amplification", is_number=True),
            TableColumn("self-check"),
        ),
        rows=rows,
        caption=CAPTION,
        notes=tuple(notes),
        data=_data(found),
    )


def _row(one: TracedCombination, names: Sequence[str], notes: list[str]) -> tuple[TableCell, ...]:
    explanation = one.explanation
    check = explanation.check
    if check.text and check.text not in notes:
        notes.append(check.text)
    marks = (notes.index(check.text) + 1,) if check.text else ()
    ratio = explanation.amplification
    return (
        TableCell(one.label),
        *(TableCell(_work_text(name, explanation)) for name in names),
        TableCell(_NOTHING if ratio is None else ratio_text(ratio)),
        TableCell(VERDICTS[check.verdict], notes=marks),
    )


def _work_text(name: str, explanation: Explanation) -> str:
    value = explanation.work.get(name)
    if value is None:
        return _NOTHING
    return count_text(value) if name in _BYTES or not value else rate_text(value)


def _data(traced: Sequence[TracedCombination]) -> DataTable:
    columns = ("trial", "label", "operation", "operation_count", *(f"{name}_per_operation" for name in DEVICE_WORK))
    rows: list[list[Cell]] = [
        [
            *(one.explanation.trial, one.label, one.explanation.operation, one.explanation.operations),
            *(one.explanation.work.get(name) for name in DEVICE_WORK),
            *(one.explanation.amplification, one.explanation.check.verdict, one.explanation.check.text),
        ]
        for one in traced
    ]
    return DataTable((*columns, "amplification_ratio", "check_verdict", "check_text"), rows)
