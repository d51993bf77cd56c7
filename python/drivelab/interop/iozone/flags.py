"""What the command line of IOzone says of durability and of the page cache."""

from __future__ import annotations

import re
import shlex

from drivelab.model.workload import Durability

_KNOWN = frozenset("eIoBc")


def flags_of(command: str) -> set[str]:
    """The letters of a command line that say how writes are made durable, or what issues the I/O."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return {letter for word in words if re.fullmatch(r"-[A-Za-z]+", word) for letter in word[1:] if letter in _KNOWN}


def durability_of(flags: set[str], operation: str) -> Durability:
    """How the writes of a test are made durable."""
    if operation == "read":
        return Durability(method="none")
    if "o" in flags:
        return Durability(method="o_sync")
    return Durability(method="fsync", at_end=True) if "e" in flags else Durability(method="none")
