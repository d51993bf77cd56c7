"""What runs on a host for a fleet: it joins those who ask, does what they ask, and ends with them.

Over ssh the host gets everything that it needs to know as one line of JSON on its
standard input, and says on its standard output whether it has joined. When that
input ends, the connection to those who ask is lost, or a signal comes, what is
measured is interrupted and put back, and then the host goes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from drivelab.fleet.certificates import Keys
from drivelab.fleet.extra import require_fleet_extra
from drivelab.fleet.fingerprint import difference
from drivelab.fleet.local_address import address_towards
from drivelab.model.errors import DrivelabError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# one measurement at a time, and room beside it for questions
_SLOTS = 8
MEASURING = "measuring"
_LINE_BYTES_MAX = 1 << 20


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
    from drivelab.fleet.host_tasks import COMMANDS
    from drivelab.fleet.nodes import HostWorker, configure

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    configure(joining.silent_s)
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    _end_on_signals(ended)
    worker = HostWorker(
        joining.address,
        ending=COMMANDS.interrupt,
        name=joining.name,
        security=joining.keys.security(),
        host=f"tls://{address_towards(joining.address)}",
        nthreads=_SLOTS,
        resources={MEASURING: 1},
        memory_limit=0,
        heartbeat_interval="3s",
        death_timeout=joining.wait_s,
    )
    try:
        await asyncio.wait_for(worker, joining.wait_s)
    except Exception as error:
        with suppress(Exception):
            await worker.close()
        reason = str(error) or type(error).__name__
        raise DrivelabError("F909", f"it cannot join {joining.address}: {reason}") from error
    joined()
    left = asyncio.ensure_future(worker.finished())
    waiting = {left, ended, *([asyncio.ensure_future(gone)] if gone is not None else [])}
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    why = ended.result() if ended.done() else "those who ask are gone"
    await COMMANDS.interrupt()
    with suppress(Exception):
        await asyncio.wait_for(worker.close(), joining.silent_s)
    return why


def _end_on_signals(ended: asyncio.Future[str]) -> None:
    def end(number: int) -> None:
        if not ended.done():
            ended.set_result(f"ended by {signal.Signals(number).name}")

    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, end, number)
