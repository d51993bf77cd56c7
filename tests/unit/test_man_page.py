"""The manual page: nothing of the command line is missing from it, and readers of manual pages understand it."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

import man_page
from drivelab.cli.catalogue import SINGLE_COMMANDS
from drivelab.cli.command import Command
from drivelab.cli.main import build_program

MADE = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def page() -> str:
    return man_page.man_page(MADE)


def sections(page: str) -> dict[str, str]:
    """The text of each command's section, as a reader shows it."""
    _, *parts = re.split(r'^\.SS "drivelab ([^"]+)"$', page.replace("\\-", "-"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_command_has_a_section_in_the_order_of_work(page: str) -> None:
    assert list(sections(page)) == [command.name for command in SINGLE_COMMANDS]


@pytest.mark.parametrize("command", SINGLE_COMMANDS, ids=lambda command: command.name)
def test_every_option_argument_and_example_of_a_command_stands_in_its_section(command: Command, page: str) -> None:
    known: Any = typer.main.get_command(build_program(command.name))
    for word in command.name.split():
        known = known.commands[word]
    section = sections(page)[command.name]
    heads = " ".join(re.findall(r"^\.TP\n\\fB(.*)\\fR$", section, flags=re.MULTILINE))
    for parameter in known.params:
        flags = parameter.opts + parameter.secondary_opts if parameter.param_type_name == "option" else []
        assert set(flags) <= set(re.findall(r"--?[\w-]+", heads)), parameter.name
        assert " ".join(parameter.help.split()[:3]) in " ".join(section.split())
    assert all(f"\ndrivelab {example}\n" in section for example in command.examples)


def test_the_program_itself_its_date_and_its_exit_codes_are_told(page: str) -> None:
    assert page.startswith('.TH DRIVELAB 1 "2026-01-02" "drivelab ')
    for told in ("\\-\\-version", "\\-\\-show\\-completion", "3 refused for safety", "DRIVELAB_RUNS"):
        assert told in page


def test_text_is_never_taken_for_a_request() -> None:
    assert man_page._text(".SH x") == "\\&.SH x"
    assert man_page._text("'quoted' \\x1b -1") == "\\&'quoted' \\ex1b \\-1"


@pytest.mark.needs_tool("mandoc")
def test_a_strict_reader_finds_nothing_wrong(page: str, tmp_path: Path) -> None:
    path = tmp_path / "drivelab.1"
    path.write_text(page)
    answer = subprocess.run(["mandoc", "-Tlint", "-W", "style", path], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
