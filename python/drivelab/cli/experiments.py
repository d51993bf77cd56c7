"""The command ``drivelab experiments``: which experiments there are, and what each one asks, does and erases."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from drivelab.cli.experiment_sections import sections_of
from drivelab.experiments.load import built_in_names, built_in_text, load_experiment, looks_like_path
from drivelab.experiments.schema import experiment_schema
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.report.terminal.wrapped import fitted, table_lines
from drivelab.streams import make_console

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
_WIDTH_MIN = 40


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this one in full; a TOML file of your own works too.")
    ] = None,
    as_toml: Annotated[
        bool, typer.Option("--toml", help="Print the file of the experiment, to begin one of your own with.")
    ] = False,
    as_schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of experiment files, for editors.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every key of every experiment.")] = False,
) -> None:
    """List the built-in experiments, or show one in full: its question, what it varies, and what it would erase.

    A TOML file of your own works wherever a built-in name does.
    """
    if as_schema:
        print(json.dumps(experiment_schema(), indent=2, ensure_ascii=False))
        return
    if as_toml:
        print(_toml_of(name), end="")
        return
    experiments = [load_experiment(one) for one in ([name] if name else built_in_names())]
    if as_json:
        document = {"schema": SCHEMA, "experiments": [experiment.model_dump(mode="json") for experiment in experiments]}
        print(json.dumps(document, indent=2))
        return
    # imported here: JSON needs no terminal library

    console = make_console(soft_wrap=True)
    if name:
        _print_in_full(experiments[0], console)
        return
    plain = not console.encoding.startswith("utf")
    for line in table_lines([(one.name, one.question) for one in experiments], plain, left=2):
        console.print(fitted(line, max(console.width, _WIDTH_MIN)), markup=False)
    console.print("one in full: drivelab experiments NAME", style="dim")


def _toml_of(name: str | None) -> str:
    if name is None:
        what = "--toml prints the file of one experiment"
        raise DrivelabError("U006", what, where="drivelab experiments", do="name it: drivelab experiments NAME --toml")
    if looks_like_path(name):
        raise DrivelabError(
            "U006", f"{name} is a file of yours already", where="drivelab experiments", do=f"cat {name}"
        )
    return built_in_text(name)


def _print_in_full(experiment: Experiment, console: Console) -> None:
    from rich.text import Text

    width = max(console.width, _WIDTH_MIN)
    console.print(Text(textwrap.fill(f"{experiment.name}: {experiment.question}", width), style="bold"))
    for paragraph in experiment.description.strip().split("\n\n"):
        console.print()
        console.print(Text(textwrap.fill(" ".join(paragraph.split()), width)))
    for title, lines in sections_of(experiment):
        console.print()
        console.print(Text(title, style="bold"))
        for line in lines:
            console.print(Text(textwrap.fill(line, width, initial_indent="  ", subsequent_indent="    ")))
