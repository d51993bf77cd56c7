"""The phases of a run one below the other: rate, share of a processor and latencies, as file-system benchmarks tell."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.model.units import format_rate_bytes_per_s
from drivelab.report.combination_labels import NOT_APPLICABLE, level_words
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import latency_text, number_text, percent_text, typeset
from drivelab.report.tables.table import Table, TableCell, TableColumn

KEY = "phases"
CAPTION = (
    "Medians over the repeats; in brackets from the lowest to the highest of them. Rate and throughput are over the "
    "time until the last operation, a sync call at the end included. Processor: time of the threads that issue, over "
    "the time that passed; several threads can have more than 100\u00a0%. Median and p99 are those of the single "
    "calls, without the sync at the end; of what is read and written back, those of the reads. Longest is the slowest "
    "single operation of all repeats."
)
_NOTHING = "–"
# name of the column, metric, whether the highest of the repeats is told and not their median
_COLUMNS: tuple[tuple[str, str, bool], ...] = (
    ("rate", "iops", False),
    ("throughput", "throughput_bytes_per_s", False),
    ("processor", "cpu_share", False),
    ("median latency", "total_latency_ns_p50", False),
    ("p99", "total_latency_ns_p99", False),
    ("longest", "total_latency_ns_max", True),
    ("whole time", "duration_ns", False),
)


def phases_tables(answer: RunAnswer, run_name: str = "") -> tuple[Table, ...]:
    """A table for each target of a run.

    Parameters
    ----------
    answer : RunAnswer
        What the run came to.
    run_name : str
        Told in the title where the report is about several runs.
    """
    targets: dict[str, list[CombinationResult]] = {}
    for one in answer.combinations:
        targets.setdefault(one.target, []).append(one)
    return tuple(_table(target, members, run_name) for target, members in targets.items())


def _table(target: str, members: Sequence[CombinationResult], run_name: str) -> Table:
    names = _varying(members)
    kept = [column for column in _COLUMNS if any(_is_told(one, column[1]) for one in members)]
    heads = [TableColumn("phase"), *(TableColumn(name) for name in names)]
    heads += [TableColumn(name, is_number=True) for name, _, _ in kept]
    rows = []
    for one in members:
        texts = [typeset(one.label) + _invalid(one), *(_level(one, name) for name in names)]
        rows.append((*map(TableCell, texts), *(_cell(one, metric, is_most) for _, metric, is_most in kept)))
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
    found = _metric(one, metric)
    return found is not None and found.median > 0


def _metric(one: CombinationResult, metric: str) -> RepeatedMetric | None:
    """A number of a phase; of reads that are written back that of the reads."""
    return one.metrics.get(metric)


def _invalid(one: CombinationResult) -> str:
    return f" ({one.invalid_trials} of {one.trial_count} trials invalid)" if one.invalid_trials else ""


def _cell(one: CombinationResult, metric: str, is_most: bool) -> TableCell:
    found = _metric(one, metric)
    if found is None or found.median <= 0:
        return TableCell(_NOTHING)
    if is_most:
        return TableCell(_text(found.highest, metric))
    low, high = _text(found.lowest, metric), _text(found.highest, metric)
    return TableCell(_text(found.median, metric), "" if low == high else f"{low} – {high}")


def _text(value: float, metric: str) -> str:
    """A number with a unit of its own: what stands below each other here has many sizes."""
    if metric == "iops":
        return f"{number_text(value)}\u00a0/s"
    if metric == "throughput_bytes_per_s":
        return typeset(format_rate_bytes_per_s(value))
    return percent_text(value) if metric == "cpu_share" else latency_text(value)


def _data(target: str, members: Sequence[CombinationResult], names: Sequence[str]) -> DataTable:
    rows: list[list[Cell]] = []
    for one in members:
        row: list[Cell] = [target, one.workload, *(one.levels.get(name) for name in names), one.trial_count]
        row.append(one.invalid_trials)
        for _, metric, _ in _COLUMNS:
            row += _ends(_metric(one, metric))
        rows.append(row)
    columns = ["target", "workload", *names, "trial_count", "invalid_trials"]
    columns += [f"{metric}{end}" for _, metric, _ in _COLUMNS for end in ("_median", "_lowest", "_highest")]
    return DataTable(tuple(columns), rows)


def _ends(found: RepeatedMetric | None) -> list[Cell]:
    return [None] * 3 if found is None else [float(f"{x:.6g}") for x in (found.median, found.lowest, found.highest)]
