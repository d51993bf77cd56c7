"""Finds the journals of processes that ended without putting things back, and puts them back."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drivelab.inventory.sysfs import entries, read_bytes, read_text
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal, left_journals, read_outstanding, sweep_unbegun, take_journal
from drivelab.state.signals import signals_held
from drivelab.state.stuck import StuckJournal, names_in, what_holds
from drivelab.state.undo import undo_all

_PROC = Path("/proc")
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
            holder = _journal_holder(path)
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


@dataclass(frozen=True, slots=True)
class JournalHolder:
    """A process that holds the lock of a journal.

    Attributes
    ----------
    process_id : int
        Its number.
    command : str
        What the kernel calls it: ``mkfs.ext4``.
    device : str
        The last block device on its command line; empty when there is none.
    puts_back : bool
        Whether it took the lock itself, as only drivelab does, and did not inherit it.
    """

    process_id: int
    command: str
    device: str
    puts_back: bool


def _journal_holder(path: Path) -> JournalHolder | None:
    """The process that holds the lock of a journal; None when there is none, or none that this user may see."""
    try:
        status = path.stat()
    except OSError:
        return None
    for process_id in (int(entry) for entry in entries(_PROC) if entry.isdigit()):
        owner = _lock_owner(process_id, os.path.realpath(path), status.st_ino)
        if owner is not None:
            process = _PROC / str(process_id)
            return JournalHolder(
                process_id, read_text(process / "comm") or "?", _device_named(process), puts_back=owner == process_id
            )
    return None


def _lock_owner(process_id: int, path: str, inode: int) -> int | None:
    """Number of the process that took the lock which a process holds on a journal; None when it holds none."""
    process = _PROC / str(process_id)
    for entry in entries(process / "fd"):
        try:
            if os.readlink(process / "fd" / entry) != path:
                continue
        except OSError:
            continue
        # only what was locked through this opening is listed: "lock: 1: FLOCK ADVISORY WRITE 77 fe:00:12 0 EOF"
        for line in (read_text(process / "fdinfo" / entry) or "").splitlines():
            words = line.split()
            if words[:1] == ["lock:"] and words[2] == "FLOCK" and words[6].endswith(f":{inode}"):
                return int(words[5])
    return None


def _device_named(process: Path) -> str:
    arguments = [os.fsdecode(part) for part in (read_bytes(process / "cmdline") or b"").split(b"\0")]
    return next((argument for argument in reversed(arguments) if _is_block_device(argument)), "")


def _is_block_device(path: str) -> bool:
    try:
        return path.startswith("/dev/") and stat.S_ISBLK(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
