"""Reads ``hosts.toml``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from drivelab.experiments.load import document_of, text_of
from drivelab.experiments.mistakes import Tables, mistake_in
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_hosts import DriveRule, FleetHosts, HostEntry
from drivelab.model.names import did_you_mean, in_number, some_in_words


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
        require_host("F901", name, hosts, where)
    return {name: entry for name, entry in hosts.items() if not only or name in only}


def measured_hosts(hosts: Mapping[str, HostEntry], only: Collection[str], *, where: str) -> dict[str, HostEntry]:
    """The same where something is measured: each of them has to say what.

    Raises
    ------
    DrivelabError
        F901: there is none of a name, or one has no drives and no targets.
    """
    chosen = chosen_hosts(hosts, only, where=where)
    # an empty list is an answer
    silent = [name for name, entry in chosen.items() if entry.drives is None and entry.targets is None]
    if silent:
        do = 'say which are meant: drives = [{ transport = "nvme" }], or targets = ["DIR"]'
        what = f"{some_in_words(silent)} {in_number(len(silent), 'have')} no drives and no targets"
        raise DrivelabError("F901", what, where=where, do=do)
    return chosen


def require_host(code: str, name: str, hosts: Collection[str], where: str) -> None:
    """Return only if there is a host of that name.

    Raises
    ------
    DrivelabError
        `code`: there is none.
    """
    if name not in hosts:
        do = did_you_mean(name, list(hosts)) or f"choose of {', '.join(list(hosts)[:10])}"
        raise DrivelabError(code, f"there is no host {name}", where=where, do=do)


def _tables(document: Mapping[str, Any]) -> Tables:
    """What each table of the file may hold: hosts are tables that the user names."""
    hosts = document.get("hosts")
    entries = [("defaults",), *(("hosts", name) for name in (hosts if isinstance(hosts, dict) else ()))]
    rules = [(*entry, "drives") for entry in entries]
    return {(): FleetHosts} | dict.fromkeys(entries, HostEntry) | dict.fromkeys(rules, DriveRule)
