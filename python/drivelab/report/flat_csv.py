"""Writes a report as CSV: one flat file of all numbers, and on demand a file for each table and figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.model.metric import metric_of
from drivelab.model.names import free_name
from drivelab.model.result_set import Observation, ResultSet
from drivelab.report.csv_text import csv_text
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.joint import Joint
from drivelab.report.named_figures import file_name, named_figures
from drivelab.report.report_file import report_file
from drivelab.report.run_tables import result_tables, setting_tables
from drivelab.report.traced_part import traced_tables

FLAT_FILE = "results.csv"
_FIRST = ("run", "is_reference", "drive", "machine", "workload", "title", "operation")
_WORKLOAD = ("block_size_bytes", "queue_depth", "is_durable")
_LAST = ("metric", "unit", "value", "low", "high", "trial_count", "invalid_trials", "printed", "note")


def write_csv_report(joint: Joint, directory_or_file: Path) -> tuple[Path, ...]:
    """The files that were written, the flat one first.

    Parameters
    ----------
    directory_or_file : Path
        A name with an ending takes the flat CSV alone. Any other, and a
        directory that exists, takes it as ``results.csv`` with a file for every
        table (``table-KEY.csv``) and figure (``figure-KEY.csv``) beside it.

    Raises
    ------
    DrivelabError
        O802: a file cannot be written.
    """
    place = directory_or_file
    flat = _flat(joint)
    if place.suffix and not place.is_dir():
        return (_written(place, flat),)
    if place.exists() and not place.is_dir():
        what = f"{place} is a file, and a name without an ending means a directory"
        raise DrivelabError("O802", what, where=str(place), do="name a file that ends in .csv, or a directory")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DrivelabError("O802", error.strerror or str(error), where=str(place)) from error
    files = {FLAT_FILE: flat} | {f"table-{name}.csv": table for name, table in _tables(joint)}
    files |= {f"figure-{one.name}.csv": one.figure.table for one in named_figures(joint)}
    return tuple(_written(place / name, table) for name, table in files.items())


def _flat(joint: Joint) -> DataTable:
    """All numbers in one table; where they are no results of trials, the table that has them."""
    if joint.result_sets or not joint.tables:
        return flat_table(joint.result_sets)
    return next((one for one in joint.tables if one.key == joint.flat_key), joint.tables[0]).plain()


def _written(path: Path, table: DataTable) -> Path:
    with report_file(path) as aside:
        # line ends are those of the text, whatever the system
        aside.write_text(csv_text(table), encoding="utf-8", newline="")
    return path


def _tables(joint: Joint) -> Iterator[tuple[str, DataTable]]:
    """Every table of the report with a name of its own."""
    taken: set[str] = set()
    named = [(table.key, table) for table in joint.tables]
    for content in joint.runs:
        prefix = f"{file_name(content.name)}-" if len(joint.runs) > 1 else ""
        own = (*traced_tables(content), *result_tables(content), *setting_tables(content))
        named += [(f"{prefix}{one.key}", one) for one in own]
    for wanted, table in named:
        name = free_name(file_name(wanted), taken)
        taken.add(name)
        yield name, table.plain()


def flat_table(sets: Sequence[ResultSet]) -> DataTable:
    """One row per run, drive, combination and metric; the level of each factor in a column of its own.

    Returns
    -------
    DataTable
        Values are in the unit that stands in their row: ns, B/s, 1/s, B or 1.
        Commands per operation are metrics too; where counts leave them open they have ends and no value.
    """
    factors = list(dict.fromkeys(name for one in sets for seen in one.all_observations for name in seen.levels))
    fixed = (*_FIRST, *_WORKLOAD, *_LAST)
    heads = [f"factor_{name}" if name in fixed else name for name in factors]
    rows = [row for one in sets for row in _rows(one, factors)]
    return DataTable((*_FIRST, *heads, *_WORKLOAD, *_LAST), rows)


def _rows(results: ResultSet, factors: Sequence[str]) -> Iterator[list[Cell]]:
    told: set[tuple[Cell, ...]] = set()
    for seen in results.all_observations:
        about = _about(results, seen, factors)
        estimate = seen.estimate
        ends = (estimate.value, estimate.low, estimate.high)
        counts = (seen.trial_count, seen.invalid_trials)
        yield [*about, seen.metric, estimate.unit, *ends, *counts, seen.printed, seen.note]
        if tuple(about) in told:
            # the commands of a combination stand beside each of its metrics
            continue
        told.add(tuple(about))
        for metric, (low, high) in seen.commands.items():
            yield [*about, metric, metric_of(metric).unit, low if low == high else None, low, high, *counts, "", ""]


def _about(results: ResultSet, seen: Observation, factors: Sequence[str]) -> list[Cell]:
    """What was measured: everything before the number."""
    return [
        *(results.key, _yes(results.is_reference), seen.drive, seen.machine),
        *(seen.workload, seen.title, seen.operation),
        *(seen.levels.get(name) for name in factors),
        *(seen.block_size_bytes, seen.queue_depth, _yes(seen.is_durable)),
    ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
