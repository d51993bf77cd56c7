"""Completion of command lines in bash, zsh and fish: typer's scripts, and what they ask for when Tab is pressed."""

from __future__ import annotations

import os

import typer
from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script
from typer.completion import shell_complete

from drivelab.cli.catalogue import command_of
from drivelab.cli.main import build_program

# set by the scripts: which shell asks; the one variable that __main__ looks for
VARIABLE = "_DRIVELAB_COMPLETE"
# where the shells put what has been typed
_TYPED = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")


def completion_script(shell: str) -> str:
    """What bash, zsh or fish has to read, so that it completes command lines of drivelab."""
    script = get_completion_script(prog_name="drivelab", complete_var=VARIABLE, shell=shell)
    # zsh reads the file when Tab is pressed for the first time, and then asks what it has defined
    return f"{script}\n" + ('[[ $funcstack[1] != _drivelab ]] || _drivelab_completion "$@"\n' if shell == "zsh" else "")


def complete() -> int:
    """Print what the typed words may go on with, as the script of the shell wants it; exit status.

    Of all commands only the one that was typed is imported.
    """
    typed = " ".join(os.environ.get(name, "") for name in _TYPED).split()
    chosen = command_of(typed[1:])
    # an explanation is one line, however long: fish takes the next one for another word
    os.environ["COLUMNS"] = "10000"
    completion_init()
    program = typer.main.get_command(build_program(chosen.name if chosen else None))
    return shell_complete(program, {}, "drivelab", VARIABLE, os.environ[VARIABLE])
