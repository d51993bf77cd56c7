"""The command ``drivelab runs``: the runs that are kept, the newest first."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from drivelab.answers.history import is_on
from drivelab.model.errors import DrivelabError
from drivelab.model.finding import trials_of
from drivelab.model.stored_experiment import EXPLAIN
from drivelab.model.units import glued
from drivelab.report.outcome_words import short_verdict
from drivelab.report.parts_of_text import capitalised, clauses_in_lines
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.wrapped import ellipsis, one_line, table_lines
from drivelab.store.find_run import all_kept, kept_followed, kept_runs
from drivelab.store.followed import StoredFollowed, open_followed
from drivelab.store.read import StoredRun, open_run
from drivelab.store.run_record import RunRecord
from drivelab.streams import make_console

SCHEMA = 1
SHOWN_MAX = 10
_HEADS = ("#", "when (UTC)", "experiment", "drive")
_GAP = "  "
_EXPERIMENT_WIDTH, _TARGET_WIDTH, _ANSWER_WIDTH_MIN, _ANSWER_LINES_MAX = 16, 16, 20, 3
_Stored = TypeVar("_Stored")


def command(
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="Only runs on this directory or drive, or of this label.")
    ] = None,
    all_runs: Annotated[bool, typer.Option("--all", help=f"All of them, and not only the newest {SHOWN_MAX}.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the runs that are kept, the newest first.

    The number of a run works wherever RUN is asked for, until another run is
    made. So do its name, which --json tells, or the time with which that begins,
    and LAST, which is number 1.
    """
    kept: list[StoredRun | StoredFollowed] = [*readable_runs(), *_readable(kept_followed(), open_followed)]
    numbers = {directory: number for number, directory in enumerate(all_kept(), start=1)}
    kept.sort(key=lambda one: numbers[one.directory])
    found = [one for one in kept if target is None or is_on(target, _record(one))]
    shown = [_row(one, numbers[one.directory]) for one in (found if all_runs or as_json else found[:SHOWN_MAX])]
    if as_json:
        print(json.dumps({"schema": SCHEMA, "runs": shown}, indent=2))
        return
    if not shown:
        print("no run is kept" if target is None else f"no run of {target} is kept")
        return
    console = make_console(soft_wrap=True)
    plain = not console.encoding.startswith("utf")
    for line in _lines(shown, max(console.width, 40), plain):
        print(line)
    print(f"to see one: drivelab report {shown[0]['number']}")
    if len(shown) < len(found):
        print(f"{len(found) - len(shown)} older: --all")


def readable_runs() -> Iterator[StoredRun]:
    """The runs that are kept, the oldest first; one that cannot be read is named, and left out."""
    yield from _readable(kept_runs(), open_run)


def _readable(directories: Sequence[Path], opened: Callable[[Path], _Stored]) -> Iterator[_Stored]:
    for directory in directories:
        try:
            yield opened(directory)
        except DrivelabError as error:
            print(f"left out: {directory.name}: {error.what}", file=sys.stderr)


def _record(stored: StoredRun | StoredFollowed) -> RunRecord:
    return stored.as_run if isinstance(stored, StoredFollowed) else stored.record


def _lines(rows: Sequence[Mapping[str, Any]], width: int, plain: bool) -> Iterator[str]:
    """A head, and a line or two each: number, date, experiment, drive, and what it came to as far as there is room."""
    from rich.cells import cell_len

    cells = [
        (
            str(row["number"]),
            (row["started_utc"] or "")[:16].replace("T", " ") or "-",
            one_line(row["experiment"] or "-", _EXPERIMENT_WIDTH, plain),
            _targets(row["targets"], plain),
        )
        for row in rows
    ]
    columns = list(table_lines([_HEADS, *cells], plain, left=len(_HEADS)))
    start = max(cell_len(line) for line in columns) + len(_GAP)
    yield f"{columns[0].ljust(start)}answer"
    for line, row in zip(columns[1:], rows, strict=True):
        room = max(width - start, _ANSWER_WIDTH_MIN)
        mark = ellipsis(plain)
        text = glued(terminal_text(_answer(row), plain))
        told = textwrap.wrap(text, room, max_lines=_ANSWER_LINES_MAX, placeholder=mark)
        # whole clauses, where two lines hold at least one
        told = clauses_in_lines(text, partial(textwrap.wrap, width=room), _ANSWER_LINES_MAX) or told
        first, *more = [terminal_text(one, plain) for one in told] or [""]
        yield f"{line}{' ' * (start - cell_len(line))}{first}"
        # a comma or a colon before what was cut off leads nowhere
        yield from (f"{' ' * start}{re.sub(rf'[:;,]{re.escape(mark)}$', mark, one)}" for one in more)


