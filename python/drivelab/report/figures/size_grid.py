"""Observations over two numeric factors, everything else alike: what heat maps are drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from drivelab.model.result_set import ResultSet
from drivelab.report.figures.measured import (
    BLOCK_SIZE,
    QUEUE_DEPTH,
    Measured,
    Point,
    levels_words,
    measured,
    point_of,
    varying,
)

FILE_SIZE = "file_size"
OF_FILES = (BLOCK_SIZE, FILE_SIZE)
LEVELS_MIN = 3
# the first of these pairs that varies is drawn, before any other pair
PAIRS = (
    (BLOCK_SIZE, "shift"),
    (BLOCK_SIZE, "offset"),
    ("record_size", FILE_SIZE),
    OF_FILES,
    (QUEUE_DEPTH, BLOCK_SIZE),
)


@dataclass(frozen=True, slots=True)
class Grid:
    """One value over two factors, everything else alike.

    Attributes
    ----------
    first : Measured
        One of the observations.
    label : str
        Drive, workload and the levels that tell it from other grids.
    x_factor, y_factor : str
        Factors of columns and rows.
    x, y : tuple of float
        Their levels, ascending.
    cells : mapping of (float, float) to Point
        What was measured; a place without a cell was not.
    """

    first: Measured
    label: str
    x_factor: str
    y_factor: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    cells: Mapping[tuple[float, float], Point]

    @property
    def unit(self) -> str:
        """Unit of the value."""
        return self.first.observation.estimate.unit


def grids_over(sets: Sequence[ResultSet], pair: tuple[str, str], metric: str) -> list[Grid]:
    """The grids of one metric over two factors.

    Parameters
    ----------
    pair : (str, str)
        The factor of the columns, and that of the rows.
    """
    items = [one for one in measured(sets) if one.observation.metric == metric]
    return [grid for grid in grids_of(items, pair) if grid.unit == items[0].observation.estimate.unit]


def grids_of(items: Sequence[Measured], wanted: tuple[str, str] | None = None) -> list[Grid]:
    """What is judged by a latency, and the throughput or rate of everything else, over the best pair of factors.

    Parameters
    ----------
    items : sequence of Measured
        Observations of metrics that are drawn.
    wanted : (str, str), optional
        The only pair of factors that is asked for.
    """
    groups: dict[tuple[str, ...], list[Measured]] = {}
    for one in items:
        observation = one.observation
        key = (one.source, one.drive, one.machine, observation.workload, observation.operation, observation.metric)
        groups.setdefault(key, []).append(one)
    found: list[Grid] = []
    for members in groups.values():
        pair = _pair(members)
        if pair is None or wanted not in (None, pair):
            continue
        others = varying(members, pair)
        pieces: dict[str, list[Measured]] = {}
        for one in members:
            pieces.setdefault(levels_words(one, others), []).append(one)
        found += [grid for name, piece in pieces.items() if (grid := _grid(piece, pair, name)) is not None]
    if wanted is not None:
        return found
    return sorted((grid for grid in found if not _is_redundant(grid)), key=lambda grid: grid.unit != "ns")


def _is_redundant(grid: Grid) -> bool:
    """Whether the same numbers stand in another unit: rates of one size are throughput, those of durable writes times.

    Over block sizes throughput and rate are two different maps, and the rate
    is left to the figure of queue depths.
    """
    if grid.first.observation.is_durable:
        return grid.unit != "ns"
    return grid.unit == "1/s" and BLOCK_SIZE in (grid.x_factor, grid.y_factor)


def _pair(items: Sequence[Measured]) -> tuple[str, str] | None:
    """The two factors to draw over: known pairs first, then those with most levels."""
    levels: dict[str, set[float]] = {}
    for one in items:
        for factor, number in one.numbers.items():
            levels.setdefault(factor, set()).add(number)
    wide = [factor for factor, numbers in levels.items() if len(numbers) >= LEVELS_MIN]
    known = [pair for pair in PAIRS if set(pair) <= set(wide)]
    others = sorted(combinations(wide, 2), key=lambda pair: -len(levels[pair[0]]) * len(levels[pair[1]]))
    return next((pair for pair in [*known, *others] if _is_crossed(items, pair)), None)


def _is_crossed(items: Sequence[Measured], pair: tuple[str, str]) -> bool:
    """Whether the levels of two factors were combined: a grid of which at least half was measured."""
    places = {(one.numbers.get(pair[0]), one.numbers.get(pair[1])) for one in items}
    columns, rows = ({place[number] for place in places} for number in (0, 1))
    return None not in columns | rows and 2 * len(places) >= len(columns) * len(rows)


def _grid(items: Sequence[Measured], pair: tuple[str, str], name: str) -> Grid | None:
    cells: dict[tuple[float, float], list[Measured]] = {}
    for one in items:
        cells.setdefault((one.numbers[pair[0]], one.numbers[pair[1]]), []).append(one)
    x, y = (tuple(sorted({place[number] for place in cells})) for number in (0, 1))
    if min(len(x), len(y)) < LEVELS_MIN:
        return None
    first = items[0]
    title = first.observation.title or first.observation.workload
    label = ", ".join(word for word in (first.drive, title, name) if word)
    return Grid(first, label, *pair, x, y, {place: point_of(members) for place, members in cells.items()})
