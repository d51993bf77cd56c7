"""What ``drivelab run`` shows in the end: a table with the repeats of every combination of factors together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from drivelab.analyse.repeats import RepeatedMetric, over_repeats, repeatable
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.histogram import EMPTY
from drivelab.model.units import format_quantity
from drivelab.store.read import StoredRun
from drivelab.store.tables import histogram_from_row

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
_SHOWN = {
    "p50": "total_latency_ns_p50",
    "p99": "total_latency_ns_p99",
    "throughput": "throughput_bytes_per_s",
    "writes\nper op": "device_writes_per_operation",
    "flushes\nper op": "device_flushes_per_operation",
}
_NOTHING = "-"


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One combination of target, workload and factors, over its repeats.

    Attributes
    ----------
    target, workload, label : str
        Label of the target, name of the workload, and what it is for people.
    levels : dict of str to str
        Level of every factor.
    metrics : dict of str to RepeatedMetric
        Over the repeats.
    """

    target: str
    workload: str
    label: str
    levels: dict[str, str]
    metrics: dict[str, RepeatedMetric]


def result_rows(run: StoredRun) -> list[ResultRow]:
    """The combinations of a run, workload by workload, in the order of the experiment's file."""
    groups: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[dict[str, Estimate]]] = {}
    histograms = {
        (row["trial"], row["operation"]): histogram_from_row(row)
        for row in run.histograms.filter(pc.equal(run.histograms["latency"], "total")).to_pylist()
    }
    columns = _factor_columns(run)
    for row in run.trials.to_pylist():
        levels = {name.removeprefix("asked_"): row[name] for name in columns if row.get(name) is not None}
        histogram = histograms.get((row["trial"], row["operation"]), EMPTY)
        values = repeatable(run.estimates_of(row), histogram)
        groups.setdefault((row["target"], row["workload"], tuple(levels.items())), []).append(values)
    titles = {workload["name"]: workload["title"] for workload in run.run_json["experiment"]["workloads"]}
    rows = [
        ResultRow(target, workload, titles.get(workload) or workload, dict(levels), over_repeats(repeats))
        for (target, workload, levels), repeats in groups.items()
    ]
    order = _order_of_file(run)
    return sorted(rows, key=lambda row: (order.index(row.workload), row.target, _levels_order(run, row.levels)))


def results_json(run: StoredRun, report: Path) -> str:
    """Everything about a run as one JSON document."""
    rows = [asdict(row) for row in result_rows(run)]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "run": str(run.directory),
        "report": str(report),
        "status": run.run_json["status"],
        "seed": run.run_json["plan"]["seed"],
        "results": rows,
        "trials": [
            {"trial": row["trial"], "target": row["target"], "label": row["label"], "operation": row["operation"]}
            | {"estimates": json.loads(row["estimates_json"])}
            for row in run.trials.to_pylist()
        ],
        "findings": [finding.to_json() for finding in run.findings],
        "failures": run.run_json["failures"],
    }
    return json.dumps(document, indent=2)


def print_results(run: StoredRun) -> None:
    """Print the tables of a run, its findings, and where it lies."""
    # imported here: JSON needs no terminal library
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    rows = result_rows(run)
    for key in dict.fromkeys((row.target, row.workload) for row in rows):
        _print_table([row for row in rows if (row.target, row.workload) == key], console)
    _print_findings(run, console)
    for trial, failure in run.run_json["failures"].items():
        console.print(Text(f"{trial} failed: {failure.splitlines()[0]}", style="red"))
    console.print(Text(f"run:    {run.directory}"), soft_wrap=True)


def _print_table(rows: Sequence[ResultRow], console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    repeats = max((metric.repeat_count for row in rows for metric in row.metrics.values()), default=0)
    over = f"median of {repeats} repeats" if repeats > 1 else "one repeat"
    console.print(Text(f"{rows[0].label} on {rows[0].target}: {over}", style="bold"))
    columns = {name: [_cell(row.metrics.get(metric)) for row in rows] for name, metric in _SHOWN.items()}
    if repeats > 1:
        ranges = [_range(row.metrics.get(_SHOWN["p50"])) for row in rows]
        columns = {"p50": columns["p50"], "range of p50": ranges} | columns
    # too few I/Os for a quantile, or commands that were not counted
    shown = {name: cells for name, cells in columns.items() if set(cells) != {_NOTHING}}
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in rows[0].levels:
        table.add_column(name)
    for name in shown:
        table.add_column(name, justify="right")
    for number, row in enumerate(rows):
        table.add_row(*row.levels.values(), *(cells[number] for cells in shown.values()))
    console.print(table)
    console.print()


def _print_findings(run: StoredRun, console: Console) -> None:
    """Each kind of finding once, with the text of the first trial that has it."""
    from rich.text import Text

    styles = {"invalid": "red", "warning": "yellow", "note": "dim"}
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for finding in sorted(run.findings, key=lambda finding: list(styles).index(finding.severity)):
        kinds.setdefault((finding.severity, finding.code), []).append(finding)
    for (severity, _code), findings in kinds.items():
        trials = len({finding.trial for finding in findings})
        others = f" [{findings[0].trial}, and {trials - 1} more trials]" if trials > 1 else ""
        console.print(Text.assemble((f"{severity}: ", styles[severity]), f"{findings[0].text}{others}"))
    if kinds:
        console.print()


def _cell(metric: RepeatedMetric | None) -> str:
    return _NOTHING if metric is None else _text(metric.median, metric)


def _range(metric: RepeatedMetric | None) -> str:
    """Lowest to highest, the unit once when it is the same: ``13 to 15.1 ms``."""
    if metric is None:
        return _NOTHING
    lowest, highest = _text(metric.lowest, metric), _text(metric.highest, metric)
    number, _, unit = lowest.rpartition(" ")
    return f"{number if highest.endswith(f' {unit}') else lowest} to {highest}"


def _text(value: float, metric: RepeatedMetric) -> str:
    return f"{value:.2f}" if metric.unit == "1" else format_quantity(value, metric.unit)


def _factor_columns(run: StoredRun) -> list[str]:
    names = {f"asked_{name}" for step in run.run_json["plan"]["steps"] for name in step["levels"]}
    return [name for name in run.trials.column_names if name in names]


def _order_of_file(run: StoredRun) -> list[str]:
    return [workload["name"] for workload in run.run_json["experiment"]["workloads"]]


def _levels_order(run: StoredRun, levels: dict[str, str]) -> list[int]:
    """Places of levels in the experiment's file, so that a table reads as its author wrote it."""
    known: dict[str, list[str]] = {}
    for factor in run.run_json["experiment"]["factors"]:
        is_filesystem = factor["setting"] == "filesystem"
        name = "filesystem" if is_filesystem else factor["key"]
        known[name] = [level["name"] if is_filesystem else _written(level) for level in factor["levels"]]
    return [known[name].index(level) if level in known.get(name, []) else 0 for name, level in levels.items()]


def _written(level: object) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)
