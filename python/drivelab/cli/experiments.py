"""The command ``drivelab experiments``: which experiments there are, and what each one asks, does and erases."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from drivelab.cli.experiment_sections import expected_ns, needs_drive, needs_root, sections_of
from drivelab.experiments.load import built_in_names, built_in_text, load_experiment, looks_like_path
from drivelab.experiments.schema import experiment_schema
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.units import format_wait_ns
from drivelab.report.terminal.wrapped import one_line, wrapped
from drivelab.streams import make_console

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
_WIDTH_MIN = 40
# experiments that stand in one line of the list
_FAMILY, _ASKED_BY_FAMILY = "pts-", "What does it sustain, by SNIA's tests?"
_HOUR_NS = 3600 * 10**9
_WHOLE_HOURS_MIN = 9.95


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
    _print_list(experiments, console)


def _toml_of(name: str | None) -> str:
    if name is None:
        what = "--toml prints the file of one experiment"
        raise DrivelabError("U006", what, where="drivelab experiments", do="name it: drivelab experiments NAME --toml")
    if looks_like_path(name):
        raise DrivelabError(
            "U006", f"{name} is a file of yours already", where="drivelab experiments", do=f"cat {name}"
        )
    return built_in_text(name)


def _print_list(experiments: Sequence[Experiment], console: Console) -> None:
    """A line for each; where there is no room for a whole question, its first words."""
    plain = not console.encoding.startswith("utf")
    alone = [one for one in experiments if not one.name.startswith(_FAMILY)]
    family = [one for one in experiments if one.name.startswith(_FAMILY)]
    rows = [("", "", "quick", "full", ""), *map(_row, alone), *([_row_of_family(family)] if family else [])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = max(console.width, _WIDTH_MIN) - sum(widths) + widths[1] - len(widths) + 1
    for name, question, *cells in rows:
        asked = f"{one_line(question, max(room, 1), plain):<{min(room, widths[1])}}"
        line = " ".join([f"{name:<{widths[0]}}", asked, *map(str.rjust, cells[:-1], widths[2:]), cells[-1]]).rstrip()
        console.print(line, style="" if name else "dim", markup=False)
    told = (
        "times are guesses: quick on scratch:1GiB, full on an SSD of 1 TB. What erases needs root, and a drive or "
        "scratch:SIZE; all else takes a directory too. One in full: drivelab experiments NAME"
    )
    if family:
        named = ", ".join(one.name.removeprefix(_FAMILY) for one in family)
        told = f"{_FAMILY}... are {_FAMILY}{named}; {told}"
    for line in wrapped(told, console.width, plain):
        console.print(line, style="dim", markup=False)


def _row(one: Experiment) -> tuple[str, ...]:
    times = (_short_time(expected_ns(one, quick=quick)) for quick in (True, False))
    needs = "erases" if needs_drive(one) else "root" if needs_root(one) else ""
    return one.name, one.question, *times, needs


def _row_of_family(family: Sequence[Experiment]) -> tuple[str, ...]:
    """The tests of one specification in a line, with the longest time of each kind."""
    times = (_short_time(max(expected_ns(one, quick=quick) or 0 for one in family)) for quick in (True, False))
    return f"{_FAMILY}...", _ASKED_BY_FAMILY, *times, _row(family[0])[-1]


def _short_time(time_ns: int | None) -> str:
    """``22 s``, ``12 min``, ``1.2 h``: five characters or six."""
    if time_ns is None:
        return "-"
    hours = time_ns / _HOUR_NS
    return format_wait_ns(time_ns) if hours < 1 else f"{hours:.1f} h" if hours < _WHOLE_HOURS_MIN else f"{hours:.0f} h"


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
