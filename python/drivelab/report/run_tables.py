"""What one run tells in tables, as data that every format writes: results, effects, trials, checks, settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.run_answer import CombinationResult
from drivelab.report.answer import VerdictBlock, answer_of
from drivelab.report.combinations_table import CombinationsTable, combinations_data, combinations_table
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.effects_table import EffectsTable, effects_tables
from drivelab.report.figures.commit_scale import KEY as COMMITS
from drivelab.report.figures.commit_scale import OWN_TIME_CAPTION, CommitScale, commit_data, commit_scales
from drivelab.report.figures.figure import Cell, DataTable
from drivelab.report.figures.of_run import compares_tenths
from drivelab.report.headline import measured_words
from drivelab.report.numerals import number_text, span_beside, typeset
from drivelab.report.outcome_words import OF_A_LIMIT
from drivelab.report.reported_findings import ReportedFinding
from drivelab.report.results_table import NumberCell, ResultsTable, results_table
from drivelab.report.settings_table import Setting, SettingsTable, settings_table
from drivelab.report.tables.job_file import job_file_table
from drivelab.report.tables.table import Table, TableCell, TableColumn, numbered, text_rows

RESULTS_CAPTION = (
    "In parentheses the 95\u00a0% interval, corrected for the dependence of neighbouring I/Os. “≥” is a bound, and "
    "“seen” what this sample showed: too few independent I/Os for that quantile."
)
COMBINATIONS_CAPTION = "“≥” is a bound, and “seen” what the samples showed: too few independent I/Os for an interval."
COMMITS_CAPTION = (
    "In parentheses the range of the forecast; other rows are made of the mean latency of small durable writes that "
    f"was published. {OWN_TIME_CAPTION}"
)
SETTINGS_CAPTION = (
    "Asked → achieved, as read back or measured; ≠ where the two differ. Sizes: issued → seen by the drive."
)
_EFFECT_COLUMNS = ("level", "baseline", "ratio", "95\u00a0% interval", "verdict", "commands per operation")
_CHECK_COLUMNS = ("asked", "limit", "measured", "95\u00a0% interval", "margin", "outcome", "source")
_NOTHING = "–"


def result_tables(content: ReportContent) -> tuple[Table, ...]:
    """The numbers of a run: checks of a need, effects, combinations, then its trials one by one.

    Parameters
    ----------
    content : ReportContent
        The run; marks of its findings stand at the numbers that they touch.
    """
    judged = answer_of(content.verdict, content.trials, content.findings).verdicts
    combinations = combinations_table(
        content.answer,
        is_one_at_a_time=content.experiment.get("design") == "one-at-a-time",
        over_time=compares_tenths(content),
    )
    found = [_checks_table(block) for block in judged if block.checks]
    found += [_commits_table(scale) for scale in commit_scales(content.verdict, measured_words(content))]
    found += [
        _effects_table(table)
        for table in effects_tables(content.answer.effects, content.answer, content.level_differences)
    ]
    if combinations:
        found += _combination_tables(combinations, content)
    found += _trial_tables(results_table(content.trials, content.findings), content.findings)
    return numbered(found)


def setting_tables(content: ReportContent) -> tuple[Table, ...]:
    """How each trial was set, and what a job file did not get; nothing where no trial was completed."""
    table, of_job_file = settings_table(content.trials), job_file_table(content.record)
    own = (_settings_table(table),) if table.rows else ()
    return own if of_job_file is None else (*own, of_job_file)


def _checks_table(block: VerdictBlock) -> Table:
    rows = [
        (
            typeset(check.text) + ("" if check.force == "required" else f" ({check.force})"),
            check.limit,
            check.told,
            check.interval,
            check.margin,
            OF_A_LIMIT.get(check.outcome, check.outcome) + (f": {typeset(check.why)}" if check.why else ""),
            typeset(check.source),
        )
        for check in block.checks
    ]
    title = f"What {block.title or block.need} asks for"
    return Table("checks", title, tuple(TableColumn(name) for name in _CHECK_COLUMNS), text_rows(rows))


def _commits_table(scale: CommitScale) -> Table:
    """How often a program would commit here and on published drives, the slowest first."""
    cells = []
    for place in scale.places:
        interval = ""
        if place.low and place.high:
            interval = span_beside(*(number_text(end) for end in (place.rate, place.low, place.high)))
        cells.append((TableCell(place.name), TableCell(number_text(place.rate), interval)))
    columns = (TableColumn("drive"), TableColumn("commits a second", is_number=True))
    title = f"{scale.program.title}: commits a second by one client"
    return Table(COMMITS, title, columns, tuple(cells), COMMITS_CAPTION, data=commit_data([scale]))


def _effects_table(table: EffectsTable) -> Table:
    columns = tuple(TableColumn(name, is_number=name == "ratio") for name in _EFFECT_COLUMNS)
    rows = [
        [typeset(text) for text in (row.level, row.baseline, row.ratio, row.interval, row.verdict_text, row.commands)]
        for row in table.rows
    ]
    caption = " ".join(typeset(note) for note in (*table.reasons, *table.notes))
    return Table("effects", typeset(table.title), columns, text_rows(rows), caption)


def _combination_tables(table: CombinationsTable, content: ReportContent) -> Iterator[Table]:
    by_place: dict[tuple[str, str], list[CombinationResult]] = {}
    for one in content.answer.rows:
        by_place.setdefault((one.target, one.workload), []).append(one)
    for group, members in zip(table.groups, by_place.values(), strict=False):
        columns = [TableColumn(_bare(header.full), header.unit, is_number=True) for header in table.headers]
        rows = [[TableCell(typeset(row.label)), *(TableCell(*cell) for cell in row.cells)] for row in group.rows]
        words = [f"{typeset(group.constant)}."] if group.constant else []
        words += [COMBINATIONS_CAPTION] if table.has_uncertain else []
        words += [table.repeat_words] if table.repeat_words and group is table.groups[0] else []
        if len(rows) < len(members):
            words.append(f"The first {len(rows)} of {len(members)} combinations; the CSV holds all of them.")
        yield _without_empty(
            Table(
                "combinations",
                _title(group.title),
                (TableColumn("combination"), *columns),
                tuple(tuple(row) for row in rows),
                " ".join(words),
                data=combinations_data(members),
            )
        )


def _title(text: str) -> str:
    """A title of the page, whose intervals stand below the numbers; here they stand beside them."""
    beside = text.replace("below it their range", "in parentheses their range")
    return typeset(beside.replace("below the numbers", "in parentheses"))


def _trial_tables(table: ResultsTable, findings: Sequence[ReportedFinding]) -> Iterator[Table]:
    """A table for each kind of trial; marks of findings stand at the numbers that they touch."""
    for group, rows in table.groups:
        columns = (TableColumn("trial"), *(TableColumn(_bare(h.full), h.unit, is_number=True) for h in table.headers))
        cells = [
            (TableCell(f"{row.trial.label}{_marks(row.marks, findings)}"), *(_cell(c, findings) for c in row.cells))
            for row in rows
        ]
        data = _trial_data([row.trial for row in rows])
        yield _without_empty(
            Table("trials", f"{group}, trial by trial", columns, tuple(cells), RESULTS_CAPTION, data=data)
        )


def _bare(head: str) -> str:
    """A head without its unit, which stands beside it."""
    return head.rpartition(" [")[0] or head


def _cell(cell: NumberCell, findings: Sequence[ReportedFinding]) -> TableCell:
    return TableCell(f"{cell.value}{_marks(cell.marks, findings) if cell.value else ''}", cell.interval)


def _marks(numbers: Sequence[int], findings: Sequence[ReportedFinding]) -> str:
    return "".join(f" {findings[number - 1].mark}" for number in numbers)


def _trial_data(trials: Sequence[TrialContent]) -> DataTable:
    """Every estimate of every trial, in internal units."""
    metrics = list(dict.fromkeys(name for trial in trials for name in trial.estimates))
    rows: list[list[Cell]] = []
    for trial in trials:
        row: list[Cell] = [trial.name, trial.label]
        for metric in metrics:
            found = trial.estimates.get(metric)
            row += [None] * 3 if found is None else [found.value, found.low, found.high]
        rows.append(row)
    ends = ("", "_low", "_high")
    return DataTable(("trial", "label", *(f"{metric}{end}" for metric in metrics for end in ends)), rows)


def _without_empty(table: Table) -> Table:
    """The table without columns in which no row has a number, nor saw one."""
    kept = [
        place
        for place in range(len(table.columns))
        if place == 0 or any(row[place].text not in ("", _NOTHING) or row[place].interval for row in table.rows)
    ]
    columns = tuple(table.columns[place] for place in kept)
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return Table(table.key, table.title, columns, rows, table.caption, table.notes, table.data)


def _settings_table(table: SettingsTable) -> Table:
    columns = (TableColumn("trial"), *(TableColumn(name) for name in table.columns))
    rows = [[row.trial.label, *(_setting_text(setting) for setting in row.settings)] for row in table.rows]
    names = [f"{name} {which}" for name in table.columns for which in ("asked", "achieved")]
    data = DataTable(
        ("trial", "label", *names),
        [
            [row.trial.name, row.trial.label, *(text for one in row.settings for text in (one.asked, one.achieved))]
            for row in table.rows
        ],
    )
    return Table("settings", "How each trial was set", columns, text_rows(rows), SETTINGS_CAPTION, data=data)


def _setting_text(setting: Setting) -> str:
    if not setting.asked and not setting.achieved:
        return ""
    remark = f" ({setting.remark})" if setting.remark else ""
    return f"{setting.asked} {'≠' if setting.agrees is False else '→'} {setting.achieved}{remark}"
