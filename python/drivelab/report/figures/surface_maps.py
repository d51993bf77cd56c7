"""Heat maps of throughput over file size and record size, one for each way to go through a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.result_set import ResultSet
from drivelab.report.figures import theme
from drivelab.report.figures.figure import Cell, DataTable, Figure, Plot
from drivelab.report.figures.measured import BLOCK_SIZE, Point, number_words
from drivelab.report.figures.quantity import caption_end, evidence_words, exact_text, invalid_marks, scale_of
from drivelab.report.figures.size_grid import FILE_SIZE, OF_FILES, Grid, grids_over

CELL_PX, TOP_PX, BOTTOM_PX, GAP_PX = 13, 52, 46, 30
# in a drawing that a sheet of paper has room for
ROWS_AT_MOST, PLOTS_AT_MOST = 4, 6
# where the two columns of maps lie
COLUMNS = ((0.0, 0.485), (0.515, 1.0))
_TICKS_AT_MOST = 7
CAPTION = (
    "Each cell is one combination that was measured; its colour is the share of the best cell of its map, whose number "
    "stands above it. A dark row is a file size that is slower than its neighbours, a dark side one end of the record "
    "sizes. Empty are records that are larger than the file, and what was not measured."
)


def surface_maps(sets: Sequence[ResultSet]) -> Figure | None:
    """A map for each workload over both sizes, two beside each other; None where nobody varied them together."""
    grids = grids_over(sets, OF_FILES, THROUGHPUT)
    if not grids:
        return None
    shown = [one for grid in grids for point in grid.cells.values() for one in point.members]
    sheets = _sheets(grids)
    return Figure(
        key="surface-maps",
        title="Throughput over record size and file size",
        caption=f"{CAPTION} {caption_end(shown)}".strip() + theme.shown_words(PLOTS_AT_MOST, len(sheets)),
        plots=tuple(_plot(name, sheet) for name, sheet in sheets[:PLOTS_AT_MOST]),
        table=_table(grids),
    )


def _sheets(grids: Sequence[Grid]) -> list[tuple[str, list[Grid]]]:
    """Maps of the same drive with the same sizes of files, as many as have room in a drawing."""
    groups: dict[tuple[str, str, tuple[float, ...]], list[Grid]] = {}
    for grid in grids:
        groups.setdefault((grid.first.source, grid.first.drive, grid.y), []).append(grid)
    at_most = ROWS_AT_MOST * len(COLUMNS)
    return [
        (drive, members[begin : begin + at_most])
        for (_, drive, _), members in groups.items()
        for begin in range(0, len(members), at_most)
    ]


def _plot(name: str, grids: Sequence[Grid]) -> Plot:
    row_count = -(-len(grids) // len(COLUMNS))
    panel_px = CELL_PX * max(6, len(grids[0].y))
    height, domains = theme.panels(row_count, panel_px, top_px=TOP_PX, bottom_px=BOTTOM_PX, gap_px=GAP_PX)
    layout = theme.layout(height, showlegend=False, annotations=[])
    layout["margin"] |= {"t": TOP_PX, "b": BOTTOM_PX, "r": 6}
    data: list[Mapping[str, Any]] = []
    for place, grid in enumerate(grids):
        row, column = divmod(place, len(COLUMNS))
        number = place + 1
        is_last = place + len(COLUMNS) >= len(grids)
        title = "record size [unit at each tick]" if is_last else ""
        layout[theme.layout_key("x", number)] = _axis(title, grid.x) | {
            "domain": list(COLUMNS[column]),
            "anchor": theme.axis_name("y", number),
        }
        # one name for all rows, beside the upper middle one
        is_named = not column and row == (row_count - 1) // 2
        layout[theme.layout_key("y", number)] = _axis("file size [unit at each tick]" if is_named else "", grid.y) | {
            "domain": domains[row],
            "anchor": theme.axis_name("x", number),
            # the map at its left has the same
            "showticklabels": not column,
        }
        best = max(point.value for point in grid.cells.values())
        layout["annotations"].append(_label(grid, best, number, COLUMNS[column][0]))
        data += [_map(grid, best, number), *_crosses(grid, number)]
    return Plot(data, layout, height, name)


def _axis(title: str, numbers: Sequence[float]) -> dict[str, Any]:
    every = -(-len(numbers) // _TICKS_AT_MOST)
    chosen = list(range(len(numbers)))[::every]
    texts = [number_words(BLOCK_SIZE, numbers[place]) for place in chosen]
    return theme.axis(title, tickmode="array", tickvals=chosen, ticktext=texts, showgrid=False)


def _label(grid: Grid, best: float, number: int, left: float) -> dict[str, Any]:
    """What went on, without the drive, whose name stands above the drawing; then the number of its best cell."""
    words = grid.label.removeprefix(f"{grid.first.drive}, ")
    text = f"<b>{theme.escaped(words)}</b> best {exact_text(best, 'B/s', 3)}"
    return theme.panel_label(text, number) | {"name": "half-panel", "x": left}


def _map(grid: Grid, best: float, number: int) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "xaxis": theme.axis_name("x", number),
        "yaxis": theme.axis_name("y", number),
        "x": list(range(len(grid.x))),
        "y": list(range(len(grid.y))),
        "z": [[_share(grid.cells.get((x, y)), best) for x in grid.x] for y in grid.y],
        "customdata": [[_hover(grid, x, y) for x in grid.x] for y in grid.y],
        "hovertemplate": "%{customdata}<extra></extra>",
        "zmin": 0,
        "zmax": 100,
        "colorscale": theme.SCALE,
        "xgap": 1,
        "ygap": 1,
        "showscale": number == 1,
    } | ({"colorbar": _colours()} if number == 1 else {})


def _colours() -> dict[str, Any]:
    """The bar of colours above all maps."""
    return {
        "title": {"text": "share of the best of its map [%]", "side": "top", "font": _font()},
        "tickfont": _font(),
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
        "len": 0.485,
        "thickness": 8,
        "outlinewidth": 0,
        "ypad": 2,
        "tickangle": 0,
        "nticks": 3,
    }


def _share(point: Point | None, best: float) -> float | None:
    return None if point is None else float(f"{100 * point.value / best:.3g}")


def _crosses(grid: Grid, number: int) -> list[Mapping[str, Any]]:
    wrong = [(grid.x.index(x), grid.y.index(y)) for (x, y), point in grid.cells.items() if point.invalid_trials]
    axes = {"xaxis": theme.axis_name("x", number), "yaxis": theme.axis_name("y", number)}
    crosses = invalid_marks(wrong, **axes)
    if not crosses:
        return []
    crosses["marker"] = {"symbol": "x", "size": 6, "color": theme.INK, "line": {"width": 1, "color": theme.PAPER}}
    return [crosses]


def _hover(grid: Grid, x: float, y: float) -> str:
    point = grid.cells.get((x, y))
    head = f"records of {number_words(BLOCK_SIZE, x)}, file of {number_words(FILE_SIZE, y)}"
    if point is None:
        return f"{head}<br>{'larger than the file' if x > y else 'not measured'}"
    scale = scale_of([point.value], "B/s", is_log=False)
    return f"{head}<br><b>{exact_text(point.value, 'B/s')}</b><br>{evidence_words(point, scale)}"


def _font() -> dict[str, Any]:
    return {"size": theme.SMALL_TEXT_SIZE, "color": theme.MUTED}


def _table(grids: Sequence[Grid]) -> DataTable:
    rows: list[Sequence[Cell]] = []
    for grid in grids:
        first = grid.first
        for (record, file), point in sorted(grid.cells.items(), key=lambda cell: (cell[0][1], cell[0][0])):
            ends = [None if end is None else round(end) for end in (point.value, point.low, point.high)]
            where: list[Cell] = [first.source, first.drive, first.observation.workload, grid.label]
            rows.append([*where, round(file), round(record), *ends, point.trial_count, point.invalid_trials])
    names = ("results", "drive", "workload", "map", "file_size_bytes", "record_size_bytes")
    values = [f"throughput_bytes_per_s{end}" for end in ("", "_low", "_high")]
    return DataTable((*names, *values, "trial_count", "invalid_trials"), rows)
