"""What file-system benchmarks draw: bars of block throughput, of file rates, of seeks, and of the time of a whole task.

A drawing for each phase, on an axis of its own: a stat is ten times as fast as
a create. The phases go by the names that the built-in experiments and imported
results give them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.model.judged_metric import DURATION, RATE, THROUGHPUT
from drivelab.model.result_set import ResultSet
from drivelab.report.figures.bar_plot import DrawnBars, drawn_bars
from drivelab.report.figures.bars import bars_of, table_of, words_of
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.measured import Measured, measured
from drivelab.report.figures.quantity import caption_end


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the figures: words, metric, and the workloads of each drawing; without any, one of all of them."""

    key: str
    title: str
    caption: str
    metric: str
    phases: tuple[tuple[str, ...], ...] = ()
    # results without one of these workloads have others of the same names
    mark: tuple[str, ...] = ()
    value_name: str = ""


_BLOCKS = _Kind(
    "block-throughput",
    "Throughput of blocks",
    "Bytes of the file over the time until the last of them was written, read or, of rewrite, both. Writes end with "
    "one sync, which the time includes.",
    THROUGHPUT,
    (("block-write",), ("rewrite",), ("block-read",)),
    mark=("block-write", "block-read"),
)
_FILES = _Kind(
    "metadata-rates",
    "Rates of operations on files",
    "Files a second that were created, looked up, renamed or deleted, by all jobs together. What is not durable may "
    "still have been in memory when the last call returned.",
    RATE,
    (
        # what survives a power cut comes first
        ("durable-create",),
        ("durable-rename",),
        ("durable-delete",),
        ("create-sequential",),
        ("stat-sequential",),
        ("delete-sequential",),
        ("create-random",),
        ("stat-random",),
        ("delete-random",),
        ("create",),
        ("stat",),
        ("rename",),
        ("delete",),
        ("mail-spool",),
        ("package-manager",),
    ),
)
_SEEKS = _Kind(
    "seeks",
    "Random seeks",
    "Reads a second at random places by several readers at once, of which some are written back: as many as the drive, "
    "or all members of a RAID set together, can find.",
    RATE,
    # published pages have the name of the program that they used
    (("seeks", "bonnie-seeks"),),
)
_TIMES = _Kind(
    "total-time",
    "Time until everything was read",
    "From the first call until the last had returned: what somebody waits for.",
    DURATION,
    value_name="time",
)
KEYS = tuple(kind.key for kind in (_BLOCKS, _FILES, _SEEKS, _TIMES))


def block_throughput(sets: Sequence[ResultSet]) -> Figure | None:
    """Write, rewrite and read of blocks per drive and file system; None where nobody measured them."""
    return _figure(_BLOCKS, sets)


def metadata_rates(sets: Sequence[ResultSet]) -> Figure | None:
    """Operations on files a second; None where nobody measured them."""
    return _figure(_FILES, sets)


def seeks(sets: Sequence[ResultSet]) -> Figure | None:
    """Random seeks a second; None where nobody measured them."""
    return _figure(_SEEKS, sets)


def total_time(sets: Sequence[ResultSet]) -> Figure | None:
    """The whole time of workloads that are one task; None where no experiment asks for it."""
    return _figure(_TIMES, sets)


def first_phase(key: str, known: Sequence[Measured]) -> list[Measured]:
    """What the first drawing of a figure of phases shows; nothing of any other figure."""
    kinds = (kind for kind in (_BLOCKS, _FILES, _SEEKS) if kind.key == key)
    found = (
        [one for one in _items(kind, known) if one.observation.workload in workloads]
        for kind in kinds
        for workloads in kind.phases
    )
    return next(filter(None, found), [])


def _items(kind: _Kind, known: Sequence[Measured]) -> list[Measured]:
    # the rewrite of an experiment without blocks is another thing
    whose = {one.source for one in known if one.observation.workload in (kind.mark or (one.observation.workload,))}
    return [one for one in known if one.observation.metric == kind.metric and one.source in whose]


def _figure(kind: _Kind, sets: Sequence[ResultSet]) -> Figure | None:
    """One drawing for each phase that was measured; published numbers need one of our own beside them, or two."""
    items = _items(kind, measured(sets))
    drawn: list[DrawnBars] = []
    for workloads in kind.phases or (tuple({one.observation.workload for one in items}),):
        members = [one for one in items if one.observation.workload in workloads]
        bars = bars_of(members) if members else []
        title = _title(members) if kind.phases and members else ""
        drawn += drawn_bars(title, bars, kind.value_name)
    if not drawn:
        return None
    shown = [each for one in drawn for bar in one.bars for each in bar.point.members]
    words = [kind.caption, words_of([bar for one in drawn for bar in one.bars]), caption_end(shown)]
    return Figure(
        key=kind.key,
        title=kind.title,
        caption=" ".join(word for word in words if word),
        plots=tuple(one.plot for one in drawn),
        table=table_of([(one.name, one.bars) for one in drawn]),
    )


def _title(members: Sequence[Measured]) -> str:
    """What the phase is called by the first who measured it."""
    own = [one for one in members if not one.is_reference] or list(members)
    return own[0].observation.title or own[0].observation.workload
