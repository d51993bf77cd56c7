"""Writes a report as Markdown that reads well on GitHub and in an editor; its pictures lie beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from drivelab.report.content import ReportContent
from drivelab.report.facts import fact_groups
from drivelab.report.figures.of_run import is_of_traces
from drivelab.report.headline import headline_facts
from drivelab.report.in_short import hero_of
from drivelab.report.joint import Joint
from drivelab.report.markdown.brief import brief_lines
from drivelab.report.markdown.syntax import escaped, grid_lines, table_lines
from drivelab.report.named_figures import NamedFigure, file_name, named_figures
from drivelab.report.numerals import count_text, typeset
from drivelab.report.report_file import report_file
from drivelab.report.reported_findings import ReportedFinding
from drivelab.report.run_tables import result_tables, setting_tables
from drivelab.report.sentences.explanation_difference import explained_levels
from drivelab.report.sentences.traced import leads
from drivelab.report.static_figure import Format, write_figures
from drivelab.report.tables.table import Table
from drivelab.report.traced_part import TITLE, told_of, traced_tables

# longer tables nobody reads in Markdown, and GitHub stops showing large files; the CSV files hold everything
ROWS_MAX = 100
NAMES_MAX = 20
_NAME_LENGTH_MAX = 80
FOLDER_ENDING = "-figures"


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures of a report: links to them by the name of their figure.

    Attributes
    ----------
    figures : tuple of NamedFigure
        Those that were drawn.
    links : mapping of str to sequence of (words, address)
        The drawings of each, by the name of the figure.
    """

    figures: tuple[NamedFigure, ...] = ()
    links: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)


def write_markdown_report(joint: Joint, path: Path, figures: Format | None = "svg", *, is_brief: bool = False) -> Path:
    """Path of the report; its pictures lie in a folder beside it, ``NAME-figures``.

    Parameters
    ----------
    figures : str or None
        svg or png; None for a report without pictures.
    is_brief : bool
        Only the answer, one picture, one table and what limits them.

    Raises
    ------
    DrivelabError
        O802: a file cannot be written. O803: a PNG needs a library that is not installed.
    """
    pictures = Pictures()
    if figures:
        folder = path.with_name(f"{path.stem}{FOLDER_ENDING}")
        pictures = _drawn(list(_hero(joint)) if is_brief else named_figures(joint), folder, figures)
    lines = brief_lines(joint, list(_pictures(pictures))) if is_brief else _lines(joint, pictures)
    text = "\n".join(lines) + "\n"
    with report_file(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="\n")
    return path


def markdown_text(joint: Joint) -> str:
    """The report as Markdown without pictures, to be printed."""
    return "\n".join(_lines(joint, Pictures())) + "\n"


def _hero(joint: Joint) -> Iterator[NamedFigure]:
    """The one picture of the report, its file called after what it shows."""
    figure = hero_of(joint)
    if figure is not None:
        plot = figure.plots[0]
        name = file_name(plot.name or figure.title).lower()
        yield NamedFigure(name[:_NAME_LENGTH_MAX], replace(figure, plots=(plot,)))


def _pictures(pictures: Pictures) -> Iterator[str]:
    """All pictures."""
    for one in pictures.figures:
        for words, address in pictures.links.get(one.name, ()):
            yield from (f"![{escaped(typeset(words))}]({address})", "")


def _drawn(named: Sequence[NamedFigure], folder: Path, kind: Format) -> Pictures:
    """The pictures, written."""
    written = write_figures([(one.name, one.figure) for one in named], folder, kind)
    links: dict[str, list[tuple[str, str]]] = {}
    all_words = [", ".join(filter(None, (one.figure.title, one.plot.name))) for one in written]
    for place, (one, words) in enumerate(zip(written, all_words, strict=True)):
        count = all_words.count(words)
        told = f"{words}, {1 + all_words[:place].count(words)} of {count}" if count > 1 else words
        links.setdefault(one.name, []).append((told, f"{quote(folder.name)}/{quote(one.path.name)}"))
    return Pictures(tuple(named), links)


def _lines(joint: Joint, pictures: Pictures) -> Iterator[str]:
    """The report: the answer, its first table and picture, then everything else."""
    own = joint.runs[0] if len(joint.runs) == 1 else None
    tables = [*joint.tables, *(result_tables(own) if own else ())]
    figures = [one for one in pictures.figures if (own or one.run is None) and not is_of_traces(one.figure)]
    if tables:
        # the picture of what the first table tells: effects beside effects
        figures.sort(key=lambda one: not one.figure.key.startswith(tables[0].key))
    yield from _head(joint)
    if own and leads(own):
        yield from _traced(own, pictures.figures, pictures, 2)
    if tables:
        yield from _table(tables[0], 2)
    if figures:
        yield from _figure(figures[0], pictures, 2)
    if own and not leads(own):
        yield from _traced(own, pictures.figures, pictures, 2)
    for table in tables[1:]:
        yield from _table(table, 2)
    if own and own.findings:
        yield from _findings(own, 2)
    for one in figures[1:]:
        yield from _figure(one, pictures, 2)
    if own:
        yield from _records(own, 2)
    else:
        for place, content in enumerate(joint.runs):
            yield from _run(content, [one for one in pictures.figures if one.run == place], pictures)


