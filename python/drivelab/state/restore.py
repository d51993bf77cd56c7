"""Finds the journals of processes that ended without putting things back, and puts them back."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal, left_journals, read_outstanding, sweep_unbegun, take_journal
from drivelab.state.journal_holder import JournalHolder, journal_holder
from drivelab.state.signals import signals_held
from drivelab.state.stuck import StuckJournal, names_in, what_holds
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
    done : tuple of str
        What was put back, in words; empty when nothing was left to do.
    """

    journal: str
    command: str
    done: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restoration:
    """What became of the journals of ended processes.

    Attributes
    ----------
    restored : list of Restored
        Those that were undone.
    stuck : list of StuckJournal
        Those that were not, or not wholly.
    """

    restored: list[Restored]
    stuck: list[StuckJournal]


def require_none_stuck(stuck: Sequence[StuckJournal]) -> None:
    """Return only if no journal is stuck.

    Raises
    ------
    DrivelabError
        R406, R408, R412: of the only one that is; R406 for several, each by its name.
    """
    if len(stuck) == 1:
        raise stuck[0].error
    if stuck:
        what = "; ".join(f"{one.error.what} ({one.path})" for one in stuck)
        do = "; ".join(dict.fromkeys(one.error.do for one in stuck))
        raise DrivelabError("R406", what, where=str(Path(stuck[0].path).parent), do=do)


def put_back(directory: Path, *, is_trusted: bool = False) -> Restoration:
    """Put back what ended processes left changed, as far as that is possible; living ones are left alone.

    Parameters
    ----------
    is_trusted : bool
        Whether those are obeyed too that somebody else may have written.
    """
    found = Restoration([], [])
    sweep_unbegun(directory)
    for path in left_journals(directory):
        try:
            journal = _take(path, is_trusted=is_trusted)
            if journal is not None:
                found.restored.append(_restore(journal))
        except DrivelabError as error:
            found.stuck.append(_stuck(path, error))
    return found


def forget(directory: Path, name: str) -> tuple[Path, list[str]]:
    """Put a journal aside, so that nobody undoes it any more.

    Parameters
    ----------
    name : str
        Its whole file name.

    Returns
    -------
    Path
        Where it lies now.
    list of str
        What it lists and nobody will put back, one text for each change; what cannot be read is not told.

    Raises
    ------
    DrivelabError
        R406: its process still lives. U005: there is no such journal.
    """
    names = [path.name for path in left_journals(directory)]
    if name not in names:
        what = f"{name} is no journal in {directory}"
        raise DrivelabError("U005", what, where="option --forget", do=f"name one of: {', '.join(names) or 'none left'}")
    path = directory / name
    if _writer_lives(path):
        raise DrivelabError("R406", "its process still lives, and puts things back by itself", where=str(path))
    listed = [f"{change.kind}: {json.dumps(change.facts)}" for change in read_outstanding(path)]
    aside = directory / "forgotten"
    aside.mkdir(mode=0o700, exist_ok=True)
    path.rename(aside / name)
    return aside / name, listed


def _restore(journal: Journal) -> Restored:
    with signals_held():
        try:
            done = undo_all(journal)
            return Restored(str(journal.path), str(journal.header.get("command", "")), tuple(done))
        finally:
            journal.close()


def _stuck(path: Path, error: DrivelabError) -> StuckJournal:
    """Of a journal that was not undone: what it still lists, and what to do about it."""
    if error.code == "R412":
        # of what somebody else has written nothing is believed
        return StuckJournal(str(path), error)
    left = read_outstanding(path)
    holds = what_holds(left)
    do = f"{holds}; then run: drivelab restore" if holds else error.do
    do += f" (to give it up: drivelab restore --forget {path.name})"
    told = DrivelabError(error.code, error.what, where=error.where or str(path), do=do)
    return StuckJournal(str(path), told, names_in(left))


def _take(path: Path, *, is_trusted: bool) -> Journal | None:
    """The journal, as soon as no program that its process had started holds it any more.

    Raises
    ------
    DrivelabError
        R406: such a program, or another drivelab that puts things back, does not come to an end.
    """
    begun = time.monotonic()
    while True:
        journal = take_journal(path, is_trusted=is_trusted)
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
        return "State:\tZ" not in status.read_text(errors="replace")
    except OSError:
        return False
