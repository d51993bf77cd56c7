"""The command ``drivelab experiments``: which experiments there are, and what each one asks, does and erases."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from drivelab.cli.experiment_sections import expected_ns, needs_drive, needs_root, sections_of
from drivelab.experiments.load import built_in_names, built_in_text, load_experiment, looks_like_path
from drivelab.experiments.schema import experiment_schema
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.units import format_wait_ns
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.wrapped import ellipsis, one_line, wrapped
from drivelab.streams import make_console

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
_WIDTH_MIN = 40
# the sections of one in short, and how many lines each has at most
_SHORT_NAMES = {
    "what is varied": "varies",
    "what is issued": "issues",
    "how often": "order",
    "how long, as a guess": "takes",
    "what it erases": "erases",
}
# what is never cut: somebody decides by it
_WHOLE = ("takes", "erases")
_SECTION_FACTS_MAX = 4
_LINES_MAX = 20
_NAME_WIDTH = 10
# what a line may lose at its end, since words are not divided
_CUT = 12
# experiments that stand in one line of the list
_FAMILY, _ASKED_BY_FAMILY = "pts-", "What does it sustain, by SNIA's tests?"
_HOUR_NS = 3600 * 10**9
_WHOLE_HOURS_MIN = 9.95


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this one; a TOML file of your own works too.")
    ] = None,
    is_whole: Annotated[
        bool, typer.Option("--details", help="Of one: its description, its source, and all that it varies and issues.")
    ] = False,
    as_toml: Annotated[
        bool, typer.Option("--toml", help="Print the file of the experiment, to begin one of your own with.")
    ] = False,
    as_schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of experiment files, for editors.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every key of every experiment.")] = False,
) -> None:
    """List the built-in experiments, or show one: its question, what it varies, and what it would erase.

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
        (_print_in_full if is_whole else _print_in_short)(experiments[0], console)
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
        "scratch:SIZE; all else takes a directory too. One of them: drivelab experiments NAME"
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


def _print_in_short(experiment: Experiment, console: Console) -> None:
    """The first facts of each section, each in two lines or, where they would be too many, in one."""
    width, plain = max(console.width, _WIDTH_MIN), not console.encoding.startswith("utf")
    command = f"drivelab experiments {shlex.quote(experiment.name)}"
    as_file = f"; as a file: {command} --toml" if experiment.name in built_in_names() else ""
    first = wrapped(f"{experiment.name}: {experiment.question}", width, plain)
    last = wrapped(f"in full: {command} --details{as_file}", width, plain)
    told = sections_of(experiment, is_short=True)
    sections = [(_SHORT_NAMES[title], lines) for title, lines in told if title in _SHORT_NAMES]
    for most in (2, 1):
        rows = [row for name, lines in sections for row in _short_rows(name, lines, most, width, plain)]
        if len(first) + len(rows) + len(last) <= _LINES_MAX:
            break
    styled = ((first, "bold"), (rows, ""), (last, "dim"))
    for line, style in ((line, style) for lines, style in styled for line in lines):
        console.print(line, style=style, markup=False)


def _short_rows(name: str, lines: Sequence[str], most: int, width: int, plain: bool) -> Iterator[str]:
    """A section in short: its name before its facts, of most so many lines at most for each of them."""
    is_whole = name in _WHOLE
    shown = lines if len(lines) <= _SECTION_FACTS_MAX else lines[: _SECTION_FACTS_MAX - 1]
    rest = [f"and {len(lines) - len(shown)} more"] if len(shown) < len(lines) else []
    room = width - _NAME_WIDTH
    for line in (*shown, *rest):
        size, text = most * room - (most - 1) * _CUT, terminal_text(line, plain)
        cut = text if is_whole else textwrap.shorten(text, size, placeholder=ellipsis(plain))
        for part in wrapped(cut, room, plain):
            yield f"  {name:<{_NAME_WIDTH - 2}}{part}"
            name = ""


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
