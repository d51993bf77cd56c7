"""How the hosts of a fleet are reached by now: their file is read again when it goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from drivelab.fleet.hosts import load_hosts
from drivelab.fleet.record import FleetRecord
from drivelab.model.names import names_in_words, some_in_words

_WAYS = ("address", "user", "port", "sudo", "drivelab")
_MEANT = ("drives", "targets", "tags")


def reached_as_now(fleet: FleetRecord, file: Path | None) -> tuple[FleetRecord, list[str]]:
    """The fleet with its hosts reached as their file says now, and what is to be told of it.

    Parameters
    ----------
    file : Path or None
        Another file than that of the beginning.

    Notes
    -----
    Which drives and targets are meant stays as it was: what is measured already, and what a fleet is called, depend on
    it.

    Raises
    ------
    DrivelabError
        F901, P702, P703: the file cannot be read, or has a mistake.
    """
    path = file or Path(fleet.hosts_file)
    if file is None and not fleet.hosts_file:
        return fleet, []
    if file is None and not path.exists():
        return fleet, [f"{path} is not there any more: hosts are reached as before"]
    now, known = load_hosts(path), fleet.hosts
    told, hosts = [], dict(known)
    both = [name for name in known if name in now]
    for name in both:
        entry = known[name].entry
        changes = {way: getattr(now[name], way) for way in _WAYS if getattr(now[name], way) != getattr(entry, way)}
        if changes:
            hosts[name] = replace(known[name], entry=entry.model_copy(update=changes))
            told.append(f"{name}: {names_in_words(list(changes))} as {path} says now")
    if missing := [name for name in known if name not in now]:
        told.append(f"{path} has no {some_in_words(missing)} any more: reached as before")
    others = [
        name for name in both if any(getattr(now[name], key) != getattr(known[name].entry, key) for key in _MEANT)
    ]
    if others:
        what = (
            f"drives, targets and tags of {some_in_words(others)} stay as the fleet began, and not as {path} says now"
        )
        told.append(f"{what}: for those begin a new one, drivelab fleet run")
    return replace(fleet, hosts=hosts, hosts_file=str(path.absolute())), told
