"""The undo journal: what is about to be changed is written down, durably, before it is changed.

A journal is one file in the state directory; the process that writes it holds
a lock on it, and so does every program that it starts to change something. A
journal without a lock belongs to a process that has ended, however it ended:
`drivelab.state.restore` puts back what such a journal lists.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.state.journal_owner import make_own_directory, require_own

_ENTRY_BEGINS = tuple(f'{{"event": "{event}", ' for event in ("begin", "change", "note", "undone"))
# what the rest of a value that was cut off may begin, where it is no text
_VALUES_CUT_OFF = ("true", "false", "null", "-", ".", "e-", "e+")
_PIECE_BYTES = 2**16
_MOST_BYTES = 64 * 2**20
# journals that this process has closed, and that still list something
_left_outstanding: list[Path] = []


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

    def note(self, change: Change, **facts: Any) -> None:
        """Add facts to a change, durably where that is possible; an undo does well without them, and better with them.

        Parameters
        ----------
        change : Change
            One that is not put back yet.
        **facts
            Plain data.
        """
        change.facts.update(facts)
        with suppress(DrivelabError):
            self._append({"event": "note", "number": change.number, "facts": facts})

    def was_undone(self, change: Change) -> None:
        """Write down that a change was put back."""
        self._append({"event": "undone", "number": change.number})
        self._changes.remove(change)

    def close(self) -> None:
        """Give up the lock; a journal without outstanding changes is deleted."""
        if self._changes:
            _left_outstanding.append(self.path)
        else:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _append(self, line: dict[str, Any]) -> None:
        """Add a line, durably.

        Raises
        ------
        DrivelabError
            R409: it cannot be written; nothing must be changed then. The
            journal is what it was before.
        """
        content = (json.dumps(line) + "\n").encode()
        size_bytes = os.fstat(self._descriptor).st_size
        try:
            # a disk that is nearly full takes a part of it, and calls that a success
            if os.write(self._descriptor, content) != len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._descriptor)
        except OSError as error:
            # where even that fails, `_parse` knows what a stump means
            with suppress(OSError):
                os.ftruncate(self._descriptor, size_bytes)
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


def left_outstanding() -> tuple[Path, ...]:
    """Journals of this process that list what it could not put back."""
    return tuple(path for path in _left_outstanding if path.exists())


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
        R409: it cannot be written, or others could write where it lies.
    """
    name = f"{os.getpid()}-{secrets.token_hex(4)}.jsonl"
    header = {"event": "begin", "pid": os.getpid()} | header
    # locked under a name that no reader looks at, so that none can lock it first
    aside = directory / f".{name}"
    try:
        make_own_directory(directory)
        descriptor = _open_locked(aside)
        journal = Journal(directory / name, descriptor, header, [])
        try:
            journal._append(header)
            aside.rename(journal.path)
            _sync_directory(directory)
        except BaseException:
            aside.unlink(missing_ok=True)
            journal.close()
            raise
    except OSError as error:
        raise DrivelabError("R409", f"no journal can be written: {error.strerror}", where=str(directory)) from error
    return journal


