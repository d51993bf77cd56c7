"""The side that asks: Dask's scheduler and a client of it, who has joined, and questions to one host each."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from distributed import Client
from distributed.core import rpc

from drivelab.fleet.certificates import Keys
from drivelab.fleet.clock import ClockOffset, clock_offset
from drivelab.fleet.nodes import CLOCK_QUESTION, HOSTS_TOPIC, SILENT_S, FleetScheduler, HostNews, configure

_Answer = TypeVar("_Answer")


class HostGone(Exception):
    """A host that was asked has left, or has not answered within its time; what it says is why."""


class Centre:
    """Asks hosts that have joined.

    Attributes
    ----------
    address : str
        Where hosts join.
    """

    def __init__(self, client: Client, address: str) -> None:
        self.address = address
        self._client = client
        self._addresses: dict[str, str] = {}
        self._news: dict[str, asyncio.Event] = {}
        client.subscribe_topic(HOSTS_TOPIC, self._hear)

    def listen(self, topic: str, hear: Callable[[Mapping[str, Any]], None]) -> None:
        """Hear what hosts say about a topic."""
        self._client.subscribe_topic(topic, lambda event: hear(event[1]))

    def is_here(self, host: str) -> bool:
        """Whether a host has joined and has not left."""
        return host in self._addresses

    async def joined(self, host: str) -> None:
        """Return when a host has joined."""
        while host not in self._addresses:
            await self._next_news(host)

    async def ask(
        self, host: str, question: Callable[..., Any], *arguments: Any, within_s: float, holding: tuple[str, ...] = ()
    ) -> Any:
        """What a host answers.

        Parameters
        ----------
        host : str
            Who is asked.
        question : callable
            A coroutine function of `host_tasks`, with what follows as its arguments.
        within_s : float
            How long an answer may take.
        holding : tuple of str
            What of the host nobody else may have meanwhile.

        Raises
        ------
        HostGone
            It left, or did not answer in time.
        """
        address = self._addresses.get(host)
        if address is None:
            raise HostGone("it has left")
        key = f"{question.__name__}-{host}-{uuid.uuid4().hex}"
        future = self._client.submit(
            question,
            *arguments,
            key=key,
            workers=[address],
            allow_other_workers=False,
            resources=dict.fromkeys(holding, 1),
            retries=0,
            pure=False,
        )
        answer = asyncio.ensure_future(future.result())
        left = asyncio.ensure_future(self._left(host, address))
        try:
            await asyncio.wait({answer, left}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
            if answer.done() and not _is_lost(answer):
                return answer.result()
            if left.done() or answer.done():
                raise HostGone("the connection to it was lost")
            raise HostGone(f"it did not answer within {within_s:.0f} s")
        finally:
            left.cancel()
            if not answer.done():
                answer.cancel()
                with suppress(Exception):
                    await future.cancel()
            future.release()

    async def clock(self, host: str) -> ClockOffset:
        """How far a host's clock is ahead of ours.

        Raises
        ------
        HostGone
            It left.
        """
        address = self._addresses.get(host)
        if address is None:
            raise HostGone("it has left")
        try:
            async with rpc(address, connection_args=self._client.security.get_connection_args("client")) as asked:
                return await clock_offset(getattr(asked, CLOCK_QUESTION))
        except OSError as error:
            raise HostGone("the connection to it was lost") from error

    async def dismiss(self, host: str) -> None:
        """Have a host put back what it changed, and go."""
        if address := self._addresses.get(host):
            with suppress(Exception):
                await self._client.retire_workers([address], close_workers=True, remove=True)

    def _hear(self, event: tuple[float, Mapping[str, Any]]) -> None:
        _, news = event
        host, address = news["host"], news["address"]
        if news["is_here"]:
            self._addresses[host] = address
        elif self._addresses.get(host) == address:
            del self._addresses[host]
        self._news.pop(host, asyncio.Event()).set()

    async def _next_news(self, host: str) -> None:
        await self._news.setdefault(host, asyncio.Event()).wait()

    async def _left(self, host: str, address: str) -> None:
        while self._addresses.get(host) == address:
            await self._next_news(host)


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
    security = keys.security()
    scheduler = FleetScheduler(
        host=address, port=port, protocol="tls://", security=security, dashboard=False, plugins=[HostNews()]
    )
    try:
        await scheduler
    except RuntimeError as error:
        raise error.__cause__ or error from error
    async with (
        scheduler,
        Client(scheduler.address, asynchronous=True, security=security, set_as_default=False) as client,
    ):
        centre = Centre(client, str(scheduler.address))
        yield centre


def _is_lost(answer: asyncio.Future[_Answer]) -> bool:
    """Whether Dask, and not the host, says that there will be no answer."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    return answer.cancelled() or isinstance(answer.exception(), KilledWorker | FutureCancelledError)
