"""What is known of a command without importing it."""

from __future__ import annotations

import keyword
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the program.

    Attributes
    ----------
    name : str
        What is typed, behind that of its group; the command lives in ``drivelab.cli.NAME`` as ``command``.
    summary : str
        One line for the list of commands.
    examples : tuple of str
        Command lines that work, without the leading ``drivelab``.
    takes_words : bool
        Whether words that are no option of it, however they begin, are arguments.
    one_at_a_time : str
        What to do where several targets are named and it takes one.
    commands : tuple of Command
        Those of a group, which itself does nothing.
    """

    name: str
    summary: str
    examples: tuple[str, ...]
    takes_words: bool = False
    one_at_a_time: str = ""
    commands: tuple[Command, ...] = ()

    @property
    def module(self) -> str:
        """The module that holds the command; imported only when the command is run."""
        # a module cannot be called import
        return f"drivelab.cli.{self.name.replace(' ', '_')}{'_' if keyword.iskeyword(self.name) else ''}"

    @property
    def word(self) -> str:
        """What of the name is typed last."""
        return self.name.split()[-1]
