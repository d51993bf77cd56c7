"""How hosts come to be here and are let go: started by a process of this machine, or by others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from drivelab.fleet.book import FleetBook
from drivelab.fleet.centre import Centre, HostGone
from drivelab.fleet.certificates import Keys
from drivelab.fleet.host import Joining
from drivelab.fleet.start_failures import advised
from drivelab.fleet.starter import Ending
from drivelab.fleet.starting import StartedHost, start_host
from drivelab.model.units import format_wait_ns

if TYPE_CHECKING:
    from drivelab.fleet.conduct import Manner

# processes that start hosts at once; all of them stay, and those of hosts that are off hold up nobody else for long
_STARTED_AT_ONCE = 100
# until it is asked why a host waits, and told: who starts it soon knows why, and most do not wait for long
_QUEUED_S = 3
# of the time to join, what the host itself tries for: the rest is to say why it could not, and most of a long one is
# that in a queue
_OWN_SHARE, _OWN_MAX_S = 0.75, 600
# a file system that is unmounted, a drive that is trimmed
_PUT_BACK_WITHIN_S = 120


class HostConnections:
    """Has each host joined for as long as it is worked with."""

    def __init__(self, book: FleetBook, centre: Centre, manner: Manner) -> None:
        self._book = book
        self._centre = centre
        self._manner = manner
        self._starts = asyncio.Semaphore(_STARTED_AT_ONCE)

    @asynccontextmanager
    async def connected(self, name: str) -> AsyncIterator[None]:
        """Have a host joined while the block runs.

        Raises
        ------
        HostGone
            It has not joined.
        DrivelabError
            F909: there is no command that starts it.
        """
        keys = self._manner.host_keys
        started: StartedHost | None = None
        # who never joined has changed nothing
        put_back_within_s = 0.0
        try:
            async with AsyncExitStack() as slot:
                if keys is not None:
                    await slot.enter_async_context(self._starts)
                    started = await self._start(name, keys[name])
                await self._wait_for(name, started, slot)
            put_back_within_s = _PUT_BACK_WITHIN_S
            yield
        finally:
            if started is not None:
                await started.let_go(put_back_within_s)
                self._tell_ending(name, started.ending or Ending())

    async def _start(self, name: str, keys: Keys) -> StartedHost:
        entry = self._book.fleet.hosts[name].entry
        join_s = self._manner.join_s
        own_s = min(join_s * _OWN_SHARE, _OWN_MAX_S)
        joining = Joining(self._centre.address, name, keys, self._manner.silent_s, own_s)
        return await start_host(self._manner.starter(entry, name, int(join_s)), joining)

    async def _wait_for(self, name: str, started: StartedHost | None, slot: AsyncExitStack) -> None:
        """Return when a host has joined; one that waits in a queue gives its slot up, and why it waits is told.

        Raises
        ------
        HostGone
            It will not join.
        """
        joined = asyncio.ensure_future(self._centre.when_joined(name))
        never: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        ended = asyncio.ensure_future(started.ended()) if started is not None else never
        queued = asyncio.ensure_future(started.is_queued.wait()) if started is not None else never
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._manner.join_s):
                    silently = started is not None and started.starter.waits_in_silence
                    await _first(joined, ended, queued, within_s=_QUEUED_S if silently else None)
                    if started is not None and not (joined.done() or ended.done()):
                        await slot.aclose()
                        await self._wait_in_queue(name, started, joined, ended)
            if joined.done():
                return
            if ended.done():
                raise HostGone(str(ended.result()))
        finally:
            for one in (joined, ended, queued):
                one.cancel()
        late = f"it did not join within {format_wait_ns(self._manner.join_s * 1e9)}"
        if started is not None and (why := await started.starter.why_it_waits(started.said)):
            late += f": {advised(why, 'wait longer: --join-within 12h')}"
        elif started is not None and started.said:
            late += f"; what was last said: {advised(started.said[-1])}"
        raise HostGone(late)

    async def _wait_in_queue(self, name: str, started: StartedHost, *over: asyncio.Future[Any]) -> None:
        after_s, told = _QUEUED_S, ""
        while not await _first(*over, within_s=after_s):
            why = advised(await started.starter.why_it_waits(started.said))
            self._book.change_host(name, reason=why)
            if why and why != told:
                self._manner.tell(name)
            after_s, told = 2 * after_s, why
        self._book.change_host(name, reason="")

    def _tell_ending(self, name: str, ending: Ending) -> None:
        """Say why a host has gone, where all that it could say itself is that it was interrupted, and what is left."""
        host = self._book.fleet.hosts[name]
        if ending.left:
            self._book.change_host(name, notes=(*host.notes, ending.left))
        if host.reason and ending.taken:
            self._book.change_host(name, reason=ending.taken)
            self._manner.tell(name)
        for item in self._book.items_of(name):
            if item.state == "cut_off" and ending.taken:
                self._book.change(item.key, reason=ending.taken)
                self._manner.tell(item.key)


async def _first(*waiting: asyncio.Future[Any], within_s: float | None = None) -> bool:
    """Whether one of them is done, once one is or the time is over."""
    done, _ = await asyncio.wait(waiting, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    return bool(done)
