"""What ``drivelab run`` shows in the end: a table with the repeats of every combination of factors together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drivelab.analyse.judged_metric import THROUGHPUT
from drivelab.cli.effects_table import print_effects
from drivelab.cli.run_answer import EFFECTS_TABLE, SHOWN_METRICS, answer_of_run
from drivelab.model.finding import Finding
from drivelab.model.run_answer import REACHED_WHOLE, CombinationResult, RepeatedMetric, RunAnswer
from drivelab.model.units import format_quantity
from drivelab.report.combination_labels import combination_labels
from drivelab.report.fitting_table import FittingTable
from drivelab.store.read import StoredRun
from drivelab.store.selection import trial_columns

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SCHEMA = 1
ROWS_MAX = 60
FAILURES_MAX = 10
_OVER_TIME = "throughput-over-time"
_NOTHING = "-"
_LABEL_WIDTH_MAX = 36
_NAME_WIDTH_MAX = 40
# smaller I/Os are not issued for the bytes that they move
_THROUGHPUT_FROM_BYTES = 1 << 16
Format = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of numbers: its head, the metric, whether it is the range over repeats, and how to write it."""

    head: str
    metric: str
    is_range: bool = False
    write: Format | None = None


def results_json(run: StoredRun, report: Path, answer: RunAnswer) -> Iterator[str]:
    """Everything about a run as one JSON document, in pieces: a run can have ten thousand trials.

    Parameters
    ----------
    run : StoredRun
        The run.
    report : Path
        Where its report lies.
    answer : RunAnswer
        What its trials come to together.
    """
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "run": str(run.directory),
        "report": str(report),
        "status": run.run_json["status"],
        "seed": run.run_json["plan"]["seed"],
        **answer.to_json(),
        "findings": [finding.to_json() for finding in run.findings],
        "failures": run.run_json["failures"],
    }
    yield json.dumps(document, indent=2).removesuffix("\n}")
    yield ',\n  "trials": ['
    wanted = ("target", "label", "operation", "is_reference", "estimates_json")
    rows = trial_columns(run, lambda field: field.name in wanted)
    for number, batch in enumerate(rows.to_batches(max_chunksize=1)):
        (row,) = batch.to_pylist()
        estimates = row.pop("estimates_json")
        facts = {name: row[name] for name in ("trial", *wanted[:-1])}
        # the estimates are JSON already
        yield f'{"," if number else ""}\n    {json.dumps(facts)[:-1]}, "estimates": {estimates}}}'
    yield "\n  ]\n}\n"


def print_results(run: StoredRun, answer: RunAnswer | None = None) -> None:
    """Print the tables of a run, its findings, and where it lies.

    Parameters
    ----------
    run : StoredRun
        The run.
    answer : RunAnswer, optional
        What it came to, where that is known already.
    """
    # imported here: JSON needs no terminal library
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    found = answer or answer_of_run(run, SHOWN_METRICS)
    experiment = run.run_json["experiment"]
    is_one_at_a_time = experiment.get("design") == "one-at-a-time"
    over_time = _OVER_TIME in experiment.get("figures", ())
    tables = experiment.get("tables") or ("results",)
    for table in dict.fromkeys((*tables, "results")):
        if table == EFFECTS_TABLE:
            print_effects(found, console)
        elif table == "results":
            _print_combinations(found, console, is_one_at_a_time=is_one_at_a_time, over_time=over_time)
    _print_drifts(found, console)
    _print_findings(run, console)
    _print_failures(run.run_json["failures"], console)
    console.print(Text(f"run:    {run.directory}"), soft_wrap=True)


def _print_combinations(answer: RunAnswer, console: Console, *, is_one_at_a_time: bool, over_time: bool) -> None:
    groups: dict[tuple[str, str], list[CombinationResult]] = {}
    for one in answer.combinations:
        groups.setdefault((one.target, one.workload), []).append(one)
    for rows in groups.values():
        _print_table(rows, console, is_one_at_a_time=is_one_at_a_time, over_time=over_time)


def _print_drifts(answer: RunAnswer, console: Console) -> None:
    from rich.text import Text

    for drift in answer.drifts:
        where = f" on {drift.target}" if len(answer.drifts) > 1 else ""
        console.print(Text(f"{drift.text}{where}", style="yellow" if drift.is_large else "dim"))
    if answer.drifts:
        console.print()


def _print_table(
    rows: Sequence[CombinationResult], console: Console, *, is_one_at_a_time: bool, over_time: bool
) -> None:
    from rich.text import Text

    repeats = max(one.trial_count for one in rows)
    over = f"median of {repeats} repeats" if repeats > 1 else "one repeat"
    labels = combination_labels(rows, is_one_at_a_time=is_one_at_a_time, is_narrow=True)
    console.print(Text(f"{rows[0].label} on {rows[0].target}: {over}", style="bold"))
    if labels.constant:
        console.print(Text(labels.constant, style="dim"))
    shown = rows[:ROWS_MAX]
    columns = [
        (column, cells)
        for column in _columns(rows, repeats, over_time=over_time)
        # too few I/Os for a quantile, or commands that were not counted
        if set(cells := [_cell(one.metrics.get(column.metric), column) for one in shown]) != {_NOTHING}
    ]

    invalid = sum(one.invalid_trials for one in rows)
    if invalid:
        cells = [f"{one.invalid_trials} of {one.trial_count}" if one.invalid_trials else _NOTHING for one in shown]
        columns.insert(1, (_Column("invalid\ntrials", ""), cells))

    def make(some: Sequence[tuple[_Column, list[str]]]) -> Table:
        return _table(labels.names, labels.rows[: len(shown)], some)

    console.print(FittingTable(columns, make))
    if invalid:
        note = f"{invalid} of {sum(one.trial_count for one in rows)} trials do not describe the drive; see below why"
        console.print(Text(note, style="red"))
    if len(shown) < len(rows):
        note = f"the first {len(shown)} of {len(rows)} combinations; the report and --json have more"
        console.print(Text(note, style="dim"))
    console.print()


