"""How traces were taken: from where and why, what they cost, and whether they are whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from drivelab.model.estimate import Estimate
from drivelab.model.trace import Explanation
from drivelab.report.content import TracedCombination
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import DisplayUnit, column_unit, count_text, estimate_numbers
from drivelab.report.tables.table import Table, TableCell, TableColumn

SOURCES = {
    "tracefs": "tracefs events",
    "relay": "relay",
    "blk_tracer": "the kernel's blk tracer",
    "recording": "a recording",
}
CAPTION = (
    "The untraced median is the number, the traced pass explains it; tracing cost what lies between the two. Any lost "
    "event means that there is no answer. Unmatched bios are those of this program outside its operations, foreign "
    "ones those of other programs, charged to nobody. Duplicate records were counted once. Of partial operations "
    "something is not known to its end. The residual is the largest difference between the latency of an operation "
    "and the sum of its parts."
)
_COUNTERS = {
    "lost_events": "lost events",
    "unmatched_bios": "unmatched bios",
    "foreign_bios": "foreign bios",
    "duplicate_records": "duplicates",
    "open_at_end": "open at the end",
    "partial_operations": "partial operations",
}
_NOTHING = "–"


def trace_conduct_table(traced: Sequence[TracedCombination]) -> Table | None:
    """A row for each combination that was traced; None without one."""
    if not traced:
        return None
    medians = [e.value for one in traced for e in (one.explanation.untraced_ns, one.explanation.traced_ns) if e]
    unit = column_unit(medians, "ns")
    notes: list[str] = []
    rows = []
    for one in traced:
        explanation, marks = one.explanation, tuple(_marked(one.explanation, notes))
        medians_of = (explanation.untraced_ns, explanation.traced_ns)
        conduct = explanation.conduct
        rows.append(
            (
                TableCell(one.label),
                TableCell(SOURCES.get(conduct.source, conduct.source) or _NOTHING, notes=marks),
                TableCell(count_text(explanation.operations)),
                *(TableCell(*_median(estimate, unit)) for estimate in medians_of),
                TableCell(*_cost(explanation.tracing_cost)),
                *(TableCell(count_text(getattr(conduct, name))) for name in _COUNTERS),
                TableCell(count_text(explanation.shared_operations)),
                TableCell(count_text(explanation.residual_ns)),
            )
        )
    return Table(
        key="trace-conduct",
        title="How the traces were taken",
        columns=(
            TableColumn("combination"),
            TableColumn("source"),
            TableColumn("operations", is_number=True),
            TableColumn("untraced median", unit.name, is_number=True),
            TableColumn("traced median", unit.name, is_number=True),
            TableColumn("cost of tracing", "%", is_number=True),
            *(TableColumn(name, is_number=True) for name in _COUNTERS.values()),
            TableColumn("shared operations", is_number=True),
            TableColumn("residual", "ns", is_number=True),
        ),
        rows=tuple(rows),
        caption=CAPTION,
        notes=tuple(notes),
        data=_data(traced),
    )


def _median(estimate: Estimate | None, unit: DisplayUnit) -> tuple[str, str]:
    return (_NOTHING, "") if estimate is None else estimate_numbers(estimate, unit)


def _cost(ratio: Estimate | None) -> tuple[str, str]:
    """How much slower the traced pass was, in percent, and its interval."""
    if ratio is None or ratio.value is None:
        return _NOTHING, ""
    ends = "" if ratio.low is None or ratio.high is None else f"{_percent(ratio.low)} to {_percent(ratio.high)}"
    return _percent(ratio.value), ends


def _percent(ratio: float) -> str:
    text = f"{100 * (ratio - 1):+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def _marked(explanation: Explanation, notes: list[str]) -> Iterator[int]:
    """Numbers of the notes about a trace; notes that are new are added."""
    for note in _notes(explanation):
        if note not in notes:
            notes.append(note)
        yield notes.index(note) + 1


def _notes(explanation: Explanation) -> Iterator[str]:
    conduct = explanation.conduct
    if conduct.reason:
        yield f"{SOURCES.get(conduct.source, conduct.source)}: {conduct.reason}"
    if explanation.refusal:
        yield f"no answer: {explanation.refusal}"
    yield from (f"left out: {text}" for text in explanation.left_out)
    environment = ", ".join(f"{name} {_value(value)}" for name, value in conduct.environment.items())
    if environment:
        yield f"{conduct.device}: {environment}" if conduct.device else environment


def _value(value: Any) -> str:
    """A fact of the environment: what it was before and after, where it changed."""
    if isinstance(value, Mapping):
        before, after = value.get("before"), value.get("after")
        return f"{before}" if before == after or "after" not in value else f"{before} -> {after}"
    return f"{value}"


def _data(traced: Sequence[TracedCombination]) -> DataTable:
    columns = ("trial", "label", "operation", "operation_count", "source", "reason", "clock", "device")
    medians_and_cost = ("untraced_median_ns", "traced_median_ns", "tracing_cost_ratio")
    more = (*medians_and_cost, "shared_operations", "residual_ns", "refusal")
    rows: list[list[Cell]] = []
    for one in traced:
        explanation, conduct = one.explanation, one.explanation.conduct
        medians = [e.value if e else None for e in (explanation.untraced_ns, explanation.traced_ns)]
        cost = explanation.tracing_cost.value if explanation.tracing_cost else None
        rows.append(
            [
                *(explanation.trial, one.label, explanation.operation, explanation.operations),
                *(conduct.source, conduct.reason, conduct.clock, conduct.device),
                *(getattr(conduct, name) for name in _COUNTERS),
                *(*medians, cost, explanation.shared_operations, explanation.residual_ns, explanation.refusal),
            ]
        )
    return DataTable((*columns, *_COUNTERS, *more), rows)