def _targets(targets: Sequence[str], plain: bool) -> str:
    """The first target, of a long one its end, which tells paths apart, and how many more there are."""
    more = f" +{len(targets) - 1}" if len(targets) > 1 else ""
    text, room = terminal_text("".join(targets[:1]), plain), _TARGET_WIDTH - len(more)
    mark = ellipsis(plain)
    return (text if len(text) <= room else f"{mark}{text[len(mark) - room :]}") + more


def _answer(row: Mapping[str, Any]) -> str:
    """How it ended, where that was not well, and why; else its verdict in a few words, or its first sentence."""
    if row["error"]:
        return f"{row['status']}: {row['error']}"
    told = row["in_short"] or row["answer"] or "nothing was measured"
    return told if row["status"] == "complete" else f"{row['status']}; {told}"


def _row(stored: StoredRun | StoredFollowed, number: int) -> dict[str, Any]:
    record = _record(stored)
    told = record.verdict.get("sentence") or record.answer
    explanation = _explanation(stored) if isinstance(stored, StoredRun) else ("", "")
    return {
        "number": number,
        "run": stored.directory.name,
        "started_utc": record.started_utc or None,
        "experiment": record.experiment.get("name", ""),
        "targets": [str(one.get("label", "")) for one in record.targets],
        "status": record.status,
        "error": record.error or None,
        "outcome": record.verdict.get("outcome") or None,
        "in_short": short_verdict(record.verdict) or explanation[0],
        "answer": told or explanation[1] or ("" if isinstance(stored, StoredFollowed) else _first_sentence(stored)),
    }


def _explanation(run: StoredRun) -> tuple[str, str]:
    """Where the time of an explained run went, in a few words and in a sentence; empty for any other."""
    if run.record.experiment.get("name") != EXPLAIN:
        return "", ""
    from drivelab.answers.explanations import explanations_of
    from drivelab.report.sentences.explanation import explanation_sentences
    from drivelab.report.sentences.run import plain_text
    from drivelab.report.sentences.traced import short_explanation

    try:
        first = next(iter(explanations_of(run)), None)
    except DrivelabError:
        return "", ""
    if first is None:
        return "", ""
    return plain_text(short_explanation(first)), next(iter(explanation_sentences(first)), "")


def _first_sentence(run: StoredRun) -> str:
    """The first sentence of what an experiment came to, without the name of its only workload; empty where none is."""
    # imported here: where only checks are kept, nothing is analysed
    from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
    from drivelab.report.sentences.run import asks_total_time, plain_text, run_sentences

    try:
        answer = answer_of_run(run, SHOWN_METRICS)
    except DrivelabError:
        # a run without a single trial, or one that is damaged: its report says why
        return ""
    if not answer.combinations:
        return trials_of(run.trials.num_rows, len(run.record.plan.get("steps", ())) or run.trials.num_rows)
    sentences = run_sentences(answer, of_tasks=asks_total_time(run.record.experiment))
    labels = {one.label for one in answer.combinations}
    first = plain_text(next(iter(sentences), ""))
    short = first.removeprefix(f"{labels.pop()}: ") if len(labels) == 1 else first
    return capitalised(short)