def _columns(rows: Sequence[CombinationResult], repeats: int, *, over_time: bool) -> list[_Column]:
    """The columns of a workload's table: the number that it is judged by first."""
    judged = rows[0].judged_metric
    by_throughput = judged == THROUGHPUT
    head = "throughput" if by_throughput else "p50"
    latencies = [_Column("p99", judged.replace("p50", "p99"))]
    if by_throughput:
        latencies = [_Column("p50", "total_latency_ns_p50"), _Column("p99", "total_latency_ns_p99")]
    columns = [_Column(head, judged)]
    if repeats > 1:
        columns.append(_Column(f"range of\n{head}", judged, is_range=True))
    if by_throughput and over_time:
        columns += [
            _Column("first\ntenth", "throughput_first_tenth_bytes_per_s"),
            _Column("last\ntenth", "throughput_last_tenth_bytes_per_s"),
            _Column("last over\nfirst", "throughput_last_over_first_ratio", write=_percent),
        ]
    if any(_is_partly_memory(one) for one in rows):
        columns.append(_Column("reached\nthe drive", "reached_device_share", write=_percent))
    columns += latencies
    if not by_throughput and max(one.block_size_bytes or 0 for one in rows) >= _THROUGHPUT_FROM_BYTES:
        columns.append(_Column("throughput", THROUGHPUT))
    if not any(one.is_durable for one in rows):
        return columns
    return [
        *columns,
        _Column("writes\nper op", "device_writes_per_operation"),
        _Column("flushes\nper op", "device_flushes_per_operation"),
    ]


def _is_partly_memory(one: CombinationResult) -> bool:
    reached = one.metrics.get("reached_device_share")
    return reached is not None and reached.median < REACHED_WHOLE


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[tuple[_Column, list[str]]]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0), show_edge=False)
    for place, name in enumerate(names):
        width = max(len(name), *(len(row[place]) for row in rows))
        # a short label is not broken; a long one is, between its words
        table.add_column(name, min_width=min(width, _LABEL_WIDTH_MAX), max_width=_LABEL_WIDTH_MAX)
    for column, cells in columns:
        width = max(len(line) for text in (column.head, *cells) for line in text.split("\n"))
        table.add_column(column.head, justify="right", no_wrap=True, min_width=width)
    for number in range(len(rows)):
        table.add_row(*rows[number], *(cells[number] for _, cells in columns))
    return table


def _cell(metric: RepeatedMetric | None, column: _Column) -> str:
    if metric is None:
        return _NOTHING
    if not column.is_range:
        return _text(metric.median, metric, column)
    lowest, highest = _text(metric.lowest, metric, column), _text(metric.highest, metric, column)
    # the unit once when it is the same: 13 to 15.1 ms
    number, _, unit = lowest.rpartition(" ")
    return f"{number if highest.endswith(f' {unit}') else lowest} to {highest}"


def _text(value: float, metric: RepeatedMetric, column: _Column) -> str:
    if column.write is not None:
        return column.write(value)
    return f"{value:.2f}" if metric.unit == "1" else format_quantity(value, metric.unit)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _print_findings(run: StoredRun, console: Console) -> None:
    """Each kind of finding once, with the text of the first trial that has it."""
    from rich.text import Text

    styles = {"invalid": "red", "warning": "yellow", "note": "dim"}
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for finding in sorted(run.findings, key=lambda finding: list(styles).index(finding.severity)):
        kinds.setdefault((finding.severity, finding.code), []).append(finding)
    for (severity, _code), findings in kinds.items():
        where = _where(findings, run.trials.num_rows)
        console.print(Text.assemble((f"{severity}: ", styles[severity]), findings[0].text, (where, "dim")))
    if kinds:
        console.print()


def _where(findings: Sequence[Finding], trial_count: int) -> str:
    """In how many trials a kind of finding is, and which is the first."""
    named = {finding.trial for finding in findings if not finding.trial_count} - {""}
    count = len(named) + sum(finding.trial_count for finding in findings)
    if not count:
        return ""
    first = findings[0].trial
    name = first if len(first) <= _NAME_WIDTH_MAX else f"{first[: _NAME_WIDTH_MAX - 3]}..."
    return f" [{name}]" if count == 1 else f" [in {count} of {trial_count} trials, the first is {name}]"


def _print_failures(failures: dict[str, str], console: Console) -> None:
    from rich.text import Text

    for trial, failure in list(failures.items())[:FAILURES_MAX]:
        console.print(Text(f"{trial} failed: {failure.splitlines()[0]}", style="red"))
    if len(failures) > FAILURES_MAX:
        console.print(Text(f"and {len(failures) - FAILURES_MAX} more steps failed", style="red"))
