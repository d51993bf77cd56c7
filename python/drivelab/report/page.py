"""Everything that the page shows of one run, in the order in which it shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from drivelab.model.run_answer import RunAnswer
from drivelab.report.answer import Answer, answer_of
from drivelab.report.combinations_table import CombinationsTable, combinations_table
from drivelab.report.content import ReportContent
from drivelab.report.effects_table import EffectsTable, effects_tables
from drivelab.report.facts import FactGroup, fact_groups
from drivelab.report.figures.of_run import compares_tenths, figures_of_run, overview_of_run
from drivelab.report.headline import headline_facts, what_is_missing
from drivelab.report.placed import PlacedFigure, placed_figure
from drivelab.report.reported_findings import ReportedFinding
from drivelab.report.results_table import ResultsTable, results_table
from drivelab.report.sentences.traced import answer_sentences, leads
from drivelab.report.settings_table import SettingsTable, settings_table
from drivelab.report.sparkline import SparklineAxis
from drivelab.report.tables.job_file import job_file_table
from drivelab.report.tables.table import Table
from drivelab.report.traced_part import TracedPart, traced_part


@dataclass(frozen=True, slots=True)
class Page:
    """What the templates read of a run.

    Attributes
    ----------
    number : int
        Of the run among several; 0 when it is alone.
    prefix : str
        Begins every anchor of the run; empty when it is alone.
    has_figures_left_out : bool
        Whether its figures would have made the page of several runs too heavy.
    job_file : Table or None
        What a job file asked for and did not get.
    traced : TracedPart or None
        Where the time goes, of a run that was traced.
    """

    content: ReportContent
    answer: Answer
    headline: tuple[tuple[str, str], ...]
    results: ResultsTable
    combinations: CombinationsTable | None
    effects: tuple[EffectsTable, ...]
    contrasts: tuple[EffectsTable, ...]
    reference: tuple[str, ...]
    axis: SparklineAxis
    findings: tuple[ReportedFinding, ...]
    labels: Mapping[str, str]
    overview: PlacedFigure | None
    figures: tuple[PlacedFigure, ...]
    settings: SettingsTable
    facts: tuple[FactGroup, ...]
    job_file: Table | None = None
    number: int = 0
    prefix: str = ""
    has_figures_left_out: bool = False
    traced: TracedPart | None = None
    # of the trials that a finding touches: more are folded, and the last ones only counted
    names_open: int = 4
    names_at_most: int = 40

    @property
    def figure_bytes(self) -> int:
        """What its figures and the numbers behind them add to a page."""
        traced = self.traced.figures if self.traced else ()
        return sum(placed.byte_count for placed in (self.overview, *traced, *self.figures) if placed)

    @property
    def figure_count(self) -> int:
        """How many figures it has."""
        return len(self.figures) + (self.overview is not None) + (len(self.traced.figures) if self.traced else 0)

    def without_figures(self) -> Page:
        """The same, its figures left out."""
        traced = replace(self.traced, figures=()) if self.traced else None
        return replace(self, overview=None, figures=(), traced=traced, has_figures_left_out=True)


def page_of(content: ReportContent, number: int = 0) -> Page:
    """What the page shows of a run.

    Parameters
    ----------
    number : int
        Of the run among several, from 1; 0 when it is alone.
    """
    trials, findings, run_answer = content.trials, content.findings, content.answer
    prefix = f"run-{number}-" if number else ""
    overview = overview_of_run(content)
    numbers = (_numbered(place, number) for place in count(1))
    # figures are numbered as they stand on the page
    traced = traced_part(content, numbers, prefix, number) if leads(content) else None
    placed_overview = placed_figure(overview, next(numbers), prefix) if overview else None
    traced = traced or traced_part(content, numbers, prefix, number)
    return Page(
        content=content,
        answer=answer_of(
            content.verdict,
            trials,
            findings,
            answer_sentences(content),
            what_is_missing(content.record, content.all_trial_count),
        ),
        headline=tuple(headline_facts(content)),
        results=results_table(trials, findings),
        combinations=combinations_table(
            run_answer,
            is_one_at_a_time=content.experiment.get("design") == "one-at-a-time",
            over_time=compares_tenths(content),
        ),
        effects=effects_tables(run_answer.effects, run_answer, content.level_differences),
        contrasts=effects_tables(run_answer.contrasts, run_answer),
        reference=tuple(_reference_lines(run_answer)),
        axis=SparklineAxis(trials),
        findings=findings,
        labels={trial.name: trial.label for trial in trials},
        overview=placed_overview,
        figures=tuple(placed_figure(figure, next(numbers), prefix) for figure in figures_of_run(content)),
        settings=settings_table(trials),
        facts=tuple(fact_groups(content.facts)),
        job_file=job_file_table(content.record),
        number=number,
        prefix=prefix,
        traced=traced,
    )


def _numbered(figure: int, run: int) -> str:
    """The number of a figure: of several runs it begins with the run's."""
    return f"{run}.{figure}" if run else str(figure)


def _reference_lines(answer: RunAnswer) -> Iterator[str]:
    """How the reference moved, target by target."""
    for drift in answer.drifts:
        yield f"{drift.text} on {drift.target}" if len(answer.drifts) > 1 else drift.text
