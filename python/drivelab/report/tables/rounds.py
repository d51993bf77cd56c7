"""What rounds came to, as tables: the verdict on what is tracked, and the averages of the measurement as a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from drivelab.model.level_words import level_phrase, level_text
from drivelab.model.metric import metric_of
from drivelab.model.rounds import PhaseRounds, WindowAverage
from drivelab.model.setting import SETTING_NAMES
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.numerals import column_unit, number_text, percent_text
from drivelab.report.sentences.rounds import RANGE_BOUND, SLOPE_BOUND, series_words, tracked_text
from drivelab.report.tables.table import Table, TableCell, TableColumn, numbered, text_rows

_SHOWN: tuple[tuple[str, str, str], ...] = (
    ("iops", "IOPS", "1/s"),
    ("throughput_bytes_per_s", "Throughput", "B/s"),
    ("latency_ns_mean", "Mean latency", "ns"),
    ("latency_ns_max", "Longest latency", "ns"),
)
KEY, MEASURED = "steady-state", "measurement-"
_ENDS = {
    "steady": "steady",
    "capacities": "as much was written as was to be",
    "rounds": "rounds used up",
    "": "not ended",
}


def round_tables(rounds: Sequence[PhaseRounds]) -> tuple[Table, ...]:
    """The tables of a run with phases that were judged; none for any other."""
    judged = [one for one in rounds if one.tracked]
    if not judged:
        return ()
    several = len({one.target for one in judged}) > 1
    found = [_verdicts(judged)]
    for one in judged:
        if any(len(varied) > 0 for varied in [_varied(one.averages)]):
            found += _matrices(one, several=several)
    return numbered(found)


def _verdicts(judged: Sequence[PhaseRounds]) -> Table:
    heads = ("phase", "tracked", "rounds", "window", "average", "range", "best line", "verdict")
    rows = []
    for one in judged:
        for series in one.tracked:
            words = series_words(series)
            window = series.window
            numbers = ["–"] * 3
            if window is not None:
                shares = (window.range_share, window.slope_share)
                numbers = [tracked_text(series.metric, window.average), *map(percent_text, shares)]
            is_steady = window is not None and window.is_steady
            verdict = "steady" if is_steady else f"not steady, {_ENDS[one.ended_by]}"
            metric = metric_of(series.metric).words
            span = f"{one.window[0]}–{one.window[1]}"
            phase = f"{one.target}: {one.phase}" if len({each.target for each in judged}) > 1 else one.phase
            rows.append((phase, f"{metric}: {words}", str(one.rounds), span, *numbers, verdict))
    caption = (
        f"Range: highest less lowest of the five rounds, {RANGE_BOUND} of their average. Best line: what the "
        f"least-squares line through them rises or falls by from the first to the last, {SLOPE_BOUND} of it."
    )
    return Table(KEY, "Steady state", tuple(map(TableColumn, heads)), text_rows(rows), caption)


def _varied(averages: Sequence[WindowAverage]) -> list[str]:
    """Factors of which the combinations have several levels."""
    names = dict.fromkeys(name for one in averages for name in one.levels if name not in SETTING_NAMES)
    return [name for name in names if len({one.levels.get(name) for one in averages}) > 1]


def _matrices(one: PhaseRounds, *, several: bool) -> Iterator[Table]:
    """One table for each number, what is tracked first: rows are the last factor's levels, columns the others'."""
    varied = _varied(one.averages)
    cells = [cell for cell in one.averages if varied and all(name in cell.levels for name in varied)]
    if not cells:
        return
    *across, down = varied
    columns = list(dict.fromkeys(tuple(cell.levels[name] for name in across) for cell in cells))
    rows = list(dict.fromkeys(cell.levels[down] for cell in cells))
    by_place = {(tuple(c.levels[name] for name in across), c.levels[down]): c for c in cells}
    where = f" on {one.target}" if several else ""
    tracked = {series.metric.removeprefix("total_") for series in one.tracked}
    for name, title, unit in sorted(_SHOWN, key=lambda shown: shown[0] not in tracked):
        values = [getattr(cell, name) for cell in cells]
        if not any(value is not None for value in values):
            continue
        shown = column_unit(values, unit)
        unit_name = "" if unit == "1/s" else shown.name
        heads = [
            TableColumn(", ".join(map(level_phrase, across, levels)) or title, unit_name, is_number=True)
            for levels in columns
        ]
        body = []
        for level in rows:
            texts = [_text(by_place.get((levels, level)), name, shown.scale) for levels in columns]
            body.append((TableCell(level_text(down, level)), *map(TableCell, texts)))
        caption = f"Means over rounds {one.window[0]} to {one.window[1]}; the verdict on them is above."
        if name == "latency_ns_max":
            caption = f"The longest of rounds {one.window[0]} to {one.window[1]}."
        yield Table(
            f"{MEASURED}{name.replace('_', '-')}",
            f"{title} in the measurement window: {one.phase}{where}",
            (TableColumn(down.replace("_", " ")), *heads),
            tuple(body),
            caption,
            data=_data(one, cells, varied, name),
        )


def _text(cell: WindowAverage | None, name: str, scale: float) -> str:
    value: Any = getattr(cell, name) if cell is not None else None
    return "–" if value is None else number_text(value / scale)


def _data(one: PhaseRounds, cells: Sequence[WindowAverage], varied: Sequence[str], name: str) -> DataTable:
    rows: list[list[Cell]] = [
        [one.target, one.phase, cell.workload, *(cell.levels[key] for key in varied), cell.rounds, getattr(cell, name)]
        for cell in cells
    ]
    return DataTable(("target", "phase", "workload", *varied, "rounds", name), rows)
