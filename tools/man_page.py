"""Prints drivelab(1), the manual page: the help of every command, in roff."""

from __future__ import annotations

import os
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / "python"))

import typer  # noqa: E402

from drivelab import __version__  # noqa: E402
from drivelab.cli.catalogue import SINGLE_COMMANDS  # noqa: E402
from drivelab.cli.command import Command  # noqa: E402
from drivelab.cli.main import EXIT_CODES, build_program  # noqa: E402

WHAT = "what a storage drive really does, and whether to trust the number"
# before hyphens become two bytes each
_LINE_CHARACTERS = 65
KEPT = "Where runs are kept; else ~/.local/share/drivelab/runs."


def man_page(made: datetime) -> str:
    """The whole page.

    Parameters
    ----------
    made : datetime
        Its date.
    """
    root: Any = typer.main.get_command(build_program(None))
    parts = [
        f'.TH DRIVELAB 1 "{made:%Y-%m-%d}" "drivelab {__version__}" "User Commands"',
        f".SH NAME\ndrivelab \\- {WHAT}",
        ".SH SYNOPSIS\n.B drivelab\n.I COMMAND\n.RI [ OPTIONS ]\n.RI [ ARGUMENTS ]",
        f".SH DESCRIPTION\n{_paragraphs(root.help.replace(EXIT_CODES, ''))}",
        f".SH OPTIONS\n{_parameters(root)}",
        ".SH COMMANDS",
        *(_section(command) for command in SINGLE_COMMANDS),
        f".SH EXIT STATUS\n{_prose(EXIT_CODES.removeprefix('Exit codes: '))}",
        f".SH ENVIRONMENT\n.TP\n.B DRIVELAB_RUNS\n{_text(KEPT)}",
    ]
    return "\n".join([*parts, ""])


def _section(command: Command) -> str:
    """What one command does, its arguments and options, and examples."""
    known: Any = typer.main.get_command(build_program(command.name))
    for word in command.name.split():
        known = known.commands[word]
    examples = "\n".join(_text(f"drivelab {example}") for example in command.examples)
    return "\n".join(
        [
            f'.SS "drivelab {_text(command.name)}"',
            _prose(command.summary),
            f".PP\n{_paragraphs(known.help)}",
            _parameters(known),
            f".PP\nExamples:\n.PP\n.RS 4\n.nf\n{examples}\n.fi\n.RE",
        ]
    )


def _parameters(command: Any) -> str:
    """Arguments and options, each with its help and its default."""
    context = typer.Context(command)
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    return "\n".join(f".TP\n\\fB{_text(typed)}\\fR\n{_prose(told)}" for typed, told in filter(None, records))


def _paragraphs(text: str) -> str:
    return "\n.PP\n".join(_prose(part) for part in text.strip().split("\n\n"))


def _prose(text: str) -> str:
    """A paragraph; how its lines are broken means nothing."""
    lines = textwrap.wrap(text, _LINE_CHARACTERS, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(_text, lines))


def _text(text: str) -> str:
    """Text that roff takes for nothing but text."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def main() -> int:
    """Print the page; its date is SOURCE_DATE_EPOCH where that is set."""
    made = os.environ.get("SOURCE_DATE_EPOCH")
    print(man_page(datetime.fromtimestamp(int(made), UTC) if made else datetime.now(UTC)), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
