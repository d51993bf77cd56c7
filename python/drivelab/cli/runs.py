"""The command ``drivelab runs``: the runs that are kept, the newest last."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from drivelab.answers.history import is_on
from drivelab.model.errors import DrivelabError
from drivelab.report.parts_of_text import capitalised
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.wrapped import fitted, table_lines
from drivelab.store.find_run import kept_runs
from drivelab.store.read import StoredRun, open_run
from drivelab.streams import make_console

SCHEMA = 1
SHOWN_MAX = 15
_ANSWER_WIDTH_MIN = 30
_OUTCOMES = {"pass": "yes", "fail": "no", "undecided": "undecided"}


def command(
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="Only runs on this directory or drive, or of this label.")
    ] = None,
    all_runs: Annotated[bool, typer.Option("--all", help=f"All of them, and not only the newest {SHOWN_MAX}.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the runs that are kept, the newest last; each name works wherever RUN is asked for, and so does LAST."""
    found = [run for run in readable_runs() if target is None or is_on(target, run.record)]
    shown = [_row(run) for run in (found if all_runs or as_json else found[-SHOWN_MAX:])]
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
    if len(shown) < len(found):
        print(f"{len(found) - len(shown)} older: --all")


def readable_runs() -> Iterator[StoredRun]:
    """The runs that are kept, the oldest first; one that cannot be read is named, and left out."""
    for directory in kept_runs():
        try:
            run = open_run(directory)
        except DrivelabError as error:
            print(f"left out: {directory.name}: {error.what}", file=sys.stderr)
            continue
        yield run


def _lines(rows: Sequence[Mapping[str, Any]], width: int, plain: bool) -> Iterator[str]:
    """The runs with as much of their answers as has room; targets stand where they leave room for answers."""
    cells = [(row["run"], ", ".join(row["targets"])) for row in rows]
    names, targets = (max(map(len, column)) for column in zip(("run", "target"), *cells, strict=True))
    shows_targets = width - names - targets - 4 >= _ANSWER_WIDTH_MIN
    room = max(width - names - 2 - (targets + 2) * shows_targets, 1)
    heads = ("run", "target", "answer") if shows_targets else ("run", "answer")
    told = [heads]
    for row, (name, target) in zip(rows, cells, strict=True):
        state = [] if row["status"] == "complete" else [row["status"]]
        told_first = [*state, *([_OUTCOMES[row["outcome"]]] if row["outcome"] in _OUTCOMES else []), row["answer"]]
        answer = textwrap.shorten(terminal_text(": ".join(told_first), plain), room, placeholder="…")
        told.append((name, target, answer) if shows_targets else (name, answer))
    for line in table_lines(told, plain, left=len(heads)):
        yield fitted(line, width)


def _row(run: StoredRun) -> dict[str, Any]:
    record = run.record
    return {
        "run": run.directory.name,
        "started_utc": record.started_utc or None,
        "experiment": record.experiment.get("name", ""),
        "targets": [str(one.get("label", "")) for one in record.targets],
        "status": record.status,
        "outcome": record.verdict.get("outcome") or None,
        "answer": record.verdict.get("sentence") or _first_sentence(run),
    }


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
    sentences = run_sentences(answer, of_tasks=asks_total_time(run.record.experiment))
    labels = {one.label for one in answer.combinations}
    first = plain_text(next(iter(sentences), ""))
    short = first.removeprefix(f"{labels.pop()}: ") if len(labels) == 1 else first
    return capitalised(short)
