"""The part of a run's page that says where the time goes: sentences, tables and figures with their places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from drivelab.report.content import ReportContent
from drivelab.report.figures.of_run import traced_figures_of_run
from drivelab.report.placed import PlacedFigure, PlacedTable, placed_figure, placed_table
from drivelab.report.sentences.explanation import explanation_sentences
from drivelab.report.sentences.explanation_difference import explained_levels
from drivelab.report.sentences.traced import TOLD_AT_MOST, leads
from drivelab.report.tables.device_work import device_work_table
from drivelab.report.tables.parts import parts_table
from drivelab.report.tables.table import Table
from drivelab.report.tables.trace_conduct import trace_conduct_table

TITLE = "Where the time goes"
LEVELS_TITLE = "Why the levels that matter do"


@dataclass(frozen=True, slots=True)
class TracedPart:
    """What the templates read of the traced passes of a run.

    Attributes
    ----------
    title, levels_title : str
        Of the part, and of what it says about levels.
    told : tuple of (str, tuple of str)
        Each combination with its sentences; none where the answer of the run has said them already.
    levels : tuple of str
        Why levels matter, a sentence each, where no table of effects says so.
    tables, figures : tuples
        In order.
    leads : bool
        Whether it comes before everything else.
    """

    told: tuple[tuple[str, tuple[str, ...]], ...]
    levels: tuple[str, ...]
    tables: tuple[PlacedTable, ...]
    figures: tuple[PlacedFigure, ...]
    leads: bool
    title: str = TITLE
    levels_title: str = LEVELS_TITLE


def traced_part(content: ReportContent, figure_numbers: Iterator[str], prefix: str, number: int) -> TracedPart | None:
    """The part; None where nothing was traced.

    Parameters
    ----------
    figure_numbers : iterator of str
        Numbers of the next figures; as many are taken as there are figures.
    prefix : str
        Begins every anchor of the run.
    number : int
        Of the run among several; 0 when it is alone.
    """
    if not content.traced:
        return None
    figures = traced_figures_of_run(content)
    return TracedPart(
        told=tuple(told_of(content)),
        levels=() if content.answer.effects else tuple(explained_levels(content.level_differences)),
        tables=tuple(
            placed_table(table, f"{number}.{place}" if number else str(place), prefix)
            for place, table in enumerate(traced_tables(content), start=1)
        ),
        figures=tuple(placed_figure(figure, next(figure_numbers), prefix) for figure in figures),
        leads=leads(content),
    )


def told_of(content: ReportContent) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each traced combination with its sentences; none that the answer of the run has said already."""
    begin = TOLD_AT_MOST if leads(content) and len(content.traced) == 1 else 0
    for one in content.traced:
        if sentences := explanation_sentences(one.explanation)[begin:]:
            yield one.label, sentences


def traced_tables(content: ReportContent) -> tuple[Table, ...]:
    """The tables of the traced passes of a run: parts, device work, how they were taken."""
    makers = (parts_table, device_work_table, trace_conduct_table)
    return tuple(table for make in makers if (table := make(content.traced)) is not None)