def _open_locked(path: Path) -> int:
    """A new file that this process has locked."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        # `sweep_unbegun` had the lock first
        os.close(descriptor)


def sweep_unbegun(directory: Path) -> None:
    """Delete what was to become a journal when its process was killed; nothing was changed by then."""
    for path in directory.glob(".*.jsonl"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(descriptor)


def left_journals(directory: Path) -> Iterator[Path]:
    """The journals in a directory, of living and ended processes alike."""
    yield from sorted(path for path in directory.glob("*.jsonl") if not path.name.startswith("."))


def take_journal(path: Path, *, is_trusted: bool = False) -> Journal | None:
    """The journal of an ended process, now locked by this one; None while it is held, or when it is gone.

    Parameters
    ----------
    is_trusted : bool
        Whether it may belong to somebody else.

    Raises
    ------
    DrivelabError
        R408: it cannot be understood. R412: somebody else may have written it.
    """
    try:
        # no link, and no pipe to wait for
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DrivelabError("R408", f"cannot be opened: {error.strerror}", where=str(path)) from error
    try:
        taken = _taken(path, descriptor, is_trusted=is_trusted)
    except BaseException:
        os.close(descriptor)
        raise
    if taken is None:
        os.close(descriptor)
    return taken


def _taken(path: Path, descriptor: int, *, is_trusted: bool) -> Journal | None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise DrivelabError("R408", "is no file", where=str(path))
    if not is_trusted:
        require_own(path, status)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # whoever held it until now has put everything back, and deleted it
        if os.fstat(descriptor).st_nlink == 0:
            return None
        content = _content(descriptor)
        whole = content[: content.rfind(b"\n") + 1]
        header, changes = _parse(whole.decode())
        if whole != content:
            # a last line that a crash cut off, or the next one would be written behind it
            os.ftruncate(descriptor, len(whole))
    except BlockingIOError:
        return None
    except OSError as error:
        raise DrivelabError("R408", f"cannot be read: {error.strerror}", where=str(path)) from error
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DrivelabError("R408", f"cannot be understood: {error}", where=str(path)) from error
    return Journal(path, descriptor, header, changes)


def read_outstanding(path: Path) -> tuple[Change, ...]:
    """Changes of a journal that somebody else holds, the newest first; empty where they cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            text = _content(descriptor).decode()
        finally:
            os.close(descriptor)
        return tuple(reversed(_parse(text[: text.rfind("\n") + 1])[1]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ()


def _content(descriptor: int) -> bytes:
    content = b""
    while piece := os.pread(descriptor, _PIECE_BYTES, len(content)):
        content += piece
        if len(content) > _MOST_BYTES:
            raise ValueError(f"it is larger than {_MOST_BYTES} B")
    return content


def _parse(text: str) -> tuple[dict[str, Any], list[Change]]:
    """Header and outstanding changes of the lines of a journal."""
    header: dict[str, Any] = {}
    changes: dict[int, Change] = {}
    for line in chain.from_iterable(map(_entries, text.split("\n")[:-1])):
        if line["event"] == "begin":
            header = line
        elif line["event"] == "change":
            changes[line["number"]] = _change(line)
        elif line["event"] == "note" and line["number"] in changes:
            changes[line["number"]].facts.update(line["facts"])
        elif line["event"] == "undone":
            changes.pop(line["number"], None)
    return header, list(changes.values())


def _change(line: dict[str, Any]) -> Change:
    number, kind, facts = line["number"], line["kind"], line["facts"]
    if not (isinstance(number, int) and isinstance(kind, str) and isinstance(facts, dict)):
        raise TypeError("a change needs a number, a kind and its facts")
    return Change(number, kind, facts)


def _entries(line: str) -> Iterator[dict[str, Any]]:
    """What a line holds: one entry, or a stump, or those and another entry behind them.

    A stump is the start of an entry that a crash or a full disk cut off. It
    announced a change that was never made, and the next entry stands right
    behind it when it could not be taken away.

    Raises
    ------
    ValueError
        The line is something else.
    """
    try:
        yield json.loads(line)
        return
    except json.JSONDecodeError as error:
        # quotes inside of texts are escaped, so that this stands at the beginning of an entry only
        begin = max(line.rfind(text) for text in _ENTRY_BEGINS)
        if begin > 0:
            yield from _entries(line[:begin])
            yield json.loads(line[begin:])
        elif not _is_stump(line, error):
            raise


def _is_stump(line: str, error: json.JSONDecodeError) -> bool:
    """Whether a line that is no JSON only lacks its end."""
    if not any(line.startswith(text[: len(line)]) for text in _ENTRY_BEGINS):
        return False
    rest = line[error.pos :].strip()
    in_text = error.msg.startswith(("Unterminated string", "Invalid \\"))
    return in_text or not rest or any(value.startswith(rest) for value in _VALUES_CUT_OFF)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
