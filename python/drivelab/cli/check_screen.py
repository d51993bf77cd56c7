"""Prints the answer of a check: on one screen where it is made, and where a report of it is asked for."""

from __future__ import annotations

import shlex
from pathlib import Path

from drivelab.report.content import ReportContent
from drivelab.report.terminal.check_screen import render_check_screen
from drivelab.report.terminal.text import render_content, text_console
from drivelab.report.terminal.wrapped import trimmed
from drivelab.store.find_run import name_to_type


def print_screen(content: ReportContent, directory: Path) -> None:
    """Print the answer on one screen, and where the rest is."""
    console = text_console()
    with trimmed(console):
        console.print(render_check_screen(content, plain=not console.encoding.startswith("utf"), width=console.width))
    print(f"all numbers and intervals: drivelab report {shlex.quote(name_to_type(directory))} --text --details")


def print_in_full(content: ReportContent) -> None:
    """Print the answer, all numbers, and what limits them."""
    console = text_console()
    with trimmed(console):
        console.print(render_content(content, plain=not console.encoding.startswith("utf")))
