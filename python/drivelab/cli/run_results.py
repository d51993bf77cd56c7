"""What ``drivelab run`` shows at the end: a table with the repeats of every combination of factors together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drivelab.answers.result_set import result_set_of
from drivelab.answers.run_answer import EFFECTS_TABLE, SHOWN_METRICS, answer_of_run
from drivelab.answers.traced_answer import TracedAnswer
from drivelab.cli.effects_table import print_effects
from drivelab.cli.level_reasons import print_level_reasons
from drivelab.cli.results_columns import NOTHING, Cells, NumberColumn, filled_columns, marks_note
from drivelab.cli.run_in_short import told_in_short
from drivelab.model.finding import trials_of
from drivelab.model.names import names_in_words
from drivelab.model.reference_drift import ReferenceDrift
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.model.stored_experiment import asks_total_time
from drivelab.report.combination_labels import combination_labels, combinations_by_table, over_words, tables_of_answer
from drivelab.report.finding_lines import FindingLine
from drivelab.report.gather import finding_lines_of
from drivelab.report.headline import counted_trials, imported_words, what_is_missing
from drivelab.report.sentences.run import plain_text, run_sentences
from drivelab.report.tables.bursts import burst_tables
from drivelab.report.tables.grid import own_tables
from drivelab.report.tables.table_terminal import TerminalTable
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.fitting_table import FittingTable
from drivelab.report.terminal.plots import TextPlots
from drivelab.report.terminal.run_matrix import matrix_of
from drivelab.report.terminal.run_screen import SHORT, render_run_screen, table_lines_of, warning_lines, with_drifts
from drivelab.report.terminal.wrapped import without_trailing_blanks
from drivelab.store.read import StoredRun
from drivelab.store.remote.bring import place_of
from drivelab.store.selection import trial_columns
from drivelab.streams import make_console

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

SCHEMA = 1
ROWS_MAX = 60
FAILURES_MAX = 10
TEXT_LINES_MAX = 60
_OVER_TIME = "throughput-over-time"
_LABEL_WIDTH_MAX = 36
# targets that a title has room to name
_NAMED_MAX = 3
_NAMES_WIDTH_MAX = 56


def results_json(run: StoredRun, report: Path | None, answer: RunAnswer) -> Iterator[str]:
    """Everything about a run as one JSON document, in pieces: a run can have ten thousand trials.

    Parameters
    ----------
    report : Path or None
        Where its page lies; None when it has none.
    """
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "run": str(run.directory),
        "report": str(report) if report else None,
        "status": run.record.status or None,
        "seed": run.record.plan.get("seed"),
        **told_in_short(run, answer),
        **answer.to_json(),
        "findings": [finding.to_json() for finding in run.findings],
        "failures": dict(run.record.failures),
    }
    yield json.dumps(document, indent=2).removesuffix("\n}")
    yield ',\n  "trials": ['
    wanted = ("target", "label", "operation", "is_reference", "estimates_json")
    rows = trial_columns(run, lambda field: field.name in wanted)
    for number, batch in enumerate(rows.to_batches(max_chunksize=1)):
        (row,) = batch.to_pylist()
        estimates = row.pop("estimates_json")
        facts = {name: row[name] for name in ("trial", *wanted[:-1])}
        # the estimates are JSON already
        yield f'{"," if number else ""}\n    {json.dumps(facts)[:-1]}, "estimates": {estimates}}}'
    yield "\n  ]\n}\n"


def print_results(run: StoredRun, answer: RunAnswer | None = None, traced: TracedAnswer | None = None) -> None:
    """Print the tables of a run, its findings, and where it lies."""
    console = make_console()
    found = answer or answer_of_run(run, SHOWN_METRICS)
    with console.capture() as capture:
        _print_all(run, found, traced or TracedAnswer(run, found), console)
    _write_out(capture.get(), run, console)


def print_screen(run: StoredRun, answer: RunAnswer) -> None:
    """Print the answer of a run on one screen."""
    console = make_console()
    experiment = run.record.experiment
    rows = trial_columns(run, lambda field: field.name == "is_reference")["is_reference"].to_pylist()
    missing = what_is_missing(run.record, len(rows))
    is_simulated = all((target.get("facts_before") or {}).get("simulated") for target in run.record.targets)
    where = _where([one.target for one in answer.combinations], is_simulated=is_simulated)
    title = f"{experiment.get('name', '')}{where}: {counted_trials(len(rows), rows.count(True))}"
    # the title says that all drives are models
    findings = [one for one in finding_lines_of(run) if not (is_simulated and one.is_of_models)]
    of_tasks = asks_total_time(experiment)
    with console.capture() as capture:
        screen = render_run_screen(
            answer,
            title,
            run_sentences(answer, of_tasks=of_tasks),
            findings,
            missing=missing,
            is_one_at_a_time=experiment.get("design") == "one-at-a-time",
            of_tasks=of_tasks,
            plain=not console.encoding.startswith("utf"),
        )
        console.print(screen)
        _print_failures(run.record.failures, console)
        console.print()
    _write_out(capture.get(), run, console)


def _where(targets: Sequence[str], *, is_simulated: bool) -> str:
    """On what, as a title has it: of many drives how many."""
    names = list(dict.fromkeys(targets))
    named = f" on {names_in_words(names)}{' (simulated)' if is_simulated else ''}" if names else ""
    # a title that is cut would lose that they are simulated
    if len(names) > _NAMED_MAX or (len(names) > 1 and len(named) > _NAMES_WIDTH_MAX):
        return f" on {len(names)} {'simulated drives' if is_simulated else 'targets'}"
    return named


def print_text(run: StoredRun, answer: RunAnswer) -> None:
    """Print the answer of a run in at most 60 lines: sentences, as many tables as have room, and what limits them."""
    from rich.text import Text

    console = make_console()
    experiment = run.record.experiment
    with console.capture() as told:
        _print_missing(run, console)
        for sentence in run_sentences(answer, of_tasks=asks_total_time(experiment)):
            console.print(Text(plain_text(sentence)))
    with console.capture() as limits:
        _print_short_findings(with_drifts(answer, finding_lines_of(run)), console)
        _print_failures(run.record.failures, console)
    plain = not console.encoding.startswith("utf")
    blocks = [_captured(table, console) for table in _own_tables(run, answer)]
    is_one_at_a_time = experiment.get("design") == "one-at-a-time"
    blocks += [_captured(TerminalTable(table, plain=plain), console) for table in burst_tables(answer.buckets)]
    groups = tables_of_answer(answer)
    # how long tasks take is one table; their rates are among the details
    if asks_total_time(experiment):
        matrix = matrix_of(groups, TEXT_LINES_MAX // 2, partial(terminal_text, plain=plain), of_tasks=True)
        if matrix is not None and not matrix[1]:
            blocks.append(_captured(matrix[0], console))
            groups = []
    for rows in groups:
        most = TEXT_LINES_MAX // 2
        table, more = table_lines_of(rows, answer, most, plain, is_one_at_a_time=is_one_at_a_time)
        lines = _captured(table, console)
        blocks.append([*lines, f"  and {more} more: --details"] if more else lines)
    first, last = ([*part.get().rstrip().splitlines(), ""] for part in (told, limits))
    lines = [*first, *_with_room(blocks, TEXT_LINES_MAX - 2 - len(first) - len(last)), *(last if last[0] else [])]
    imported = f"imported from {imported_words(run.record.imported)}" if run.record.imported else ""
    _write_out("\n".join(lines) + "\n", run, console, imported)


def _own_tables(run: StoredRun, answer: RunAnswer) -> list[TerminalTable]:
    """The tables that the experiment itself holds."""
    views = run.record.experiment.get("views")
    found = own_tables(views, [result_set_of(run, answer)]) if views else ()
    return [TerminalTable(table, plain=not make_console().encoding.startswith("utf")) for table in found]


def _captured(shown: RenderableType, console: Console) -> list[str]:
    with console.capture() as capture:
        console.print(shown)
    return capture.get().rstrip().splitlines()


def _write_out(text: str, run: StoredRun, console: Console, source: str = "") -> None:
    """Write what was made ready, who measured where that is to be told, and where the run lies."""
    # imported here: JSON needs no terminal library
    from rich.text import Text

    console.file.write(without_trailing_blanks(text))
    if source:
        console.print(Text(source), soft_wrap=True)
    console.print(Text(f"run:    {place_of(run.directory)}"), soft_wrap=True)


def _with_room(blocks: Sequence[Sequence[str]], room: int) -> Iterator[str]:
    """The lines of the tables that have room, and how many have none."""
    left_out = 0
    for block in filter(None, blocks):
        if len(block) < room:
            yield from (*block, "")
            room -= len(block) + 1
        else:
            left_out += 1
    if left_out:
        yield from (f"{left_out} more table{'s' if left_out > 1 else ''}: --details", "")


def _print_short_findings(found: Sequence[FindingLine], console: Console) -> None:
    """Each warning on a line; how many notes there are."""
    from rich.text import Text

    plain = not console.encoding.startswith("utf")
    for line in warning_lines(found, plain, most=len(found)):
        console.print(line)
    notes = sum(one.severity == "note" and one.code != SHORT for one in found)
    if notes:
        console.print(Text(f"  and {notes} note{'s' if notes > 1 else ''}: --details", style="dim"))


def _print_all(run: StoredRun, found: RunAnswer, traced: TracedAnswer, console: Console) -> None:
    from rich.text import Text

    _print_missing(run, console)
    sentences = run_sentences(found, of_tasks=asks_total_time(run.record.experiment))
    for sentence in sentences:
        console.print(Text(plain_text(sentence)))
    if sentences:
        console.print()
    for table in _own_tables(run, found):
        console.print(table)
        console.print()
    experiment = run.record.experiment
    is_one_at_a_time = experiment.get("design") == "one-at-a-time"
    over_time = _OVER_TIME in experiment.get("figures", ())
    tables = experiment.get("tables") or ("results",)
    for table in dict.fromkeys((*tables, "results", EFFECTS_TABLE)):
        if table == EFFECTS_TABLE:
            print_effects(found, console)
            print_level_reasons(traced, console)
        elif table == "results":
            _print_combinations(found, console, is_one_at_a_time=is_one_at_a_time, over_time=over_time)
    console.print(TextPlots(found, plain=not console.encoding.startswith("utf")), end="")
    _print_drifts(found.drifts, console)
    print_findings(run, console)
    _print_failures(run.record.failures, console)


def _print_combinations(answer: RunAnswer, console: Console, *, is_one_at_a_time: bool, over_time: bool) -> None:
    from rich.text import Text

    marked = ""
    for rows in combinations_by_table(answer.rows):
        marked += _print_table(rows, console, is_one_at_a_time=is_one_at_a_time, over_time=over_time)
    note = marks_note(marked)
    if note:
        console.print(Text(note, style="dim"))
        console.print()


def _print_drifts(drifts: Sequence[ReferenceDrift], console: Console) -> None:
    from rich.text import Text

    for drift in drifts:
        where = f" on {drift.target}" if len(drifts) > 1 else ""
        console.print(Text(f"{drift.text}{where}", style="yellow" if drift.is_large else "dim"))
    if drifts:
        console.print()


def _print_table(
    rows: Sequence[CombinationResult], console: Console, *, is_one_at_a_time: bool, over_time: bool
) -> str:
    """Print one table; its cells are returned, for the note on their marks."""
    from rich.text import Text

    repeats = max(one.trial_count for one in rows)
    labels = combination_labels(rows, is_one_at_a_time=is_one_at_a_time, is_narrow=True)
    names, label_rows = labels.names, labels.rows
    targets = dict.fromkeys(one.target for one in rows)
    if len(targets) > 1:
        names = ("target", *names)
        label_rows = tuple((one.target, *row) for one, row in zip(rows, label_rows, strict=True))
    where = f"{len(targets)} targets" if len(targets) > 1 else rows[0].target
    console.print(Text(f"{rows[0].label} on {where}: {over_words(rows)}", style="bold"))
    if labels.constant:
        console.print(Text(labels.constant, style="dim"))
    shown = rows[:ROWS_MAX]
    columns = filled_columns(shown, repeats=repeats, over_time=over_time)
    invalid = sum(one.invalid_trials for one in rows)
    if invalid:
        cells = [f"{one.invalid_trials} of {one.trial_count}" if one.invalid_trials else NOTHING for one in shown]
        columns.insert(1, (NumberColumn("invalid\ntrials", ""), cells))

    def make(some: Sequence[Cells]) -> Table:
        return _table(names, label_rows[: len(shown)], some)

    console.print(FittingTable(columns, make))
    if invalid:
        note = f"{trials_of(invalid, sum(one.trial_count for one in rows), 'do not')} describe the drive; see below why"
        console.print(Text(note, style="red"))
    if len(shown) < len(rows):
        note = f"the first {len(shown)} of {len(rows)} combinations; the report and --json have more"
        console.print(Text(note, style="dim"))
    console.print()
    return " ".join(cell for _, cells in columns for cell in cells)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[Cells]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0), show_edge=False)
    for place, name in enumerate(names):
        width = max(len(name), *(len(row[place]) for row in rows))
        # a short label is not broken; a long one is, between its words
        table.add_column(name, min_width=min(width, _LABEL_WIDTH_MAX), max_width=_LABEL_WIDTH_MAX)
    for column, cells in columns:
        width = max(len(line) for text in (column.head, *cells) for line in text.split("\n"))
        table.add_column(column.head, justify="right", no_wrap=True, min_width=width)
    for number in range(len(rows)):
        table.add_row(*rows[number], *(cells[number] for _, cells in columns))
    return table


def print_findings(run: StoredRun, console: Console) -> None:
    """Each kind of finding on one line, with between what its numbers lie."""
    from rich.text import Text

    styles = {"invalid": "red", "warning": "yellow", "note": "dim"}
    lines = finding_lines_of(run)
    for line in lines:
        console.print(Text.assemble((f"{line.severity}: ", styles[line.severity]), line.text, (line.where, "dim")))
    if lines:
        console.print()


def _print_missing(run: StoredRun, console: Console) -> None:
    """How far a run came that is not complete."""
    from rich.text import Text

    rows = trial_columns(run, lambda field: field.name == "is_reference")
    missing = what_is_missing(run.record, rows.num_rows)
    if missing:
        console.print(Text(f"not complete: {missing}", style="bold red"))


def _print_failures(failures: Mapping[str, str], console: Console) -> None:
    from rich.text import Text

    for trial, failure in list(failures.items())[:FAILURES_MAX]:
        console.print(Text(f"{trial} failed: {failure.splitlines()[0]}", style="red"))
    if len(failures) > FAILURES_MAX:
        console.print(Text(f"and {len(failures) - FAILURES_MAX} more steps failed", style="red"))
