"""The list of drives that may be erased: what of it is the consent for a drive, and which lines mean none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from drivelab.experiments.load import FILE_BYTES_MAX, text_of
from drivelab.fleet.hosts import require_host
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_plan import FleetItem
from drivelab.plan.fleet import Drive

# what a shell makes of <(command): open already, so that somebody writes to it
_OPEN_ALREADY = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
_NOTE = "#"
_LISTED = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+-]*")


class EraseList:
    """Drives that may be erased.

    Parameters
    ----------
    lines : iterable of str
        Serials, ``HOST:NAME`` and ``HOST:SERIAL``.
    may_mean_others : bool
        Whether drives of hosts may be listed that are not asked.
    """

    def __init__(self, lines: Iterable[str] = (), *, may_mean_others: bool = False) -> None:
        self.lines = tuple(lines)
        self._may_mean_others = may_mean_others
        self._by_name: dict[str, list[str]] = {}
        for line in self.lines:
            self._by_name.setdefault(_without_contents(line), []).append(line)

    def consent(self, host: str, drive: Drive) -> tuple[str, ...]:
        """What of the list is the consent for one drive, as ``--erase`` takes it.

        Parameters
        ----------
        host : str
            Where the drive is.
        drive : Drive
            One of ``drivelab drives --json --all``.
        """
        of_host = (self._by_name.get(f"{host}:{name}", ()) for name in (*drive["serials"], drive["name"]))
        own = [line for serial in drive["serials"] for line in self._by_name.get(serial, ())]
        return (*own, *(line.removeprefix(f"{host}:") for lines in of_host for line in lines))

    def without_drive(self, drives: Mapping[str, Sequence[Drive]], *, are_all: bool) -> tuple[list[str], list[str]]:
        """Lines that mean no drive, and lines of which that is not known.

        Parameters
        ----------
        drives : mapping of str to sequence of Drive
            What each host has, of those that have told it.
        are_all : bool
            Whether all hosts have.
        """
        known = {str(serial) for found in drives.values() for drive in found for serial in drive["serials"]}
        known |= {
            f"{host}:{name}"
            for host, found in drives.items()
            for drive in found
            for name in (*drive["serials"], drive["name"])
        }
        left = [line for line in self.lines if _without_contents(line) not in known]
        is_known = are_all and not self._may_mean_others
        none = [line for line in left if is_known or (":" in line and line.partition(":")[0] in drives)]
        return none, [line for line in left if line not in none]


def load_erase_list(path: Path | None, hosts: Collection[str] | None, *, chosen: Collection[str] = ()) -> EraseList:
    """What may be erased: a serial, or ``HOST:NAME``, on each line; what stands behind a ``#`` is a note.

    Parameters
    ----------
    path : Path or None
        The file, or a pipe that is open already; None is an empty list.
    hosts : collection of str or None
        All hosts that there are, also those that are not meant now; None where they are not known.
    chosen : collection of str
        Those that are meant now.

    Raises
    ------
    DrivelabError
        F902: it cannot be read, holds a line that is no serial, or names a host that there is not.
    """
    found: list[str] = []
    lines = _text_of(path).splitlines() if path else ()
    for number, line in enumerate(lines, 1):
        words, where = line.partition(_NOTE)[0].split(), f"{path}:{number}"
        if len(words) > 1:
            do = "write one serial on each line; a note begins with #"
            raise DrivelabError("F902", f"'{' '.join(words)}' is not one serial", where=where, do=do)
        for word in words:
            if not _LISTED.fullmatch(word):
                do = "write the serial of a drive, or HOST:NAME, as 'drivelab fleet drives' tells them"
                raise DrivelabError("F902", f"'{word}' is no serial", where=where, do=do)
            host, colon, _ = word.partition(":")
            if colon and hosts is not None:
                require_host("F902", host, hosts, where)
        found += words
    return EraseList(found, may_mean_others=hosts is None or set(chosen) != set(hosts))


def name_to_type_again(path: Path | None) -> Path | None:
    """What is typed for a list when it is wanted again: a pipe is read once, so some file then."""
    return Path(word_to_type_again(str(path))) if path is not None else None


def word_to_type_again(word: str) -> str:
    """A word of a command, in which a file that a shell has opened for it alone is some file."""
    option, equals, value = word.rpartition("=")
    return f"{option}{equals}FILE" if value.startswith(_OPEN_ALREADY) else word


def not_measured(lines: Iterable[str], items: Iterable[FleetItem]) -> list[str]:
    """Lines of a list but those that mean what is measured already."""
    known: set[str] = set()
    for item in items:
        if item.state == "complete":
            own = {item.drive[key] for key in ("serial", "wwn") if key in item.drive}
            consents = map(_without_contents, item.plan.consents if item.plan else ())
            known |= own | {f"{item.host}:{name}" for name in (*own, *consents, PurePosixPath(item.target).name)}
    return [line for line in lines if _without_contents(line) not in known]


def _text_of(path: Path) -> str:
    """What a list holds.

    Raises
    ------
    DrivelabError
        F902: it cannot be read, or too much comes by a pipe.
    """
    if not _is_open_pipe(path):
        return text_of(str(path), code="F902")
    with path.open("rb") as pipe:
        content = pipe.read(FILE_BYTES_MAX + 1)
    if len(content) > FILE_BYTES_MAX:
        raise DrivelabError("F902", f"more than {FILE_BYTES_MAX // 1024} KiB came by a pipe", where=str(path))
    # what is no text is no serial either
    return content.decode("utf-8-sig", errors="replace")


def _is_open_pipe(path: Path) -> bool:
    return str(path).startswith(_OPEN_ALREADY) and path.is_fifo()


def _without_contents(line: str) -> str:
    return line.partition("+")[0]
