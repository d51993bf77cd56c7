"""The side that asks: who has joined, and questions to one host each."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from distributed.core import rpc

from drivelab.fleet import host_tasks
from drivelab.fleet.certificates import Keys
from drivelab.fleet.clock import ClockOffset, clock_offset
from drivelab.fleet.local_address import host_part
from drivelab.fleet.nodes import CLOCK_QUESTION, SILENT_S, FleetScheduler, configure
from drivelab.fleet.scratch import own_scratch
from drivelab.model.errors import DrivelabError

_CLOCK_WITHIN_S = 10
_LOST = "the connection to it was lost"


class HostGone(Exception):
    """A host that was asked has left, has not answered within its time, or is in disorder; what it says is why."""


class Centre:
    """Asks hosts that have joined: what `nodes.Asking` says is how it hears of them."""

    def __init__(self) -> None:
        self._scheduler: FleetScheduler | None = None
        self._addresses: dict[str, str] = {}
        self._hosts: dict[str, str] = {}
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._numbers = itertools.count()
        # by number: which address was asked, and who waits for its answer
        self._asked: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._hear: Callable[[str, Mapping[str, Any]], None] = lambda _host, _news: None

    @asynccontextmanager
    async def opened(self, keys: Keys, address: str, port: int, silent_s: float) -> AsyncIterator[None]:
        """Have hosts join while the block runs.

        Raises
        ------
        OSError
            It cannot listen there.
        """
        self._scheduler = FleetScheduler(
            self,
            silent_s,
            host=host_part(address),
            port=port,
            protocol="tls://",
            security=keys.security(),
            dashboard=False,
        )
        try:
            await self._scheduler
        except RuntimeError as error:
            raise error.__cause__ or error from error
        async with self._scheduler:
            yield

    @property
    def address(self) -> str:
        """Where hosts join."""
        assert self._scheduler is not None
        return str(self._scheduler.address)

    def listen(self, hear: Callable[[str, Mapping[str, Any]], None]) -> None:
        """Hear how far hosts are: the name of each, and what it tells."""
        self._hear = hear

    def is_here(self, host: str) -> bool:
        """Whether a host has joined and has not left."""
        return host in self._addresses

    async def when_joined(self, host: str) -> None:
        """Return when a host has joined."""
        if host not in self._addresses:
            waiting = self._waiting.setdefault(host, asyncio.get_running_loop().create_future())
            await asyncio.shield(waiting)

    async def ask(self, host: str, question: Callable[..., Any], *arguments: Any, within_s: float) -> Any:
        """What a host answers.

        Parameters
        ----------
        host : str
            Who is asked.
        question : callable
            A coroutine function of `host_tasks.QUESTIONS`, with what follows as its arguments.
        within_s : float
            How long an answer may take.

        Raises
        ------
        HostGone
            It left, or did not answer in time.
        DrivelabError
            What the host says is wrong.
        """
        address = self._addresses.get(host)
        if address is None or self._scheduler is None:
            raise HostGone("it has left")
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[number] = address, answer
        try:
            self._scheduler.ask(address, number, question.__name__, arguments)
            async with asyncio.timeout(within_s):
                return await answer
        except TimeoutError as error:
            raise HostGone(f"it did not answer within {within_s:.0f} s") from error
        finally:
            del self._asked[number]

    async def clock(self, host: str) -> ClockOffset:
        """How far a host's clock is ahead of ours: by a connection of its own, or where none can be made by questions.

        Raises
        ------
        HostGone
            It left.
        """
        address = self._addresses.get(host)
        if address is None:
            raise HostGone("it has left")
        # what leads to a link-local address is called otherwise here
        if self._scheduler is not None and "%" not in address:
            arguments = self._scheduler.security.get_connection_args("scheduler")
            # what is asked over the connection of all questions waits for others
            with suppress(OSError):
                async with rpc(address, connection_args=arguments) as asked:
                    return await clock_offset(getattr(asked, CLOCK_QUESTION))
        return await clock_offset(partial(self.ask, host, host_tasks.clock_ns, within_s=_CLOCK_WITHIN_S))

    async def dismiss(self, host: str) -> None:
        """Have a host put back what it changed, and go."""
        if self._scheduler is not None and (address := self._addresses.get(host)):
            await self._scheduler.remove_worker(address, stimulus_id="dismissed")

    def joined(self, address: str, host: str) -> None:
        """A host has joined."""
        self._addresses[host], self._hosts[address] = address, host
        waiting = self._waiting.pop(host, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def left(self, address: str) -> None:
        """A host has left: what it was asked stays without an answer."""
        host = self._hosts.pop(address, "")
        if self._addresses.get(host) == address:
            del self._addresses[host]
        for asked, answer in self._asked.values():
            if asked == address and not answer.done():
                answer.set_exception(HostGone(_LOST))

    def answered(self, address: str, number: int, answer: Any, error: Mapping[str, str] | None) -> None:
        """A host has answered a question; nobody may be waiting any more."""
        asked, waiting = self._asked.get(number, ("", None))
        if waiting is None or waiting.done() or asked != address:
            return
        if error is None:
            waiting.set_result(answer)
        else:
            waiting.set_exception(DrivelabError(**error))

    def told(self, address: str, news: Mapping[str, Any]) -> None:
        """A host tells how far it is."""
        if host := self._hosts.get(address):
            self._hear(host, news)


@asynccontextmanager
async def opened_centre(keys: Keys, address: str, port: int = 0, silent_s: float = SILENT_S) -> AsyncIterator[Centre]:
    """A centre that hosts can join at one address of this machine, and with a certificate only.

    Parameters
    ----------
    keys : Keys
        What it proves itself with.
    address : str
        The only address that it listens at.
    port : int
        0 is any that is free.
    silent_s : float
        How long a host may say nothing before it is given up.

    Raises
    ------
    OSError
        It cannot listen there.
    """
    # what Dask says of lost connections is told by us, with the host's name
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    configure(silent_s)
    centre = Centre()
    with own_scratch():
        async with centre.opened(keys, address, port, silent_s):
            yield centre
