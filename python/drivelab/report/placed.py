"""Figures and tables with their place on the page: number, anchor, drawings packed, CSV as a link."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from drivelab.report.csv_text import csv_file_name, csv_link
from drivelab.report.figures.figure import Figure, Plot
from drivelab.report.static_figure import WIDTH_PX
from drivelab.report.svg.drawing import draw
from drivelab.report.tables.table import Table, TableCell

# of a drawing on a wide page, and on a telephone
WIDTHS_PX = (WIDTH_PX, 360)
# a table longer than this is cut, and says so; its CSV holds everything
TABLE_ROWS_AT_MOST = 200
# the first drawing of a page is on it as it is, up to this size
_PLAIN_BYTES_MAX = 200_000
# drawings that are together no higher than a screen are not folded
_OPEN_HEIGHT_MAX_PX = 800
# the elements around a cell
_CELL_BYTES = 20


@dataclass(frozen=True, slots=True)
class PlacedFigure:
    """A figure on the page: its number, its anchor, its drawings, packed, its table and the link to its CSV."""

    number: str
    id: str
    figure: Figure
    drawings: tuple[tuple[Plot, str], ...]
    rows: Sequence[Sequence[Any]]
    row_count: int
    csv_link: str

    @property
    def first_svg(self) -> str:
        """The first drawing as it is, for whoever runs no script; empty where it would be half of the page."""
        if not self.drawings:
            return ""
        svg = str(json.loads(gzip.decompress(base64.b64decode(self.drawings[0][1])))[0]["svg"])
        return svg if len(svg) <= _PLAIN_BYTES_MAX else ""

    @property
    def open_count(self) -> int:
        """How many drawings are seen at the head of a page: those that are asked for, and small ones with them."""
        heights = accumulate(plot.height_px for plot, _ in self.drawings)
        return max(self.figure.open_count, sum(height <= _OPEN_HEIGHT_MAX_PX for height in heights))

    @property
    def csv_name(self) -> str:
        """Name of the file that its link saves."""
        return csv_file_name(self.id, self.csv_link)

    @property
    def byte_count(self) -> int:
        """About what its drawings, its table and its CSV add to the page; nearly all of it is ASCII."""
        table = sum(len(str(cell)) + _CELL_BYTES for row in self.rows for cell in row)
        return sum(len(drawing) for _, drawing in self.drawings) + len(self.csv_link) + table


@dataclass(frozen=True, slots=True)
class PlacedTable:
    """A table on the page: its number, its anchor, the rows that are shown, and the link to its CSV."""

    number: str
    id: str
    table: Table
    rows: Sequence[Sequence[TableCell]]
    row_count: int
    csv_link: str

    @property
    def csv_name(self) -> str:
        """Name of the file that its link saves."""
        return csv_file_name(self.id, self.csv_link)

    @property
    def has_best(self) -> bool:
        """Whether some cell is marked as the best."""
        return any(cell.is_best for row in self.rows for cell in row)

    @property
    def has_intervals(self) -> bool:
        """Whether some cell has an interval, which a reader may ask for."""
        return any(cell.interval for row in self.rows for cell in row)


def placed_figure(figure: Figure, number: str, prefix: str = "") -> PlacedFigure:
    """A figure with its number, ready for the template.

    Parameters
    ----------
    number : str
        What it is called by: ``3``, or ``2.3`` for the third of the second run.
    prefix : str
        Begins its anchor, so that several runs may have the same figure.
    """
    rows = figure.table.rows
    anchor = f"{prefix}{figure.key}"
    return PlacedFigure(
        number=number,
        id=anchor,
        figure=figure,
        drawings=tuple((plot, _packed(plot, f"{anchor}-{n}-")) for n, plot in enumerate(figure.plots, start=1)),
        rows=rows[:TABLE_ROWS_AT_MOST],
        row_count=len(rows),
        csv_link=csv_link(figure.table),
    )


def placed_table(table: Table, number: str, prefix: str = "") -> PlacedTable:
    """A table with its number, ready for the template; `prefix` begins its anchor."""
    return PlacedTable(
        number=number,
        id=f"{prefix}table-{table.key}",
        table=table,
        rows=table.rows[:TABLE_ROWS_AT_MOST],
        row_count=len(table.rows),
        csv_link=csv_link(table.plain()),
    )


def _packed(plot: Plot, key: str) -> str:
    """A drawing for wide pages and for narrow ones with what is told of its points."""
    wide, narrow = (draw(plot, width, key) for width in WIDTHS_PX)
    # both tell the same words of the same points, which are there once
    for points, known in zip(narrow.told, wide.told, strict=True):
        if points["text"] == known["text"]:
            del points["text"]
    return packed_json([{"svg": one.svg, "width": one.width_px, "told": one.told} for one in (wide, narrow)])


def packed_json(value: Any) -> str:
    """Plain data as JSON through gzip in Base64: the same letters each time, and none that could end an element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")
