"""Reads ``hosts.toml``, and the list of drives that may be erased."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from drivelab.experiments.load import document_of, text_of
from drivelab.experiments.mistakes import Tables, mistake_in
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_hosts import DriveRule, FleetHosts, HostEntry
from drivelab.model.names import did_you_mean

_NOTE = "#"
_LISTED = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+-]*")


def load_hosts(path: Path, only: tuple[str, ...] = ()) -> dict[str, HostEntry]:
    """The hosts of a file, each with what it shares with the others.

    Parameters
    ----------
    path : Path
        The file.
    only : tuple of str
        Names of those that are meant; without them all are.

    Raises
    ------
    DrivelabError
        F901: it cannot be read, or has no host of a name. P702: not TOML. P703: a key is wrong.
    """
    text = text_of(str(path), code="F901")
    document = document_of(text, str(path))
    try:
        hosts = FleetHosts.model_validate(document).complete()
    except ValidationError as error:
        raise mistake_in(document, error, text=text, file=str(path), tables=_tables(document)) from error
    return chosen_hosts(hosts, only, where=str(path))


def chosen_hosts(hosts: Mapping[str, HostEntry], only: Collection[str], *, where: str) -> dict[str, HostEntry]:
    """Those hosts that are meant; without a name all are.

    Raises
    ------
    DrivelabError
        F901: there is none of a name.
    """
    for name in only:
        _require_host("F901", name, hosts, where)
    return {name: entry for name, entry in hosts.items() if not only or name in only}


def _require_host(code: str, name: str, hosts: Collection[str], where: str) -> None:
    if name not in hosts:
        do = did_you_mean(name, list(hosts)) or f"choose of {', '.join(list(hosts)[:10])}"
        raise DrivelabError(code, f"there is no host {name}", where=where, do=do)


def _tables(document: Mapping[str, Any]) -> Tables:
    """What each table of the file may hold: hosts are tables that the user names."""
    hosts = document.get("hosts")
    entries = [("defaults",), *(("hosts", name) for name in (hosts if isinstance(hosts, dict) else ()))]
    rules = [(*entry, "drives") for entry in entries]
    return {(): FleetHosts} | dict.fromkeys(entries, HostEntry) | dict.fromkeys(rules, DriveRule)


def load_erase_list(path: Path, hosts: Collection[str] | None) -> tuple[str, ...]:
    """What may be erased: a serial, or ``HOST:NAME``, on each line; what stands behind a ``#`` is a note.

    Parameters
    ----------
    path : Path
        The file.
    hosts : collection of str or None
        All hosts that there are, also those that are not meant now; None where they are not known.

    Raises
    ------
    DrivelabError
        F902: it cannot be read, holds a line that is no serial, or names a host that there is not.
    """
    found: list[str] = []
    for number, line in enumerate(text_of(str(path), code="F902").splitlines(), 1):
        words = line.partition(_NOTE)[0].split()
        if len(words) > 1:
            do = "write one serial on each line; a note begins with #"
            raise DrivelabError("F902", f"'{' '.join(words)}' is not one serial", where=f"{path}:{number}", do=do)
        for word in words:
            where = f"{path}:{number}"
            if not _LISTED.fullmatch(word):
                do = "write the serial of a drive, or HOST:NAME, as 'drivelab fleet drives' tells them"
                raise DrivelabError("F902", f"'{word}' is no serial", where=where, do=do)
            host, colon, _ = word.partition(":")
            if colon and hosts is not None:
                _require_host("F902", host, hosts, where)
        found += words
    return tuple(found)


def unmatched_lines(host: str, drives: Sequence[Mapping[str, object]], listed: tuple[str, ...]) -> list[str]:
    """Lines of the list that name a drive of a host which it has not.

    Parameters
    ----------
    host, drives
        The host, and what it has.
    listed : tuple of str
        Of `load_erase_list`.
    """
    known = {f"{host}:{word}" for drive in drives for word in erase_words(host, drive, listed)}
    return [line for line in listed if line.startswith(f"{host}:") and line not in known]


def erase_words(host: str, drive: Mapping[str, object], listed: tuple[str, ...]) -> tuple[str, ...]:
    """What of the list is the consent for one drive, as ``--erase`` takes it.

    Parameters
    ----------
    host : str
        Where the drive is.
    drive : mapping of str to object
        One of ``drivelab drives --json --all``.
    listed : tuple of str
        Of `load_erase_list`.
    """
    serials = drive["serials"]
    assert isinstance(serials, list)
    name = str(drive["name"])
    of_host = [one.removeprefix(f"{host}:") for one in listed if one.startswith(f"{host}:")]
    own = [one for one in listed if _without_contents(one) in serials]
    return (*own, *(one for one in of_host if _without_contents(one) in (*serials, name)))


def _without_contents(word: str) -> str:
    return word.partition("+")[0]
