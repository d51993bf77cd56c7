"""A journal around a block: whatever ends the block, what it has changed is put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from drivelab.state.journal import Journal, begin_journal, journal_directory
from drivelab.state.signals import signals_held, signals_obeyed
from drivelab.state.undo import undo_all


@contextmanager
def begun_journal(command: str) -> Iterator[Journal]:
    """A new journal while the block runs; then everything that it lists is put back.

    Parameters
    ----------
    command : str
        What a person should know who finds it.

    Raises
    ------
    DrivelabError
        R406: something could not be put back. R409: no journal can be written.
    """
    with signals_held():
        journal = begin_journal(journal_directory(), command=command)
        try:
            with signals_obeyed():
                yield journal
        finally:
            try:
                undo_all(journal)
            finally:
                journal.close()
