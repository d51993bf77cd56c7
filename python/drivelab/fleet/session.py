"""One sitting with a fleet: the centre is opened, the work is done, and everybody is let go, also after Ctrl-C."""

from __future__ import annotations

import asyncio
import resource
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from drivelab.fleet.book import FleetBook
from drivelab.fleet.census import FleetRefused
from drivelab.fleet.centre import opened_centre
from drivelab.fleet.certificates import Keys, new_keys, read_keys
from drivelab.fleet.conduct import Conductor, Manner
from drivelab.fleet.local_address import address_of, address_towards, place_of
from drivelab.fleet.record import FleetRecord
from drivelab.model.errors import DrivelabError

# of this program itself; of each host its connection, and of what starts it two pipes and a handle of its process
_OPEN_FILES, _OPEN_FILES_OF_HOST = 200, 4
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Listening:
    """Where hosts join, and with what.

    Attributes
    ----------
    address : str
        Of this machine.
    port : int
        0 is any.
    keys : Keys
        What this side proves itself with.
    host_keys : mapping of str to Keys, or None
        What each host that is started from here is handed, by name; None where others start them.
    """

    address: str
    port: int
    keys: Keys
    host_keys: Mapping[str, Keys] | None


def listening_here(fleet: FleetRecord, listen: str | None) -> Listening:
    """Keys for this time, at the address that is named, or the one on the way to the first host.

    Raises
    ------
    DrivelabError
        F905: what it needs is not installed. F909: there is no such address, or no way to the first host.
    """
    made = new_keys(fleet.hosts)
    first, host = next(iter(fleet.hosts.items()))
    try:
        address = address_of(listen) if listen else address_towards(host.entry.address or first)
    except DrivelabError as error:
        if listen:
            raise
        do = "name the address or interface of this machine that hosts reach: --listen ADDRESS"
        raise DrivelabError(error.code, error.what, where=error.where, do=do) from error
    return Listening(address, 0, made.controller, made.hosts)


def listening_at(scheduler: str, keys: Path) -> Listening:
    """Keys from files, at an address that others know.

    Raises
    ------
    DrivelabError
        F909: no such address. F904: no such keys.
    """
    return Listening(*place_of(scheduler), read_keys(keys, "controller"), None)


def sit(book: FleetBook, listening: Listening, manner: Manner, work: Callable[[Conductor], Awaitable[None]]) -> bool:
    """Do the work of one sitting; whether it was done to its end, and not interrupted.

    Raises
    ------
    DrivelabError
        F909: it cannot listen at its address, or so many hosts are too many for this machine. S501 to S503: the
        record cannot be written. F902: a line of the erase list means no drive.
    """
    _allow_open_files(len(book.fleet.hosts))
    try:
        return asyncio.run(_sit(book, listening, manner, work))
    except ExceptionGroup as several:
        # the first says enough: the others are of the same kind, or follow from it
        first = several.exceptions[0]
        raise (first.error if isinstance(first, FleetRefused) else first) from several


async def _sit(
    book: FleetBook, listening: Listening, manner: Manner, work: Callable[[Conductor], Awaitable[None]]
) -> bool:
    doing = asyncio.ensure_future(_worked(book, listening, manner, work))
    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, doing.cancel)
    try:
        await doing
    except asyncio.CancelledError:
        return False
    return True


async def _worked(
    book: FleetBook, listening: Listening, manner: Manner, work: Callable[[Conductor], Awaitable[None]]
) -> None:
    try:
        async with opened_centre(listening.keys, listening.address, listening.port, manner.silent_s) as centre:
            await work(Conductor(book, centre, manner))
    except OSError as error:
        do = f"choose another: --{'scheduler tls://ADDRESS:PORT' if listening.port else 'listen ADDRESS'}"
        what = f"cannot listen at {listening.address}: {error.strerror or error}"
        raise DrivelabError("F909", what, do=do) from error


def _allow_open_files(hosts: int) -> None:
    """Have as many files open as so many hosts need; without a word of ours most systems allow 1024.

    Raises
    ------
    DrivelabError
        F909: the system does not allow so many.
    """
    needed = _OPEN_FILES + hosts * _OPEN_FILES_OF_HOST
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != hard < needed:
        do = f"allow more (ulimit -Hn {needed}, as root), or ask fewer hosts at a time: --host NAME"
        raise DrivelabError("F909", f"{hosts} hosts need {needed} open files, and {hard} are allowed", do=do)
    if resource.RLIM_INFINITY != soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
