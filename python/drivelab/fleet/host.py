"""What runs on a host for a fleet: it joins those who ask, does what they ask, and ends with them.

Started over ssh, by Slurm or by Kubernetes, the host gets everything that it needs to know as one line of JSON on its
standard input, and says on its standard output whether it has joined. When that
input ends, the connection to those who ask is lost, or a signal comes, what is
measured is interrupted and put back, and then the host goes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import ssl
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from drivelab.fleet.certificates import Keys
from drivelab.fleet.extra import require_fleet_extra
from drivelab.fleet.fingerprint import difference
from drivelab.fleet.local_address import address_towards, as_seen_here, host_part, place_of
from drivelab.model.errors import DrivelabError
from drivelab.model.units import format_wait_ns

if TYPE_CHECKING:
    from drivelab.fleet.nodes import HostWorker

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LINE_BYTES_MAX = 1 << 20
_TRY_S = 5


@dataclass(frozen=True, slots=True)
class Joining:
    """What a host needs to know to join.

    Attributes
    ----------
    address : str
        Of those who ask: ``tls://10.0.0.1:8786``.
    name : str
        What the host is called there.
    keys : Keys
        What it proves itself with.
    silent_s : float
        How long a connection may be dead before it is lost.
    wait_s : float
        How long it tries to join.
    """

    address: str
    name: str
    keys: Keys
    silent_s: float
    wait_s: float

    def to_line(self, fingerprint: dict[str, str]) -> bytes:
        """As it is handed over, with what has to be the same on both sides."""
        told = {"address": self.address, "name": self.name, "silent_s": self.silent_s, "wait_s": self.wait_s}
        return (json.dumps(told | {"keys": self.keys.to_json(), "fingerprint": fingerprint}) + "\n").encode()


async def read_joining(reader: asyncio.StreamReader) -> Joining:
    """What the first line on the standard input says.

    Raises
    ------
    DrivelabError
        F906: it is not what a host is told. F908: other versions.
    """
    line = await reader.readline()
    try:
        told: dict[str, Any] = json.loads(line)
        theirs = told.pop("fingerprint")
        joining = Joining(**(told | {"keys": Keys(**told["keys"])}))
    except (ValueError, KeyError, TypeError) as error:
        do = "hosts are started by 'drivelab fleet run'; by hand: drivelab fleet worker ADDRESS --keys DIR"
        raise DrivelabError("F906", "the standard input does not say whom to join", do=do) from error
    if differs := difference(theirs):
        # seen from there
        raise DrivelabError("F908", f"another version: {differs}")
    return joining


async def standard_input() -> asyncio.StreamReader:
    """The standard input, to be read without waiting for it."""
    reader = asyncio.StreamReader(limit=_LINE_BYTES_MAX)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    return reader


async def be_host(joining: Joining, joined: Callable[[], None], gone: Awaitable[Any] | None = None) -> str:
    """Work for those who ask until they go, a signal comes, or `gone` is done.

    Parameters
    ----------
    joining : Joining
        Whom to join, and as whom.
    joined : callable
        Called once it has joined.
    gone : awaitable, optional
        Done when nobody asks any more.

    Returns
    -------
    str
        Why it ended.

    Raises
    ------
    DrivelabError
        F909: those who ask cannot be reached, or refuse. F905: what it needs is not installed.
    """
    require_fleet_extra()
    # imported here: all that is needed to refuse is above
    from drivelab.fleet.host_tasks import COMMANDS, PROGRESS, QUESTIONS
    from drivelab.fleet.nodes import HostWorker, configure
    from drivelab.fleet.scratch import own_scratch

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    configure(joining.silent_s)
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    _end_on_signals(ended)
    over = {ended, *([asyncio.ensure_future(gone)] if gone is not None else [])}
    joining = replace(joining, address=await as_seen_here(joining.address, _TRY_S))
    with own_scratch():
        worker = HostWorker(
            joining.address,
            questions=QUESTIONS,
            ending=COMMANDS.interrupt,
            silent_s=joining.silent_s,
            name=joining.name,
            security=joining.keys.security(),
            host=f"tls://{host_part(address_towards(place_of(joining.address)[0]))}",
            nthreads=1,
            memory_limit=0,
            death_timeout=joining.wait_s,
        )
        PROGRESS.set(worker.tell)
        try:
            if await _join(worker, joining, over):
                joined()
                left = asyncio.ensure_future(worker.finished())
                await asyncio.wait({left, *over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await COMMANDS.interrupt()
            with suppress(Exception):
                await asyncio.wait_for(worker.close(), joining.silent_s)
    return ended.result() if ended.done() else "those who ask are gone"


async def _join(worker: HostWorker, joining: Joining, over: set[asyncio.Future[Any]]) -> bool:
    """Whether a host has joined before it was over.

    Raises
    ------
    DrivelabError
        F909: it could not.
    """
    trying = asyncio.ensure_future(worker)
    await asyncio.wait({trying, *over}, timeout=joining.wait_s, return_when=asyncio.FIRST_COMPLETED)
    if trying.done() and trying.exception() is None:
        return True
    trying.cancel()
    error = (await asyncio.gather(trying, return_exceptions=True))[0]
    if any(one.done() for one in over):
        return False
    reason = await _hindrance(joining) or f"not within {format_wait_ns(joining.wait_s * 1e9)}"
    raise DrivelabError("F909", f"it cannot join {joining.address}: {reason}") from error


async def _hindrance(joining: Joining) -> str:
    """What one more try to reach those who ask fails for: Dask tries again and again, and does not say why."""
    context = joining.keys.security().get_connection_args("worker")["ssl_context"]
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(*place_of(joining.address), ssl=context), _TRY_S)
    except ssl.SSLCertVerificationError:
        return "its keys are those of another authority"
    except TimeoutError:
        return ""
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error)
    writer.close()
    return ""


def _end_on_signals(ended: asyncio.Future[str]) -> None:
    def end(number: int) -> None:
        if not ended.done():
            ended.set_result(f"ended by {signal.Signals(number).name}")

    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, end, number)
