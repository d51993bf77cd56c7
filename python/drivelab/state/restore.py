"""Finds the journals of processes that ended without putting things back, and puts them back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal, left_journals, read_outstanding, sweep_unbegun, take_journal
from drivelab.state.journal_holder import JournalHolder, journal_holder
from drivelab.state.signals import signals_held
from drivelab.state.undo import undo_all

# how long to wait for a program that a killed drivelab had started, and that holds its journal
_PATIENCE_S = 15.0
# and for another drivelab that puts back what the journal lists: it tells its own user how that ends
_PATIENCE_WITH_RESTORE_S = 60.0


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
        R406: something could not be put back, or a program that a killed run
        had started still works. R408: a journal cannot be understood. The
        other journals were dealt with all the same.
    """
    restored: list[Restored] = []
    failures: list[DrivelabError] = []
    sweep_unbegun(directory)
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
    with signals_held():
        try:
            done = undo_all(journal)
            return Restored(str(journal.path), str(journal.header.get("command", "")), tuple(done))
        finally:
            journal.close()


def _take(path: Path) -> Journal | None:
    """The journal, as soon as no program that its process had started holds it any more.

    Raises
    ------
    DrivelabError
        R406: such a program, or another drivelab that puts things back, does not come to an end.
    """
    begun = time.monotonic()
    while True:
        journal = take_journal(path)
        if journal is not None or not path.exists() or _writer_lives(path):
            return journal
        if time.monotonic() - begun > _PATIENCE_S:
            holder = journal_holder(path)
            if holder is None or not holder.puts_back or time.monotonic() - begun > _PATIENCE_WITH_RESTORE_S:
                raise _still_held(path, holder)
        time.sleep(0.05)


def _still_held(path: Path, holder: JournalHolder | None) -> DrivelabError:
    where = str(path)
    if holder is None:
        return DrivelabError("R406", "a program that a killed run had started still works", where=where)
    if holder.puts_back:
        what = f"drivelab (process {holder.process_id}) is still putting back what a killed run left changed"
        return DrivelabError("R406", what, where=where, do="wait until it has ended, then run: drivelab restore")
    on = holder.device or _last_changed(path)
    what = f"{holder.command} (process {holder.process_id}), started by a killed run, still works"
    do = f"wait until it has ended, or end it: kill {holder.process_id}; then run: drivelab restore"
    return DrivelabError("R406", f"{what} on {on}" if on else what, where=where, do=do)


def _last_changed(path: Path) -> str:
    """What the newest change of a journal was made to: a device, or a file; empty where it does not say."""
    facts = [change.facts for change in read_outstanding(path)]
    named = [str(one[key]) for one in facts for key in ("device", "backing_file", "path") if key in one]
    return next(iter(named), "")


def _writer_lives(path: Path) -> bool:
    """Whether the process that began the journal is still there; its name begins with the number."""
    number = path.name.partition("-")[0]
    status = Path("/proc") / number / "status"
    try:
        # a killed process whose parent has not asked for it yet is no longer alive
        return "State:\tZ" not in status.read_text()
    except OSError:
        return False