def _head(joint: Joint) -> Iterator[str]:
    yield from (f"# {escaped(joint.question)}", "")
    names = ", ".join(escaped(content.name) for content in joint.runs[:NAMES_MAX])
    yield from (" · ".join(filter(None, (escaped(joint.title), names))), "")
    for number, sentence in enumerate(joint.sentences):
        text = escaped(typeset(sentence))
        yield from (f"**{text}**" if number == 0 else text, "")
    if len(joint.runs) == 1:
        yield from _list(f"{escaped(name)}: {escaped(value)}" for name, value in headline_facts(joint.runs[0]))
    yield from _list(escaped(typeset(note)) for note in joint.notes)
    for page in (one for one in joint.result_sets if one.is_reference):
        date = f" ({escaped(page.measured)})" if page.measured else ""
        yield from (f"Published numbers: {escaped(page.source)}{date}. What limits them:", "")
        yield from _list(escaped(typeset(note)) for note in page.notes)


def _run(content: ReportContent, figures: Sequence[NamedFigure], pictures: Pictures) -> Iterator[str]:
    """One run of several."""
    yield from (f"## {escaped(content.name)}", "", escaped(content.question), "")
    yield from _list(f"{escaped(name)}: {escaped(value)}" for name, value in headline_facts(content))
    yield from _traced(content, figures, pictures, 3)
    for table in result_tables(content):
        yield from _table(table, 3)
    if content.findings:
        yield from _findings(content, 3)
    for one in figures:
        if not is_of_traces(one.figure):
            yield from _figure(one, pictures, 3)
    yield from _records(content, 3)


def _traced(content: ReportContent, figures: Sequence[NamedFigure], pictures: Pictures, level: int) -> Iterator[str]:
    """Where the time goes, of a run that was traced: sentences, the first picture, tables, the others."""
    if not content.traced:
        return
    yield from (f"{'#' * level} {TITLE}", "")
    has_several = len(content.traced) > 1
    for label, sentences in told_of(content):
        text = escaped(typeset(" ".join(sentences)))
        yield from (f"**{escaped(label)}:** {text}" if has_several else text, "")
    if not content.answer.effects:
        yield from _list(escaped(typeset(text)) for text in explained_levels(content.level_differences))
    own = [one for one in figures if is_of_traces(one.figure)]
    for one in own[:1]:
        yield from _figure(one, pictures, level + 1)
    for table in traced_tables(content):
        yield from _table(table, level + 1)
    for one in own[1:]:
        yield from _figure(one, pictures, level + 1)


def _list(items: Iterable[str]) -> Iterator[str]:
    lines = [f"- {item}" for item in items]
    yield from (*lines, "") if lines else ()


def _table(table: Table, level: int) -> Iterator[str]:
    yield from (f"{'#' * level} {escaped(table.title)}", "")
    shown = table.rows[:ROWS_MAX]
    cut = Table(table.key, table.title, table.columns, shown, table.caption, table.notes)
    yield from table_lines(cut)
    yield ""
    if len(shown) < len(table.rows):
        yield from (f"The first {len(shown)} of {count_text(len(table.rows))} rows; the CSV holds all of them.", "")


def _figure(one: NamedFigure, pictures: Pictures, level: int) -> Iterator[str]:
    figure = one.figure
    yield from (f"{'#' * level} {escaped(figure.title)}", "")
    for words, address in pictures.links.get(one.name, ()):
        yield from (f"![{escaped(typeset(words))}]({address})", "")
    yield from (escaped(typeset(figure.caption)), "")


def _findings(content: ReportContent, level: int) -> Iterator[str]:
    yield from (f"{'#' * level} What to know about these numbers", "")
    labels = {trial.name: trial.label for trial in content.trials}
    for finding in content.findings:
        yield _finding(finding, labels)
    yield ""


def _finding(finding: ReportedFinding, labels: Mapping[str, str]) -> str:
    words = [f"- **{escaped(finding.mark)} {finding.word}:** {escaped(typeset(finding.text))}"]
    words += [f"*{escaped(typeset(finding.advice))}*"] if finding.advice else []
    named = [escaped(labels.get(name, name)) for name in finding.trials[:NAMES_MAX]]
    more = max(finding.trial_count, len(finding.trials)) - len(named)
    if named:
        words.append(f"({'; '.join(named)}{f'; and {count_text(more)} more' if more > 0 else ''})")
    return " ".join(words)


def _records(content: ReportContent, level: int) -> Iterator[str]:
    """How trials were set, and what is known of host and drives."""
    for table in setting_tables(content):
        yield from _table(table, level)
    groups = fact_groups(content.facts)
    if groups:
        yield from (f"{'#' * level} Host, drive, versions, seeds", "")
    for group in groups:
        yield from (f"{'#' * (level + 1)} {escaped(group.name)}", "")
        yield from grid_lines(
            ["fact", "value"], [[escaped(name), escaped(value)] for name, value in group.facts], [False, False]
        )
        yield ""
