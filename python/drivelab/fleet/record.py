"""What a fleet was asked and what became of it: ``fleet.json``."""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from drivelab.fleet.lock import locked
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import FleetItem, FleetWork, is_done
from drivelab.store.durable import make_directory, write_json
from drivelab.store.layout import default_parent
from drivelab.store.regular_file import read_regular

SCHEMA = 1
FLEET_JSON = "fleet.json"
_LOCK = ".lock"
_NAMED_MAX = 3
_BYTES_MAX = 64 * 1024**2
_RECORDS = {"HostRecord": "a host", "FleetItem": "a target", "FleetWork": "the work"}
_LIST = "name a directory that 'drivelab fleet run' or 'fleet check' made"


@dataclass(frozen=True, slots=True)
class HostRecord:
    """A host of a fleet.

    Attributes
    ----------
    entry : HostEntry
        What ``hosts.toml`` says.
    reason : str
        Why nothing could be asked of it; empty where it answered.
    notes : tuple of str
        What else is to be known: rules that no drive meets, a clock that is off.
    clock_offset_ns, clock_error_ns : int or None
        How far its clock is ahead of ours, and how far that may be off.
    """

    entry: HostEntry
    reason: str = ""
    notes: tuple[str, ...] = ()
    clock_offset_ns: int | None = None
    clock_error_ns: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "entry": self.entry.model_dump(mode="json", exclude_defaults=True),
            "reason": self.reason,
            "notes": list(self.notes),
            "clock_offset_ns": self.clock_offset_ns,
            "clock_error_ns": self.clock_error_ns,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> HostRecord:
        """From what `to_json` made; ValueError where it is something else."""
        return _HOST_RECORD.validate_python(stored)


_HOST_RECORD = TypeAdapter(HostRecord)


@dataclass(frozen=True, slots=True)
class FleetRecord:
    """A fleet, its directory and everything that is known of it.

    Attributes
    ----------
    directory : Path
        Where it is kept here; runs that were gathered lie in it.
    name : str
        What it is called on its hosts, too.
    work : FleetWork
        What each item does.
    hosts : dict of str to HostRecord
        By name.
    items : dict of str to FleetItem
        By key.
    created_utc : str
        When it was planned.
    command_line : str
        What was typed to begin it.
    is_part : bool
        Whether ``hosts.toml`` names more hosts.
    erase_list : str
        The file that lists what may be erased, as it was typed last; empty where none was.
    options : tuple of str
        What else was typed last that whoever goes on needs, too: how hosts are reached.
    hosts_file : str
        ``hosts.toml``; empty where it is not known.
    """

    directory: Path
    name: str
    work: FleetWork
    hosts: dict[str, HostRecord]
    items: dict[str, FleetItem] = field(default_factory=dict)
    created_utc: str = ""
    command_line: str = ""
    is_part: bool = False
    erase_list: str = ""
    options: tuple[str, ...] = ()
    hosts_file: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether every host answered, and all that is meant is measured."""
        return is_done({name: host.reason for name, host in self.hosts.items()}, self.items)

    @property
    def hosts_left(self) -> list[str]:
        """Hosts of which something is to be known yet: those whose targets are not all measured."""
        known = {item.host for item in self.items.values()}
        open_items = {item.host for item in self.items.values() if item.state != "complete"}
        return [name for name, host in self.hosts.items() if host.reason or name not in known or name in open_items]

    @property
    def called(self) -> str:
        """What commands find it by, as a shell takes it: its name where fleets are kept, else its directory."""
        directory = self.directory.absolute()
        return self.name if directory == (default_parent() / self.name).absolute() else shlex.quote(str(directory))

    @property
    def how_to_go_on(self) -> str:
        """The command that measures what is missing; what begins together is measured again as a whole."""
        if self.work.begins_together:
            return self.command_line
        missing = [item.plan for item in self.items.values() if item.plan is not None and item.state != "complete"]
        erase_list = self.erase_list or ("FILE" if any(plan.is_not_listed for plan in missing) else "")
        words = [*(("--erase-list", erase_list) if erase_list else ()), *self.options]
        return " ".join(["drivelab fleet resume", self.called, *map(shlex.quote, words)])

    def as_left(self) -> FleetRecord:
        """The same when nobody works with it: what is measured in it is not asked for any more."""
        return self.with_items(
            replace(item, state="cut_off", reason="the command was ended while it was measured")
            for item in self.items.values()
            if item.state == "measuring"
        )

    def with_items(self, items: Iterable[FleetItem]) -> FleetRecord:
        """The same with items that are new or changed."""
        return replace(self, items=self.items | {item.key: item for item in items})

    def keep(self) -> None:
        """Write all of it, durably.

        Raises
        ------
        DrivelabError
            S501 to S503: it cannot be written.
        """
        write_json(self.directory / FLEET_JSON, self.to_json())

    def remove(self) -> None:
        """Forget it, of which nothing has begun."""
        for name in (FLEET_JSON, _LOCK):
            (self.directory / name).unlink(missing_ok=True)
        self.directory.rmdir()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have the fleet for oneself while the block runs.

        Raises
        ------
        DrivelabError
            F907: another command works with it. S501 to S503: its directory cannot be written to.
        """
        with locked(self.directory / _LOCK, "another command works with this fleet"):
            yield

    def is_held(self) -> bool:
        """Whether a command works with it now."""
        try:
            with self.held():
                return False
        except DrivelabError as error:
            return error.code == "F907"

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "created_utc": self.created_utc,
            "command_line": self.command_line,
            "is_part": self.is_part,
            "erase_list": self.erase_list,
            "options": list(self.options),
            "hosts_file": self.hosts_file,
            "work": self.work.to_json(),
            "hosts": {name: host.to_json() for name, host in self.hosts.items()},
            "items": [item.to_json() for item in self.items.values()],
        }


