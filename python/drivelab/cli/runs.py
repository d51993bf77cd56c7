"""The command ``drivelab runs``: the runs that are kept, the newest last."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from drivelab.answers.history import is_on
from drivelab.model.errors import DrivelabError
from drivelab.report.terminal.wrapped import fitted, table_lines
from drivelab.store.find_run import kept_runs
from drivelab.store.read import StoredRun, open_run
from drivelab.streams import make_console

SCHEMA = 1
SHOWN_MAX = 15


def command(
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="Only runs on this directory or drive, or of this label.")
    ] = None,
    all_runs: Annotated[bool, typer.Option("--all", help=f"All of them, and not only the newest {SHOWN_MAX}.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the runs that are kept, the newest last; each name works wherever RUN is asked for, and so does LAST."""
    found = [_row(run) for run in readable_runs() if target is None or is_on(target, run.record)]
    shown = found if all_runs or as_json else found[-SHOWN_MAX:]
    if as_json:
        print(json.dumps({"schema": SCHEMA, "runs": shown}, indent=2))
        return
    if not shown:
        print("no run is kept" if target is None else f"no run of {target} is kept")
        return
    console = make_console(soft_wrap=True)
    plain = not console.encoding.startswith("utf")
    heads = ("run", "target", "status", "answer")
    cells = [(row["run"], ", ".join(row["targets"]), row["status"], row["answer"]) for row in shown]
    for line in table_lines([heads, *cells], plain, left=len(heads)):
        print(fitted(line, max(console.width, 40)))
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


def _row(run: StoredRun) -> dict[str, Any]:
    record = run.record
    return {
        "run": run.directory.name,
        "started_utc": record.started_utc or None,
        "experiment": record.experiment.get("name", ""),
        "targets": [str(one.get("label", "")) for one in record.targets],
        "status": record.status,
        "answer": record.verdict.get("sentence", ""),
    }
