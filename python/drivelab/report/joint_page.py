"""Everything that the page of a report shows: of all runs together first, then of each by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

from drivelab.model.result_set import ResultSet
from drivelab.model.run_answer import RunAnswer
from drivelab.report.answer import Answer, answer_of
from drivelab.report.combinations_table import CombinationsTable, combinations_table
from drivelab.report.content import ReportContent
from drivelab.report.effects_table import EffectsTable, effects_tables
from drivelab.report.facts import FactGroup, fact_groups
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.of_run import compares_tenths, figures_of_run, overview_of_run
from drivelab.report.headline import headline_facts, what_is_missing
from drivelab.report.in_short import hero_of
from drivelab.report.joint import Joint
from drivelab.report.placed import PlacedFigure, PlacedTable, placed_figure, placed_table
from drivelab.report.reported_findings import ReportedFinding
from drivelab.report.results_table import ResultsTable, results_table
from drivelab.report.sentences.traced import answer_sentences, are_explained, leads
from drivelab.report.settings_table import SettingsTable, settings_table
from drivelab.report.sparkline import SparklineAxis
from drivelab.report.tables.job_file import job_file_table
from drivelab.report.tables.table import Table
from drivelab.report.traced_part import TracedPart, traced_part

# beside the charts' packed script of 0.7 MB a page stays below 8 MB:
# room for all runs, and what a run takes beside its figures
ROOM_BYTES = 6_500_000
RUN_BYTES = 250_000
# begins the anchors of figures that are drawn from result sets, on the page of a run that has figures of its own
PUBLISHED_PREFIX = "published-"
PART_DIFFERENCES = "part-differences"
# what a run's numbers were taken apart into; all other tables show the same numbers in another form
_COURSES = ("latency-over-time", "throughput-over-time")
_ABOUT_COURSES = {"drift", "level-moves", "throughput-cliff", "throughput-swings"}
# a panel for each of more trials pushes all else out of sight
_COURSES_OPEN_MAX = 6
_MODEL_TABLES = ("phases", "flush-model")
_STATISTICS = ("factorial-terms", "interactions")
_Shown = TypeVar("_Shown", bound=Figure | Table)


@dataclass(frozen=True, slots=True)
class JointPage:
    """What the templates read of a report.

    Attributes
    ----------
    name : str
        What it is called: the run, or how many runs.
    runs : tuple of Page
        Each run, where it is about several.
    tables, figures : tuples
        Of all runs together, the most telling one first.
    published : tuple of ResultSet
        Published pages whose numbers stand beside those of the runs.
    part_tables, part_figures : tuples
        Which part of the latency differs between runs that were traced.
    hero : PlacedFigure or None
        Of a single run, the picture that its experiment exists for; None where parts of a traced latency lead.
    folded : tuple of PlacedFigure
        Of a single run, all its other figures.
    why_leads : bool
        Whether which part differs is what the report is about, and stands before the numbers.
    """

    joint: Joint
    name: str
    alone: Page | None
    runs: tuple[Page, ...]
    tables: tuple[PlacedTable, ...]
    figures: tuple[PlacedFigure, ...]
    published: tuple[ResultSet, ...]
    part_tables: tuple[PlacedTable, ...] = ()
    part_figures: tuple[PlacedFigure, ...] = ()
    hero: PlacedFigure | None = None
    folded: tuple[PlacedFigure, ...] = ()
    why_leads: bool = False

    @property
    def open_figures(self) -> tuple[str, ...]:
        """Keys of folded figures that are open, since a finding of few trials is about what they show."""
        found = self.alone.findings if self.alone else ()
        is_open = any(one.code in _ABOUT_COURSES and one.trial_count <= _COURSES_OPEN_MAX for one in found)
        return _COURSES if is_open else ()

    @property
    def models(self) -> tuple[PlacedTable, ...]:
        """Tables of what the numbers come from: the phases of workloads, costs of commands."""
        return tuple(
            placed for placed in self.tables if placed.table.key.startswith(_MODEL_TABLES) and not placed.table.is_asked
        )

    @property
    def forms(self) -> tuple[PlacedTable, ...]:
        """Tables that show the numbers as such results are published."""
        others = (*self.models, *self.statistics, *self.asked)
        return tuple(placed for placed in self.tables if placed not in others)

    @property
    def asked(self) -> tuple[PlacedTable, ...]:
        """Tables that the experiment itself holds."""
        return tuple(placed for placed in self.tables if placed.table.is_asked)

    @property
    def statistics(self) -> tuple[PlacedTable, ...]:
        """Tables of variances and interactions."""
        return tuple(placed for placed in self.tables if placed.table.key.startswith(_STATISTICS))


def joint_page_of(joint: Joint) -> JointPage:
    """The page of a report."""
    alone = _with_sentences(page_of(joint.only_run), joint.sentences) if joint.only_run else None
    # tables of where the time goes stand before them
    first_table = 1 + (len(alone.traced.tables) if alone and alone.traced else 0)
    why_leads = are_explained(joint)
    figures = [
        placed_figure(figure, str(number), PUBLISHED_PREFIX if alone else "")
        for number, figure in enumerate(_as_they_stand(joint.figures, why_leads=why_leads), start=1)
    ]
    ordered = sorted(joint.tables, key=lambda table: _place_of_table(table, is_alone=alone is not None))
    tables = [
        placed_table(table, str(number))
        for number, table in enumerate(_as_they_stand(ordered, why_leads=why_leads), start=first_table)
    ]
    alone, hero, folded = _figures_in_order(joint, alone, figures) if alone else (None, None, ())
    return JointPage(
        joint=joint,
        name=alone.content.name if alone else joint.title,
        alone=alone,
        runs=() if alone else tuple(_runs(joint.runs, sum(placed.byte_count for placed in figures))),
        tables=tuple(placed for placed in tables if not _is_about_parts(placed.table.key)),
        figures=tuple(placed for placed in figures if not _is_about_parts(placed.figure.key)),
        part_tables=tuple(placed for placed in tables if _is_about_parts(placed.table.key)),
        part_figures=tuple(placed for placed in figures if _is_about_parts(placed.figure.key)),
        published=tuple(one for one in joint.result_sets if one.is_reference),
        hero=hero,
        folded=folded,
        why_leads=why_leads,
    )


def _as_they_stand(shown: Sequence[_Shown], *, why_leads: bool) -> list[_Shown]:
    """Figures or tables in the order of the page: what says why runs differ comes first, or behind the first other."""
    first = None if why_leads else next((one for one in shown if not _is_about_parts(one.key)), None)
    return sorted(shown, key=lambda one: (first is not None and one is not first, not _is_about_parts(one.key)))


def _place_of_table(table: Table, *, is_alone: bool) -> int:
    """What a run's numbers come from stands before their other forms, statistics always at the end."""
    if table.is_asked:
        return -1
    if table.key.startswith(_STATISTICS):
        return 2
    return 0 if is_alone and table.key.startswith(_MODEL_TABLES) else 1