def new_fleet(
    work: FleetWork,
    hosts: Mapping[str, HostEntry],
    parent: Path | None = None,
    *,
    command_line: str = "",
    is_part: bool = False,
    erase_list: Path | None = None,
    options: tuple[str, ...] = (),
    hosts_file: Path | None = None,
) -> FleetRecord:
    """A fleet with a directory of its own, in which nothing is planned yet.

    Parameters
    ----------
    work, hosts
        What is done, and where.
    parent : Path, optional
        Where its directory is made; else where runs are kept.
    command_line : str
        What was typed to begin it.
    is_part : bool
        Whether there are more hosts than these.
    erase_list : Path, optional
        The file that lists what may be erased.
    options : tuple of str
        What else whoever goes on needs.
    hosts_file : Path, optional
        Where the hosts were read from.

    Raises
    ------
    DrivelabError
        S501 to S503: the directory cannot be made.
    """
    now = datetime.now(UTC)
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", work.title).strip("-.") or "fleet"
    # two that begin in the same second are two
    name = f"{now:%Y%m%dT%H%M%SZ}-fleet-{slug}-{secrets.token_hex(2)}"
    directory = (parent or default_parent()) / name
    make_directory(directory)
    created = now.isoformat(timespec="milliseconds")
    known = {name: HostRecord(entry) for name, entry in hosts.items()}
    listed, file = str(erase_list or ""), str(hosts_file.absolute()) if hosts_file else ""
    fleet = FleetRecord(directory, name, work, known, {}, created, command_line, is_part, listed, options, file)
    fleet.keep()
    return fleet


def open_fleet(typed: str) -> FleetRecord:
    """A fleet by its directory or name; ``LAST`` is the newest.

    Raises
    ------
    DrivelabError
        F903: there is none, or its file cannot be read.
    """
    directory = _found(typed)
    try:
        content, _ = read_regular(directory / FLEET_JSON, bytes_max=_BYTES_MAX)
        stored = json.loads(content)
        if stored["schema"] != SCHEMA:
            raise DrivelabError("F903", f"its format is {stored['schema']}, not {SCHEMA}", where=str(directory))
        items = [FleetItem.from_json(item) for item in stored["items"]]
        return FleetRecord(
            directory,
            str(stored["name"]),
            FleetWork.from_json(stored["work"]),
            {name: HostRecord.from_json(host) for name, host in stored["hosts"].items()},
            {item.key: item for item in items},
            str(stored["created_utc"]),
            str(stored.get("command_line", "")),
            bool(stored.get("is_part", False)),
            str(stored.get("erase_list", "")),
            tuple(map(str, stored.get("options", ()))),
            str(stored.get("hosts_file", "")),
        )
    except OSError as error:
        raise DrivelabError("F903", f"there is no fleet {typed}: {error.strerror}", where=str(directory)) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        what = f"{FLEET_JSON} is damaged: {_mistake(error)}"
        raise DrivelabError("F903", what, where=str(directory), do=_LIST) from error


def _mistake(error: Exception) -> str:
    """What is wrong with a record, in one line, with the name of the value."""
    if isinstance(error, KeyError):
        return f"it has no {error}"
    if not isinstance(error, ValidationError):
        return str(error).splitlines()[0]
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"])) or "all"
    message, *_ = first["msg"].splitlines()
    return f"{place} of {_RECORDS.get(error.title, error.title)}: {message}"


def unfinished_fleet(leave_out: Callable[[str, DrivelabError], None]) -> FleetRecord:
    """The only fleet that is kept and not measured to its end: with several of them a user says which.

    Parameters
    ----------
    leave_out : callable
        Told the name of each that cannot be read, and why.

    Raises
    ------
    DrivelabError
        F903: there is none, or there are several.
    """
    kept = default_parent()
    fleets = []
    for path in sorted(kept.glob(f"*/{FLEET_JSON}")):
        try:
            fleets.append(open_fleet(str(path.parent)))
        except DrivelabError as error:
            leave_out(path.parent.name, error)
    unfinished = [fleet for fleet in fleets if not fleet.is_whole and not fleet.work.begins_together]
    if len(unfinished) == 1:
        return unfinished[0]
    if not unfinished:
        raise DrivelabError("F903", "no fleet is unfinished", where=str(kept), do="name one, to gather what is missing")
    names = ", ".join(fleet.name for fleet in unfinished[-_NAMED_MAX:])
    what = f"{len(unfinished)} fleets are unfinished"
    raise DrivelabError("F903", what, where=str(kept), do=f"name the one that is meant: {names}")


def _found(typed: str) -> Path:
    kept = default_parent()
    if typed == "LAST":
        known = sorted(path.parent for path in kept.glob(f"*/{FLEET_JSON}"))
        if not known:
            raise DrivelabError("F903", "no fleet is kept, so there is no LAST", where=str(kept), do=_LIST)
        return known[-1]
    path = Path(typed)
    return path if path.exists() or "/" in typed else kept / typed
