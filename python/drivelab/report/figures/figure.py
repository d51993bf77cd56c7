"""A figure as data: what Plotly draws, what it says, and the table behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class DataTable:
    """The numbers that a figure was drawn from.

    Attributes
    ----------
    columns : tuple of str
        Names that carry the unit: ``latency_p50_ns``.
    rows : sequence of sequences
        One cell per column: text, a number, or None for a number that does not exist.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Plot:
    """One drawing of a figure; a figure of many panels has several, each short enough for a sheet of paper.

    Attributes
    ----------
    data, layout : plain data
        As Plotly takes them. Colours are CSS variables (``var(--ink)``), which
        the page resolves when it draws, so that one figure serves light, dark
        and paper.
    height_px : int
        Height; its width is the page's.
    name : str
        What this drawing shows of the figure; empty when it is the whole.
    """

    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    height_px: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its words.

    Attributes
    ----------
    key : str
        Name within the page and of its CSV file.
    caption : str
        How to read it: from which event to which, what a bar counts.
    table : DataTable
        The numbers behind it.
    open_count : int
        How many of its plots are seen at the head of a page; the others are folded.
    """

    key: str
    title: str
    caption: str
    plots: tuple[Plot, ...]
    table: DataTable
    open_count: int = 1
