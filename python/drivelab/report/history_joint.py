"""The history of a drive as a report, so that it is written as any other."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from drivelab.model.estimate import Estimate
from drivelab.model.history import NUMBERS, History, HistoryRow
from drivelab.report.figures.over_dates import over_dates
from drivelab.report.joint import Joint
from drivelab.report.numerals import rate_text, value_writer
from drivelab.report.tables.table import Table, TableCell, TableColumn

# what each number is called, and what it is
HEADS = {
    "durable_write_p50": "median",
    "durable_write_p99": "p99",
    "sequential_write": "seq write",
    "random_read": "rand read",
    "flushes": "flushes",
}
_CAPTION = (
    "Median and p99 of 4 KiB appends, each durable before the next; sequential writes of 1 MiB, 8 outstanding; random "
    "reads of 4 KiB, 32 outstanding; flushes of the drive for each append. These are numbers of drivelab check: runs "
    "of experiments have none."
)
_OUTCOMES = {"pass": "yes", "fail": "no", "no_limit": "measured", "undecided": "?"}
_UNKNOWN, _NOTHING = "–", "?"
_ENDS: Mapping[str, Callable[[Sequence[tuple[float, str]]], tuple[float, str]]] = {"lowest": min, "highest": max}


def joint_of_history(history: History) -> Joint:
    """The report: what first and last run say, the figure over dates, and all runs."""
    figure = over_dates(history.rows)
    return Joint(
        title=f"{history.target} over time",
        question=f"What did {history.target} give over time?",
        sentences=tuple(sentences(history)),
        tables=(ends_table(history.rows), history_table(history.rows)),
        figures=(figure,) if figure else (),
    )


def sentences(history: History) -> list[str]:
    """How many runs there are, the p99 of the first and of the last that have one, and what compares these."""
    rows = history.rows
    told = [f"{_counted(len(rows), 'run')}, from {when(rows[0])} to {when(rows[-1])} UTC."]
    # a bound is of the worst ones, and counts
    known = [row for row in rows if cell_text("durable_write_p99", row.numbers) not in (_UNKNOWN, _NOTHING)]
    if len(known) > 1:
        first, last = (cell_text("durable_write_p99", row.numbers) for row in (known[0], known[-1]))
        told.append(f"The p99 of durable 4 KiB writes was {first} in the first of them, {last} in the last.")
        names = " ".join(shlex.quote(row.run) for row in (known[0], known[-1]))
        told.append(f"How these two differ: drivelab compare {names}.")
    if changes := sum(bool(row.changes) for row in rows):
        told.append(f"Since the run before, something else had changed in {_counted(changes, 'run')}: see the marks.")
    if history.others:
        told.append(f"{_counted(history.others, 'run')} of the same path left out: another drive was beneath.")
    return told


def ends_table(rows: Sequence[HistoryRow]) -> Table:
    """The numbers of the first run that has any and of the last one, and of each number the lowest and the highest."""
    known = [row for row in rows if row.numbers]
    found: dict[str, list[tuple[float, str]]] = {name: [] for name in HEADS}
    for row in known:
        for name, one in row.numbers.items():
            least = one.low if one.value is None else one.value
            found[name] += [] if least is None else [(least, cell_text(name, row.numbers))]
    return Table(
        key="history-ends",
        title="First and last, lowest and highest",
        columns=(TableColumn("of all checks"), *_number_columns()),
        rows=(
            *(
                (TableCell(word), *(TableCell(cell_text(name, row.numbers)) for name in HEADS))
                for word, row in zip(("first", "last"), (*known[:1], *known[-1:]), strict=False)
            ),
            *(
                (TableCell(word), *(TableCell(end(values)[1] if values else _UNKNOWN) for values in found.values()))
                for word, end in _ENDS.items()
            ),
        ),
        caption=_CAPTION,
    )


def _number_columns() -> tuple[TableColumn, ...]:
    return tuple(TableColumn(head, is_number=True) for head in HEADS.values())


def history_table(rows: Sequence[HistoryRow]) -> Table:
    """One row for each run, the oldest first, with what changed before it."""
    heads = (TableColumn("when (UTC)"), TableColumn("fit?"))
    return Table(
        key="history",
        title="All runs",
        columns=(*heads, *_number_columns(), TableColumn("changed since the run before"), TableColumn("run")),
        rows=tuple(
            (
                TableCell(when(row)),
                TableCell(outcome(row)),
                *(TableCell(cell_text(name, row.numbers), _interval(name, row.numbers)) for name in HEADS),
                TableCell("; ".join(row.changes)),
                TableCell(row.run),
            )
            for row in rows
        ),
    )


def outcome(row: HistoryRow) -> str:
    """Whether a check found the drive fit, and for what; what was run where that was no check."""
    if row.experiment != "check":
        return row.experiment
    if row.need and row.outcome == "no_limit":
        return f"{row.need} {_UNKNOWN}"
    return " ".join(filter(None, (row.need, _OUTCOMES.get(row.outcome, row.outcome))))


def when(row: HistoryRow) -> str:
    """When a run began: ``2026-11-22 09:24``."""
    return row.started_utc[:16].replace("T", " ") or _UNKNOWN


def cell_text(name: str, numbers: Mapping[str, Estimate]) -> str:
    """One number of a run, or a bound where the data carry no more."""
    one = numbers.get(name)
    if one is None:
        return _UNKNOWN
    if one.value is not None:
        return _written(name, one.value)
    return f"≥ {_written(name, one.low)}" if one.low is not None else _NOTHING


def _interval(name: str, numbers: Mapping[str, Estimate]) -> str:
    one = numbers.get(name)
    if one is None or one.low is None or one.high is None:
        return ""
    return f"{_written(name, one.low)} to {_written(name, one.high)}"


def _written(name: str, value: float) -> str:
    return rate_text(value) if name == "flushes" else value_writer(NUMBERS[name][1])(value)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"
