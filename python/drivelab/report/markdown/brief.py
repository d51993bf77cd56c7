"""A report as Markdown in short, for an article or a ticket: the answer, a picture, a table or two, what limits it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from drivelab.model.stored_experiment import asks_total_time
from drivelab.report.combination_labels import tables_of_answer
from drivelab.report.content import ReportContent
from drivelab.report.figures.commit_scale import KEY as COMMITS
from drivelab.report.in_short import source_words, warnings_of, where_words
from drivelab.report.joint import Joint
from drivelab.report.markdown.syntax import escaped, table_lines
from drivelab.report.numerals import count_text, typeset
from drivelab.report.run_tables import result_tables
from drivelab.report.sentences.traced import leads
from drivelab.report.tables.fitness import needs_table
from drivelab.report.tables.matrix import matrix_table
from drivelab.report.tables.table import Table
from drivelab.report.traced_part import traced_tables

LINES_MAX = 60
_SENTENCES_MAX = 3
_ROWS_MAX = 20
# so few more are shown, too
_REST_MAX = 2
_NOTES_MAX = 4
_WARNINGS_MAX = 3


def brief_lines(joint: Joint, picture: Sequence[str]) -> Iterator[str]:
    """The report in at most `LINES_MAX` lines.

    Parameters
    ----------
    picture : sequence of str
        Markdown of its one picture; empty for none.
    """
    yield from (f"# {escaped(joint.question)}", "")
    sentences = joint.sentences[:_SENTENCES_MAX]
    for number, sentence in enumerate(sentences):
        text = escaped(typeset(sentence))
        yield from (f"**{text}**" if number == 0 else text, "")
    yield from picture
    for table in _tables(joint):
        yield from _table(table)
    warnings = warnings_of(joint, sentences)[:_WARNINGS_MAX]
    yield from (f"- {escaped(typeset(text))}" for text in warnings)
    if warnings:
        yield ""
    yield f"*{escaped(' · '.join(filter(None, (where_words(joint), source_words(joint)))))}*"


def _tables(joint: Joint) -> Iterator[Table]:
    """What was asked for, of a single run; what a need without a limit is held against; what it is made of."""
    (run,) = joint.runs if len(joint.runs) == 1 else (None,)
    own = list(result_tables(run)) if run else []
    asked = _asked(run, own) if run else None
    if asked is not None:
        yield asked
    yield from [table for table in own if table.key.startswith(COMMITS)][:1]
    leading = joint.leading_tables or [table for table in own if table is not asked][:1]
    # what was varied as columns, where all of it as rows would be too long
    matrix = _matrix(run) if run and any(len(table.rows) > _ROWS_MAX for table in leading) else None
    yield from [matrix] if matrix else leading


def _matrix(run: ReportContent) -> Table | None:
    return matrix_table(tables_of_answer(run.answer), of_tasks=asks_total_time(run.record.experiment))


def _asked(run: ReportContent, own: Sequence[Table]) -> Table | None:
    """The needs of a check, the limits of its only one, or where the time goes, in runs that are about that."""
    checks = (table for table in own if table.key == "checks")
    parts = traced_tables(run) if leads(run) else ()
    return needs_table(run) or next(chain(checks, parts), None)


def _table(table: Table) -> Iterator[str]:
    """The table, or as much of it as is read in an article."""
    yield from (f"## {escaped(table.title)}", "")
    notes = table.notes if len(table.rows) <= _ROWS_MAX and len(table.notes) <= _NOTES_MAX else ()
    # to say that one is left out takes as much room as the row
    rows = table.rows if len(table.rows) <= _ROWS_MAX + _REST_MAX else table.rows[:_ROWS_MAX]
    if not notes:
        # a mark without its note leads nowhere
        rows = tuple(tuple(replace(cell, notes=()) for cell in row) for row in rows)
    yield from table_lines(replace(table, rows=rows, notes=notes))
    yield ""
    if len(rows) < len(table.rows):
        yield from (f"The first {len(rows)} of {count_text(len(table.rows))} rows.", "")
