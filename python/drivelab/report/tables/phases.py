"""The phases of a run one below the other: rate, share of a processor and latencies, as file-system benchmarks tell."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.judged_metric import DURATION, LATENCY, P99, RATE, THROUGHPUT
from drivelab.model.metric import metric_of
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.model.units import format_rate_bytes_per_s
from drivelab.report.combination_labels import NOT_APPLICABLE, invalid_words, level_words
from drivelab.report.combinations_table import repeated_cells
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import latency_text, number_text, percent_text, typeset
from drivelab.report.tables.table import Table, TableCell, TableColumn

KEY = "phases"
CAPTION = (
    "Medians over the repeats; in brackets from the lowest to the highest of them. I/Os per second and throughput are "
    "over the time until the last operation, a sync call at the end included. Share of a processor: time of the "
    "threads that issue, over the time that passed; several threads can have more than 100\u00a0%. Median and p99 are "
    "those of the single calls, without the sync at the end; of what is read and written back, those of the reads. "
    "Longest is the slowest single operation of all repeats."
)
_NOTHING = "–"
_LONGEST = "total_latency_ns_max"
_COLUMNS = (RATE, THROUGHPUT, "cpu_share", LATENCY, P99, _LONGEST, DURATION)


def phases_tables(answer: RunAnswer, run_name: str = "") -> tuple[Table, ...]:
    """A table for each target of a run.

    Parameters
    ----------
    run_name : str
        Told in the title where the report is about several runs.
    """
    targets: dict[str, list[CombinationResult]] = {}
    for one in answer.combinations:
        targets.setdefault(one.target, []).append(one)
    return tuple(_table(target, members, run_name) for target, members in targets.items())


def _table(target: str, members: Sequence[CombinationResult], run_name: str) -> Table:
    names = _varying(members)
    kept = [metric for metric in _COLUMNS if any(_is_told(one, metric) for one in members)]
    heads = [TableColumn("phase"), *(TableColumn(name) for name in names)]
    heads += [TableColumn(metric_of(metric).words, is_number=True) for metric in kept]
    rows = []
    for one in members:
        texts = [typeset(one.label) + invalid_words([one]), *(_level(one, name) for name in names)]
        rows.append((*map(TableCell, texts), *(_cell(one, metric) for metric in kept)))
    where = f" in {run_name}" if run_name else ""
    title = f"Phases on {target}{where}: rates, processor and latencies"
    return Table(KEY, title, tuple(heads), tuple(rows), CAPTION, data=_data(target, members, names))


def _varying(members: Sequence[CombinationResult]) -> list[str]:
    """Factors with several levels; one that only some phases have counts when those differ in it."""
    levels: dict[str, set[str]] = {}
    for one in members:
        for name, level in one.levels.items():
            levels.setdefault(name, set()).add(level)
    return [name for name, found in levels.items() if len(found) > 1]


def _level(one: CombinationResult, name: str) -> str:
    return level_words(one, name) if name in one.levels else NOT_APPLICABLE


def _is_told(one: CombinationResult, metric: str) -> bool:
    found = one.metrics.get(metric)
    return found is not None and found.median > 0


def _cell(one: CombinationResult, metric: str) -> TableCell:
    found = one.metrics.get(metric)
    if found is None or found.median <= 0:
        return TableCell(_NOTHING)
    if metric == _LONGEST:
        return TableCell(_text(found.highest, metric))
    low, high = _text(found.lowest, metric), _text(found.highest, metric)
    return TableCell(_text(found.median, metric), "" if low == high else f"{low} – {high}")


def _text(value: float, metric: str) -> str:
    """A number with a unit of its own: what stands below each other here has many sizes."""
    of = metric_of(metric)
    if of.unit == "1/s":
        return f"{number_text(value)}\u00a0/s"
    if of.unit == "B/s":
        return typeset(format_rate_bytes_per_s(value))
    return percent_text(value) if of.is_share else latency_text(value)


def _data(target: str, members: Sequence[CombinationResult], names: Sequence[str]) -> DataTable:
    rows: list[list[Cell]] = []
    for one in members:
        row: list[Cell] = [target, one.workload, *(one.levels.get(name) for name in names), one.trial_count]
        row.append(one.invalid_trials)
        for metric in _COLUMNS:
            row += repeated_cells(one.metrics.get(metric))
        rows.append(row)
    columns = ["target", "workload", *names, "trial_count", "invalid_trials"]
    columns += [f"{metric}{end}" for metric in _COLUMNS for end in ("_median", "_lowest", "_highest")]
    return DataTable(tuple(columns), rows)
