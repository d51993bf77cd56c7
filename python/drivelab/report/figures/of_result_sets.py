"""Every figure that is drawn from result sets: of one run, of several, with published numbers beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drivelab.model.result_set import ResultSet
from drivelab.report.figures.bar_groups import bar_groups
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.queue_depth import queue_depth
from drivelab.report.figures.suite_bars import block_throughput, metadata_rates, seeks, total_time
from drivelab.report.figures.surface import surface
from drivelab.report.figures.surface_maps import surface_maps
from drivelab.report.figures.write_size import write_size

MAKERS: tuple[Callable[[Sequence[ResultSet]], Figure | None], ...] = (
    total_time,
    block_throughput,
    metadata_rates,
    seeks,
    write_size,
    queue_depth,
    bar_groups,
    surface,
    surface_maps,
)


def figures_of(sets: Sequence[ResultSet]) -> tuple[Figure, ...]:
    """The figures that these results can carry, the most telling one first.

    Parameters
    ----------
    sets : sequence of ResultSet
        Of runs and of published pages, in the order in which they are to stand.
    """
    return tuple(figure for make in MAKERS if (figure := make(sets)) is not None)
