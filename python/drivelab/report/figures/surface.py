"""A value over two parameters, as a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.result_set import ResultSet
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.measured import (
    FACTOR_UNITS,
    factor_words,
    measured,
    number_words,
    typical_latencies,
)
from drivelab.report.figures.quantity import (
    Scale,
    caption_end,
    event_words,
    evidence_words,
    exact_text,
    invalid_marks,
    scale_of,
)
from drivelab.report.figures.size_grid import OF_FILES, Grid, grids_of
from drivelab.report.numerals import column_unit, number_text, round_latency_text

MAP_PX, CELL_PX_MIN = 300, 18
GRIDS_AT_MOST = 4
# a value that changes by more than this is drawn by its logarithm
_SPAN_LINEAR = 8
# of a map with more columns the cells are too narrow for numbers
_NUMBERS_ACROSS = 8
_NAMES = {"ns": "latency", "B/s": "throughput", "1/s": "IOPS"}
_COLUMNS = {"ns": "latency_ns", "B/s": "throughput_bytes_per_s", "1/s": "iops_per_s"}
CAPTION = "Each cell is one combination that was measured; a gap was not measured."


def surface(sets: Sequence[ResultSet]) -> Figure | None:
    """Values over two numeric factors of at least three levels each; None when nobody varied two of them.

    Sizes of files and records have maps of their own (`surface_maps`).
    """
    items = measured(sets)
    chosen = [*typical_latencies(items), *(one for one in items if one.observation.metric in (THROUGHPUT, RATE))]
    grids = [grid for grid in grids_of(chosen) if (grid.x_factor, grid.y_factor) != OF_FILES]
    if not grids:
        return None
    shown = [one for grid in grids for point in grid.cells.values() for one in point.members]
    first = grids[0]
    words = [CAPTION, event_words(shown), caption_end(shown)]
    pairs = {(grid.x_factor, grid.y_factor) for grid in grids}
    over = f"{factor_words(first.x_factor)} and {factor_words(first.y_factor)}" if len(pairs) == 1 else "two factors"
    return Figure(
        key="surface",
        title=f"What {over} do together",
        caption=" ".join(word for word in words if word) + theme.shown_words(GRIDS_AT_MOST, len(grids), "maps"),
        plots=tuple(_map(grid) for grid in grids[:GRIDS_AT_MOST]),
        table=_table(grids),
    )


def _scale(grid: Grid) -> Scale:
    values = [point.value for point in grid.cells.values()]
    return scale_of(values, grid.unit, is_log=max(values) > _SPAN_LINEAR * min(values))


def _height(grid: Grid, place: tuple[float, float], scale: Scale) -> float | None:
    """What is drawn of a cell: the value, or its logarithm; None where nothing was measured."""
    point = grid.cells.get(place)
    if point is None:
        return None
    drawn = scale.drawn(point.value)
    return round(math.log10(drawn), 5) if scale.is_log else drawn


def _rows(grid: Grid, make: Any) -> list[list[Any]]:
    return [[make((x, y)) for x in grid.x] for y in grid.y]


def _value_words(grid: Grid, scale: Scale) -> str:
    name = _NAMES.get(grid.unit, "value")
    if not scale.is_log:
        return f"{name} [{scale.shown.name or '1/s'}]"
    values = [point.value for point in grid.cells.values()]
    unit = theme.unit_span(min(values), max(values)) if grid.unit == "ns" else scale.shown.name or "1/s"
    return f"{name} [{unit}, log scale]"


def _value_ticks(grid: Grid, scale: Scale, at_most: int) -> dict[str, Any]:
    """Ticks of the value where its logarithm is drawn."""
    if not scale.is_log:
        return {"nticks": at_most}
    values = [scale.drawn(point.value) * 1e6 for point in grid.cells.values()]
    ticks = [tick / 1e6 for tick in theme.latency_ticks(min(values), max(values), at_most=at_most)]
    write = round_latency_text if grid.unit == "ns" else lambda tick: number_text(tick, 2).rstrip(".")
    return {
        "tickmode": "array",
        "tickvals": [round(math.log10(tick), 5) for tick in ticks],
        "ticktext": [write(tick) for tick in ticks],
    }


def _places(numbers: Sequence[float]) -> list[int]:
    """Levels stand at equal distances: they are what was chosen, and 0 has no logarithm."""
    return list(range(len(numbers)))


def _level_ticks(factor: str, numbers: Sequence[float], at_most: int) -> dict[str, Any]:
    every = -(-len(numbers) // at_most)
    chosen = _places(numbers)[::every]
    return {
        "tickmode": "array",
        "tickvals": chosen,
        "ticktext": [number_words(factor, numbers[place]) for place in chosen],
    }


def _level_words(factor: str) -> str:
    unit = FACTOR_UNITS.get(factor, "")
    return f"{factor_words(factor)} [{'unit at each tick' if unit in ('B', 'ns') else unit or '1'}]"


def _hover(grid: Grid, place: tuple[float, float], scale: Scale) -> str:
    point = grid.cells.get(place)
    levels = f"{number_words(grid.x_factor, place[0])}, {number_words(grid.y_factor, place[1])}"
    named = f"{factor_words(grid.x_factor)}, {factor_words(grid.y_factor)}: {levels}"
    if point is None:
        return f"{named}<br>not measured"
    exact = exact_text(point.value, grid.unit)
    return f"{named}<br><b>{exact}</b><br>{evidence_words(point, scale)}"


def _short(grid: Grid, place: tuple[float, float]) -> str:
    """What stands in a cell of the map: two digits, and a unit only where it changes from cell to cell."""
    point = grid.cells[place]
    if grid.unit == "ns":
        return exact_text(point.value, "ns", 2)
    scale = column_unit([one.value for one in grid.cells.values()], grid.unit).scale
    return number_text(point.value / scale, 2)


def _map(grid: Grid) -> Plot:
    scale = _scale(grid)
    height = max(MAP_PX, CELL_PX_MIN * len(grid.y) + 130)
    layout = theme.layout(height, showlegend=False)
    layout["margin"] |= {"t": 62, "r": 6}
    layout["xaxis"] = theme.axis(_level_words(grid.x_factor), **_level_ticks(grid.x_factor, grid.x, 12), showgrid=False)
    layout["yaxis"] = theme.axis(_level_words(grid.y_factor), **_level_ticks(grid.y_factor, grid.y, 16), showgrid=False)
    trace = {
        "type": "heatmap",
        "x": _places(grid.x),
        "y": _places(grid.y),
        "z": _rows(grid, lambda place: _height(grid, place, scale)),
        "customdata": _rows(grid, lambda place: _hover(grid, place, scale)),
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": theme.SCALE,
        "xgap": 1,
        "ygap": 1,
        "colorbar": {
            "title": {"text": _value_words(grid, scale), "side": "top", "font": _font(theme.MUTED)},
            "tickfont": _font(theme.MUTED),
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1,
            "yanchor": "bottom",
            "len": 0.7,
            "thickness": 9,
            "outlinewidth": 0,
            "ypad": 4,
            "tickangle": 0,
        }
        | _value_ticks(grid, scale, 4),
    }
    wrong = [(grid.x.index(x), grid.y.index(y)) for (x, y), point in grid.cells.items() if point.invalid_trials]
    crosses = invalid_marks(wrong)
    if crosses:
        # outlined, to be seen on every shade
        crosses["marker"] = {"symbol": "x", "size": 9, "color": theme.INK, "line": {"width": 1.5, "color": theme.PAPER}}
    texts = [_cell_texts(grid, scale)] if len(grid.x) <= _NUMBERS_ACROSS else []
    return Plot([trace, *texts, *([crosses] if crosses else [])], layout, height, grid.label)


def _cell_texts(grid: Grid, scale: Scale) -> dict[str, Any]:
    """The numbers in the cells: no meaning hangs on colour alone."""
    places = [place for place in grid.cells if not grid.cells[place].invalid_trials]
    heights = [_height(grid, place, scale) or 0.0 for place in grid.cells]
    middle = (min(heights) + max(heights)) / 2
    return theme.scatter(
        "text",
        [grid.x.index(x) for x, _ in places],
        [grid.y.index(y) for _, y in places],
        [_short(grid, place) for place in places],
        textfont={
            "size": 10,
            "color": [theme.ON_SCALE[(_height(grid, place, scale) or 0.0) > middle] for place in places],
        },
        showlegend=False,
    )


def _font(color: str) -> dict[str, Any]:
    return {"size": theme.SMALL_TEXT_SIZE, "color": color}


def _table(grids: Sequence[Grid]) -> DataTable:
    """One row per cell; a column for each factor and each unit that some grid has."""
    factors = list(dict.fromkeys(factor for grid in grids for factor in (grid.x_factor, grid.y_factor)))
    units = [unit for unit in _COLUMNS if any(grid.unit == unit for grid in grids)]
    rows: list[Sequence[Cell]] = []
    for grid in grids:
        for (x, y), point in sorted(grid.cells.items()):
            levels = {grid.x_factor: x, grid.y_factor: y}
            ends = [None if end is None else float(f"{end:.7g}") for end in (point.value, point.low, point.high)]
            blank: list[float | None] = [None, None, None]
            rows.append(
                [
                    *(grid.first.source, grid.label, grid.first.observation.metric),
                    *(levels.get(factor) for factor in factors),
                    *(end for unit in units for end in (ends if unit == grid.unit else blank)),
                    *(point.trial_count, point.invalid_trials, point.sample_count),
                ]
            )
    values = [f"{_COLUMNS[unit]}{end}" for unit in units for end in ("", "_low", "_high")]
    counts = ("trial_count", "invalid_trials", "operation_count")
    return DataTable(("results", "grid", "metric", *map(_level_column, factors), *values, *counts), rows)


def _level_column(factor: str) -> str:
    end = {"B": "_bytes", "ns": "_ns", "us": "_us", "%": "_percent"}.get(FACTOR_UNITS.get(factor, ""), "")
    return factor.replace("-", "_") + end
