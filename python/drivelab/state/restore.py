"""Finds the journals of processes that ended without putting things back, and puts them back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal, left_journals, take_journal
from drivelab.state.undo import undo_all

# how long to wait for a program that a killed drivelab had started, and that holds its journal
_PATIENCE_S = 15.0


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put back for one process that had ended.

    Attributes
    ----------
    journal : str
        Path of its journal.
    command : str
        What it was doing.
    done : tuple of str
        What was put back, in words; empty when nothing was left to do.
    """

    journal: str
    command: str
    done: tuple[str, ...]


def restore_left_over(directory: Path) -> list[Restored]:
    """Put back what ended processes left changed; living ones are left alone.

    Raises
    ------
    DrivelabError
        R406: something could not be put back. R408: a journal cannot be
        understood. The other journals were dealt with all the same.
    """
    restored: list[Restored] = []
    failures: list[DrivelabError] = []
    for path in left_journals(directory):
        try:
            journal = _take(path)
            if journal is not None:
                restored.append(_restore(journal))
        except DrivelabError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return restored


def _restore(journal: Journal) -> Restored:
    try:
        done = undo_all(journal)
        return Restored(str(journal.path), str(journal.header.get("command", "")), tuple(done))
    finally:
        journal.close()


def _take(path: Path) -> Journal | None:
    """The journal, as soon as no program that its process had started holds it any more."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        journal = take_journal(path)
        if journal is not None or not path.exists() or _writer_lives(path) or time.monotonic() > deadline:
            return journal
        time.sleep(0.05)


def _writer_lives(path: Path) -> bool:
    """Whether the process that began the journal is still there; its name begins with the number."""
    number = path.name.partition("-")[0]
    status = Path("/proc") / number / "status"
    try:
        # a killed process whose parent has not asked for it yet is no longer alive
        return "State:\tZ" not in status.read_text()
    except OSError:
        return False
