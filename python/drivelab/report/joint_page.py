"""Everything that the page of a report shows: of all runs together first, then of each by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

from drivelab.model.result_set import ResultSet
from drivelab.report.content import ReportContent
from drivelab.report.figures.figure import Figure
from drivelab.report.in_short import hero_of
from drivelab.report.joint import Joint
from drivelab.report.page import Page, page_of
from drivelab.report.placed import PlacedFigure, PlacedTable, placed_figure, placed_table
from drivelab.report.sentences.traced import are_explained
from drivelab.report.tables.table import Table

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