def _figures_in_order(
    joint: Joint, page: Page, of_combinations: Sequence[PlacedFigure]
) -> tuple[Page, PlacedFigure | None, tuple[PlacedFigure, ...]]:
    """The page, the picture that comes first and all others, numbered as they stand there.

    The first is None where it leads the part about where the time goes.
    """
    own = [placed for placed in (page.overview, *page.figures) if placed]
    traced, named = page.traced, page.content.experiment.get("figures", ())
    of_run = [placed.figure for placed in (*own, *(traced.figures if traced else ()))]
    picture = hero_of(joint, of_run)
    hero = next((placed for placed in (*of_combinations, *own) if placed.figure is picture), None)
    answering = [placed for placed in of_combinations if placed.figure.key in named]
    others = [*answering, *own, *(placed for placed in of_combinations if placed not in answering)]
    numbers = count(1)
    first = hero and replace(hero, number=str(next(numbers)))
    if traced:
        figures = tuple(replace(placed, number=str(next(numbers))) for placed in traced.figures)
        page = replace(page, traced=replace(traced, figures=figures))
    folded = tuple(replace(placed, number=str(next(numbers))) for placed in others if placed is not hero)
    return page, first, folded


def _is_about_parts(key: str) -> bool:
    """Whether a table or a figure says why traced runs differ."""
    return key.startswith(PART_DIFFERENCES)


def _with_sentences(page: Page, sentences: Sequence[str]) -> Page:
    """The page of the only run, with what its report says beyond its own answer."""
    known = {page.answer.sentence, *page.answer.told}
    more = tuple(sentence for sentence in sentences if sentence not in known)
    return replace(page, answer=replace(page.answer, sentences=(*page.answer.sentences, *more)))


def _runs(contents: Sequence[ReportContent], byte_count: int) -> Iterator[Page]:
    """The runs by themselves; those whose figures would make the page too heavy come without."""
    room_bytes = ROOM_BYTES - RUN_BYTES * len(contents)
    for number, content in enumerate(contents, start=1):
        page = page_of(content, number)
        if byte_count + page.figure_bytes > room_bytes:
            page = page.without_figures()
        byte_count += page.figure_bytes
        yield page


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
