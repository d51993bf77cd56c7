"""The history of many drives as a report, so that it is written as any other."""

from __future__ import annotations

from drivelab.model.comparison import MetricComparison
from drivelab.model.fleet_history import FleetHistory
from drivelab.model.names import counted
from drivelab.report.figures.wear_over_dates import wear_over_dates
from drivelab.report.joint import Joint
from drivelab.report.sentences.comparison import interval_words, row_words, value_words
from drivelab.report.sentences.effect_words import ratio_words
from drivelab.report.sentences.fleet_history import (
    day,
    firmware_words,
    fleet_history_sentences,
    newest_words,
    wear_words,
)
from drivelab.report.tables.table import Table, TableColumn, text_rows

# it has a column of its own
_WEAR = "wear "


def joint_of_fleet_history(history: FleetHistory) -> Joint:
    """The report.

    Parameters
    ----------
    history : FleetHistory
        At least one drive.
    """
    figure = wear_over_dates(history.drives)
    return Joint(
        title=f"{counted(len(history.drives), 'drive')} over time",
        question=f"Which of {counted(len(history.drives), 'drive')} changed over time?",
        sentences=fleet_history_sentences(history),
        tables=(_drives_table(history), *_changed_table(history), *_marks_table(history)),
        figures=(figure,) if figure else (),
    )


def _drives_table(history: FleetHistory) -> Table:
    heads = ("drive", "newest run", "firmware", "wear", "runs", "from", "to", "model")
    rows = [
        [
            one.drive.words,
            newest_words(one),
            firmware_words(one),
            wear_words(one),
            str(len(one.rows)),
            day(one.rows[0]),
            day(one.rows[-1]),
            one.drive.model,
        ]
        for one in history.drives
    ]
    return Table(
        key="drives",
        title="All drives",
        columns=tuple(TableColumn(head, is_number=head == "runs") for head in heads),
        rows=text_rows(rows),
        caption="What changed comes first. The newest run is held against earlier ones of its drive and kind.",
    )


def _changed_table(history: FleetHistory) -> tuple[Table, ...]:
    heads = ("drive", "run", "number", "earlier", "newest", "ratio", "one more run was to lie in", "verdict", "p")
    rows = [[one.drive.words, run.run, *_number_cells(row)] for one in history.drives for run, row in one.changed]
    table = Table(
        key="changed",
        title="Numbers that changed",
        columns=tuple(TableColumn(head, is_number=place in (3, 4, 5, 6, 8)) for place, head in enumerate(heads)),
        rows=text_rows(rows),
        caption="The ratio is newest over earlier; p is corrected for all numbers of all drives (Holm).",
    )
    return (table,) if rows else ()


def _number_cells(row: MetricComparison) -> tuple[str, ...]:
    p_value = f"{row.adjusted_p_value:.2g}" if row.adjusted_p_value is not None else ""
    return (
        row_words(row, {}),
        *value_words(row),
        ratio_words(row.ratio.value),
        interval_words(row),
        row.verdict,
        p_value,
    )


def _marks_table(history: FleetHistory) -> tuple[Table, ...]:
    """What else had changed before a run, of every drive."""
    rows = [
        [day(row), one.drive.words, change, row.run]
        for one in history.drives
        for row in one.rows
        for change in row.changes
        if not change.startswith(_WEAR)
    ]
    rows.sort(key=lambda row: row[0], reverse=True)
    table = Table(
        key="marks",
        title="What else changed",
        columns=tuple(map(TableColumn, ("before the run of", "drive", "changed", "run"))),
        rows=text_rows(rows),
        caption="Since the run before it that knew: host, path, file system, kernel, firmware, drivelab.",
    )
    return (table,) if rows else ()
