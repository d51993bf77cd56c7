"""Everything that the page's template shows, in the order in which it shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.model.run_answer import RunAnswer
from drivelab.report.answer import Answer, answer_of, thresholds_of
from drivelab.report.combinations_table import CombinationsTable, combinations_table
from drivelab.report.content import ReportContent
from drivelab.report.csv_text import csv_link
from drivelab.report.effects_table import EffectsTable, effects_tables
from drivelab.report.facts import FactGroup, fact_groups
from drivelab.report.figures.commands_per_operation import commands_per_operation
from drivelab.report.figures.effects_overview import effects_overview
from drivelab.report.figures.figure import Figure, Plot
from drivelab.report.figures.io_scatter import io_scatter
from drivelab.report.figures.latency_cdf import latency_cdf
from drivelab.report.figures.latency_histogram import latency_histogram
from drivelab.report.figures.latency_over_size import latency_over_size
from drivelab.report.figures.latency_over_time import latency_over_time
from drivelab.report.figures.latency_overview import latency_overview
from drivelab.report.figures.throughput_over_time import throughput_over_time
from drivelab.report.headline import headline_facts
from drivelab.report.reported_findings import ReportedFinding
from drivelab.report.results_table import ResultsTable, results_table
from drivelab.report.run_sentences import run_sentences
from drivelab.report.settings_table import SettingsTable, settings_table
from drivelab.report.sparkline import SparklineAxis

# a table longer than this is cut, and says so; its CSV holds everything
TABLE_ROWS_AT_MOST = 500
# the figure that experiments name which ask how the throughput changes
OVER_TIME = "throughput-over-time"


@dataclass(frozen=True, slots=True)
class PlacedFigure:
    """A figure on the page: its number, its drawings as JSON, its table and the link to its CSV."""

    number: int
    figure: Figure
    drawings: tuple[tuple[Plot, str], ...]
    rows: Sequence[Sequence[Any]]
    row_count: int
    csv_link: str


@dataclass(frozen=True, slots=True)
class Page:
    """What the template reads."""

    content: ReportContent
    answer: Answer
    headline: tuple[tuple[str, str], ...]
    results: ResultsTable
    combinations: CombinationsTable | None
    effects: tuple[EffectsTable, ...]
    reference: tuple[str, ...]
    axis: SparklineAxis
    findings: tuple[ReportedFinding, ...]
    labels: Mapping[str, str]
    overview: PlacedFigure | None
    figures: tuple[PlacedFigure, ...]
    settings: SettingsTable
    facts: tuple[FactGroup, ...]
    # of the trials that a finding touches; the others are counted
    names_at_most: int = 40


def page_of(content: ReportContent) -> Page:
    """The page of a run."""
    trials, findings = content.trials, content.findings
    answer = answer_of(content.verdict, trials, findings, run_sentences(content.answer))
    overview = latency_overview(trials, thresholds_of(content.verdict))
    experiment, run_answer = content.experiment, content.answer
    over_time = OVER_TIME in experiment.get("figures", ())
    made = [
        effects_overview(run_answer),
        latency_over_size(trials, run_answer),
        throughput_over_time(trials, run_answer) if over_time else None,
        latency_histogram(trials),
        latency_cdf(trials),
        latency_over_time(trials),
        io_scatter(trials),
        commands_per_operation(trials),
    ]
    first = 1 if overview else 0
    placed = [placed_figure(figure, n) for n, figure in enumerate(filter(None, made), start=first + 1)]
    return Page(
        content=content,
        answer=answer,
        headline=tuple(headline_facts(content)),
        results=results_table(trials, findings),
        combinations=combinations_table(
            run_answer,
            is_one_at_a_time=experiment.get("design") == "one-at-a-time",
            over_time=over_time,
        ),
        effects=effects_tables(run_answer),
        reference=tuple(_reference_lines(run_answer)),
        axis=SparklineAxis(trials),
        findings=findings,
        labels={trial.name: trial.label for trial in trials},
        overview=placed_figure(overview, 1) if overview else None,
        figures=tuple(placed),
        settings=settings_table(trials),
        facts=tuple(fact_groups(content.facts)),
    )


def _reference_lines(answer: RunAnswer) -> Iterator[str]:
    """How the reference moved, target by target."""
    for drift in answer.drifts:
        yield f"{drift.text} on {drift.target}" if len(answer.drifts) > 1 else drift.text


def placed_figure(figure: Figure, number: int) -> PlacedFigure:
    """A figure with its number, ready for the template."""
    rows = figure.table.rows
    return PlacedFigure(
        number=number,
        figure=figure,
        drawings=tuple((plot, script_json({"data": plot.data, "layout": plot.layout})) for plot in figure.plots),
        rows=rows[:TABLE_ROWS_AT_MOST],
        row_count=len(rows),
        csv_link=csv_link(figure.table),
    )


def script_json(value: Mapping[str, Any]) -> str:
    """JSON that may stand inside a script element: no character of it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
