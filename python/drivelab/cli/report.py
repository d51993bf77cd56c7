"""The command ``drivelab report``: writes the page of a run again, from what the run stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.cli.find_run import find_run
from drivelab.cli.run_results import print_results
from drivelab.model.errors import DrivelabError
from drivelab.store.read import StoredRun, open_run


def command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Directory of a run, or its name where runs are kept.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write; else report.html in the run's directory.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the answer here instead of writing a page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Write the report of a run: one HTML file that opens offline and holds all its data.

    Raises
    ------
    DrivelabError
        S504 to S506: not a run, or a damaged one. O801, O802: the page cannot be written.
    """
    if text and as_json:
        raise DrivelabError("U004", "--text and --json exclude each other", where="drivelab report")
    stored = open_run(find_run(run))
    if text:
        print_results(stored) if is_of_experiment(stored) else print_answer(stored)
        return 0
    from drivelab.report.html import write_html_report

    answer = answer_of_run(stored, SHOWN_METRICS) if is_of_experiment(stored) else None
    path = write_html_report(stored, _file(out, stored), answer)
    print(json.dumps({"schema": 1, "run": str(stored.directory), "report": str(path)}) if as_json else path)
    return 0


def is_of_experiment(stored: StoredRun) -> bool:
    """Whether a run carried out the plan of an experiment, so that its trials belong together."""
    return "plan" in stored.run_json


def print_answer(stored: StoredRun) -> None:
    """Print the answer of a run, the numbers, and what limits them."""
    from drivelab.report.gather import gather
    from drivelab.report.text import render_content, text_console

    console = text_console()
    plain = not console.encoding.startswith("utf")
    console.print(render_content(gather(stored), plain=plain))


def _file(out: Path | None, stored: StoredRun) -> Path | None:
    """A directory takes the page under the run's name."""
    return out / f"{stored.name}.html" if out is not None and out.is_dir() else out
