"""Every figure that is drawn from result sets: of one run, of several, with published numbers beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drivelab.model.result_set import ResultSet
from drivelab.report.figures.bar_groups import bar_groups
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.queue_depth import queue_depth
from drivelab.report.figures.surface import surface
from drivelab.report.figures.write_size import write_size

MAKERS: tuple[Callable[[Sequence[ResultSet]], Figure | None], ...] = (write_size, queue_depth, bar_groups, surface)


def figures_of(sets: Sequence[ResultSet]) -> tuple[Figure, ...]:
    """The figures that these results can carry, the most telling one first.

    Parameters
    ----------
    sets : sequence of ResultSet
        Of runs and of published pages, in the order in which they are to stand.
    """
    return tuple(figure for make in MAKERS if (figure := make(sets)) is not None)
