"""The undo journal: what is about to be changed is written down, durably, before it is changed.

A journal is one file in the state directory; the process that writes it holds
a lock on it, and so does every program that it starts to change something. A
journal without a lock belongs to a process that has ended, however it ended:
`drivelab.state.restore` puts back what such a journal lists.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivelab.model.errors import DrivelabError


@dataclass(frozen=True, slots=True)
class Change:
    """A change that is about to be made, or was.

    Attributes
    ----------
    number : int
        From 1, in the order in which the changes were made.
    kind : str
        What was changed: a key of `drivelab.state.undo.UNDO`.
    facts : dict
        What is needed to put it back: old values, paths, device names.
    """

    number: int
    kind: str
    facts: dict[str, Any]


class Journal:
    """The journal of one process; made by `begin_journal` or `take_journal`."""

    def __init__(self, path: Path, descriptor: int, header: dict[str, Any], changes: list[Change]) -> None:
        self.path = path
        self.header = header
        self._descriptor = descriptor
        self._changes = changes

    @property
    def descriptor(self) -> int:
        """The open file that carries the lock; a program started with it keeps the journal alive."""
        return self._descriptor

    @property
    def outstanding(self) -> tuple[Change, ...]:
        """Changes that were not put back yet, the newest first."""
        return tuple(reversed(self._changes))

    def will_change(self, kind: str, **facts: Any) -> Change:
        """Write down, durably, what is about to be changed.

        Parameters
        ----------
        kind : str
            A key of `drivelab.state.undo.UNDO`.
        **facts
            What is needed to put it back; plain data.
        """
        change = Change(1 + max((done.number for done in self._changes), default=0), kind, facts)
        self._append({"event": "change", "number": change.number, "kind": kind, "facts": facts})
        self._changes.append(change)
        return change

    def was_undone(self, change: Change) -> None:
        """Write down that a change was put back."""
        self._append({"event": "undone", "number": change.number})
        self._changes.remove(change)

    def close(self) -> None:
        """Give up the lock; a journal without outstanding changes is deleted."""
        if not self._changes:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _append(self, line: dict[str, Any]) -> None:
        """Add a line, durably.

        Raises
        ------
        DrivelabError
            R409: it cannot be written; nothing must be changed then.
        """
        try:
            os.write(self._descriptor, (json.dumps(line) + "\n").encode())
            os.fsync(self._descriptor)
        except OSError as error:
            what = f"the journal cannot be written: {error.strerror}"
            raise DrivelabError("R409", what, where=str(self.path)) from error


def journal_directory() -> Path:
    """Where journals lie: they must be found again after a crash, and by root whoever became it.

    ``$XDG_STATE_HOME/drivelab/journals``; without that variable
    ``/var/lib/drivelab/journals`` for root, and ``~/.local/state/...`` for others.
    """
    state_home = os.environ.get("XDG_STATE_HOME")
    if state_home:
        return Path(state_home) / "drivelab" / "journals"
    if os.geteuid() == 0:
        return Path("/var/lib/drivelab/journals")
    return Path.home() / ".local" / "state" / "drivelab" / "journals"


def begin_journal(directory: Path, **header: Any) -> Journal:
    """A new, empty journal, locked by this process.

    Parameters
    ----------
    directory : Path
        Where journals lie; made when it does not exist.
    **header
        What a person should know who finds it: the command, the run.

    Raises
    ------
    DrivelabError
        R409: it cannot be written.
    """
    name = f"{os.getpid()}-{secrets.token_hex(4)}.jsonl"
    header = {"event": "begin", "pid": os.getpid()} | header
    # locked under a name that no reader looks at, so that none can lock it first
    aside = directory / f".{name}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        journal = Journal(directory / name, descriptor, header, [])
        journal._append(header)
        aside.rename(directory / name)
        _sync_directory(directory)
    except OSError as error:
        raise DrivelabError("R409", f"no journal can be written: {error.strerror}", where=str(directory)) from error
    return journal


def left_journals(directory: Path) -> Iterator[Path]:
    """The journals in a directory, of living and ended processes alike."""
    yield from sorted(path for path in directory.glob("*.jsonl") if not path.name.startswith("."))


def take_journal(path: Path) -> Journal | None:
    """The journal of an ended process, now locked by this one; None while its process lives.

    Raises
    ------
    DrivelabError
        R408: it cannot be understood.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DrivelabError("R408", f"cannot be opened: {error.strerror}", where=str(path)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    try:
        header, changes = _parse(path)
    except (ValueError, KeyError, TypeError) as error:
        os.close(descriptor)
        raise DrivelabError("R408", f"cannot be understood: {error}", where=str(path)) from error
    return Journal(path, descriptor, header, changes)


def _parse(path: Path) -> tuple[dict[str, Any], list[Change]]:
    """Header and outstanding changes; a last line cut off by a crash announced a change that was never made."""
    whole_lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    header: dict[str, Any] = {}
    changes: dict[int, Change] = {}
    for line in map(json.loads, whole_lines):
        if line["event"] == "begin":
            header = line
        elif line["event"] == "change":
            changes[line["number"]] = Change(line["number"], line["kind"], line["facts"])
        elif line["event"] == "undone":
            changes.pop(line["number"], None)
    return header, list(changes.values())


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
