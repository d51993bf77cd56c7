"""Carries out a fleet: starts its hosts, asks what they have, has it measured, and gathers what came of it.

A host that fails or goes away costs its own items and no other's. What it measured
until then lies on it; 'drivelab fleet resume' asks for the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from drivelab.fleet import host_tasks
from drivelab.fleet.book import FleetBook
from drivelab.fleet.centre import Centre, HostGone
from drivelab.fleet.certificates import Keys
from drivelab.fleet.gather import gathered
from drivelab.fleet.host import MEASURING, Joining
from drivelab.fleet.hosts import erase_words
from drivelab.fleet.rendezvous import NotTogether, Rendezvous
from drivelab.fleet.ssh import StartedHost, start_over_ssh
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_plan import ENDED, FleetItem
from drivelab.model.units import format_wait_ns
from drivelab.plan.fleet import items_of_host, unmet_rules

# ssh processes that are started at once; all of them stay
_STARTED_AT_ONCE = 32
_ASK_WITHIN_S = 60
# of the time to join, what the host itself tries for: the rest is to say why it could not
_OWN_SHARE = 0.75
# what makes dates of runs wrong
_CLOCK_OFF_NS = 2_000_000_000
# a file system that is unmounted, a drive that is trimmed
_PUT_BACK_WITHIN_S = 120


@dataclass(frozen=True, slots=True)
class Manner:
    """How a fleet is conducted.

    Attributes
    ----------
    host_keys : Keys or None
        What hosts that are started over ssh are handed; None where others start them.
    join_s : float
        How long a host may take until it has joined.
    item_s : float
        How long one drive may take.
    silent_s : float
        How long a host may say nothing.
    erase_list : tuple of str
        Drives that may be erased.
    gathers : bool
        Whether runs are brought here.
    tell : callable
        Told the key of an item, or the name of a host, with every change of it.
    """

    host_keys: Keys | None
    join_s: float
    item_s: float
    silent_s: float
    erase_list: tuple[str, ...]
    gathers: bool
    tell: Callable[[str], None]


class Conductor:
    """Carries out one fleet."""

    def __init__(self, book: FleetBook, centre: Centre, manner: Manner) -> None:
        self._book = book
        self._centre = centre
        self._manner = manner
        self._starts = asyncio.Semaphore(_STARTED_AT_ONCE)
        # several hosts may see one drive
        self._drives: dict[str, asyncio.Lock] = {}
        self._waiting: dict[str, asyncio.Event] = {}
        centre.listen(host_tasks.PROGRESS_TOPIC, self._hear)

    async def measure(self) -> None:
        """Have everything measured that is not, or learn why it cannot be."""
        await self._each_host(self._measure_host)

    async def measure_together(self) -> None:
        """Have everything measured at one moment, or nothing.

        Raises
        ------
        HostGone
            Of each host but the one that failed: the others could not begin.
        """
        meeting = Rendezvous(self._book.fleet.hosts)

        async def measure(name: str) -> None:
            try:
                await self._measure_host_with_others(name, meeting)
            except (HostGone, DrivelabError, asyncio.CancelledError) as error:
                meeting.fails(name, str(error) or "it was interrupted")
                raise
            except NotTogether as error:
                for item in self._book.fleet.items_of(name):
                    self._change(item.key, state="planned", reason="")
                raise HostGone(str(error)) from error

        async def meet(name: str) -> None:
            await self._one_host(name, measure)
            # who was never connected comes no more
            meeting.fails(name, self._book.fleet.hosts[name].reason)

        async with self._book.kept(), asyncio.TaskGroup() as group:
            for name in self._book.fleet.hosts:
                group.create_task(meet(name))

    async def _measure_host_with_others(self, name: str, meeting: Rendezvous) -> None:
        keys = self._items(name, await self._look_at(name))
        if not keys:
            raise HostGone("no drive or target of it is meant")
        self._waiting |= {key: asyncio.Event() for key in keys}
        measuring = [
            asyncio.ensure_future(self._measure_item(self._book.fleet.items[key], alone=False)) for key in keys
        ]
        beginning = asyncio.ensure_future(self._begin(name, keys, meeting))
        try:
            await asyncio.wait({*measuring, beginning}, return_when=asyncio.FIRST_COMPLETED)
            if not beginning.done():
                ended = [one.result() for one in measuring if one.done()]
                raise HostGone(next((item.reason for item in ended if item.reason), "it ended before it began"))
            await beginning
        finally:
            if not beginning.done() or beginning.exception():
                beginning.cancel()
                for key in keys:
                    await self._centre.ask(name, host_tasks.begin, key, None, within_s=_ASK_WITHIN_S)
            items = await asyncio.gather(*measuring)
        if self._manner.gathers:
            for item in items:
                await self._gather_item(item)

    async def _begin(self, name: str, keys: Sequence[str], meeting: Rendezvous) -> None:
        """Wait until everybody is ready, and tell a host the moment by its own clock."""
        for key in keys:
            await self._waiting[key].wait()
        clock = await self._centre.clock(name)
        self._book.change_host(name, clock_offset_ns=clock.ahead_ns, clock_error_ns=clock.error_ns)
        meeting.is_ready(name)
        moment = await meeting.moment()
        for key in keys:
            await self._centre.ask(name, host_tasks.begin, key, moment + clock.ahead_ns, within_s=_ASK_WITHIN_S)

    async def gather(self) -> None:
        """Bring here what is complete on its host and not here yet."""
        await self._each_host(self._gather_host)

    async def ask_each(self, question: Callable[..., Any], use: Callable[[str, Any], None]) -> None:
        """Ask every host the same; `use` gets its name and its answer."""

        async def ask(name: str) -> None:
            use(name, await self._centre.ask(name, question, within_s=self._manner.item_s))

        await self._each_host(ask)

    async def _each_host(self, work: Callable[[str], Any]) -> None:
        async with self._book.kept(), asyncio.TaskGroup() as group:
            for name in self._book.fleet.hosts:
                group.create_task(self._one_host(name, work))

    async def _one_host(self, name: str, work: Callable[[str], Any]) -> None:
        """Work with a host; that it cannot be reached, or goes, is a result."""
        self._book.change_host(name, reason="")
        try:
            async with self._connected(name):
                await work(name)
        except (HostGone, DrivelabError) as error:
            reason = str(error) if isinstance(error, HostGone) else f"{error.code}: {error.what}"
            self._book.change_host(name, reason=reason)
            self._cut_off(name, reason)
            self._manner.tell(name)
        except asyncio.CancelledError:
            self._cut_off(name, "the fleet was interrupted")
            raise

    def _cut_off(self, name: str, reason: str) -> None:
        for item in self._book.fleet.items_of(name):
            if item.state == "measuring":
                self._change(item.key, state="cut_off", reason=reason)

    @asynccontextmanager
    async def _connected(self, name: str) -> AsyncIterator[None]:
        """Have a host joined while the block runs."""
        started: StartedHost | None = None
        try:
            async with self._starts:
                started = await self._start(name)
                await self._wait_for(name, started)
            yield
        finally:
            if started is not None:
                await asyncio.shield(started.let_go(_PUT_BACK_WITHIN_S))

    async def _start(self, name: str) -> StartedHost | None:
        keys = self._manner.host_keys
        if keys is None:
            return None
        entry = self._book.fleet.hosts[name].entry
        join_s = self._manner.join_s
        joining = Joining(self._centre.address, name, keys, self._manner.silent_s, join_s * _OWN_SHARE)
        return await start_over_ssh(entry, entry.address or name, joining, connect_s=int(join_s))

    async def _wait_for(self, name: str, started: StartedHost | None) -> None:
        """Return when a host has joined.

        Raises
        ------
        HostGone
            It will not.
        """
        waiting: dict[str, asyncio.Future[Any]] = {"joined": asyncio.ensure_future(self._centre.joined(name))}
        if started is not None:
            waiting["ended"] = asyncio.ensure_future(started.ended())
        try:
            await asyncio.wait(waiting.values(), timeout=self._manner.join_s, return_when=asyncio.FIRST_COMPLETED)
            if waiting["joined"].done():
                return
            if started is not None and waiting["ended"].done():
                raise HostGone(str(waiting["ended"].result()))
            raise HostGone(f"it did not join within {format_wait_ns(self._manner.join_s * 1e9)}")
        finally:
            for one in waiting.values():
                one.cancel()

    async def _measure_host(self, name: str) -> None:
        drives = await self._look_at(name)
        for planned in self._items(name, drives):
            item = self._book.fleet.items[planned]
            if item.state != "complete":
                serial = item.drive.get("serial", planned)
                async with self._drives.setdefault(serial, asyncio.Lock()):
                    item = await self._measure_item(item)
            if self._manner.gathers:
                await self._gather_item(item)

    async def _look_at(self, name: str) -> Sequence[Mapping[str, Any]]:
        """The drives of a host; what is odd about it is noted."""
        answer = await self._centre.ask(name, host_tasks.drives, within_s=_ASK_WITHIN_S)
        drives: Sequence[Mapping[str, Any]] = answer["drives"]
        clock = await self._centre.clock(name)
        entry = self._book.fleet.hosts[name].entry
        notes = [answer["error"]] if answer["error"] else []
        notes += unmet_rules(entry, drives)
        if abs(clock.ahead_ns) > _CLOCK_OFF_NS + clock.error_ns:
            direction = "ahead of" if clock.ahead_ns > 0 else "behind"
            notes.append(f"its clock is {format_wait_ns(abs(clock.ahead_ns))} {direction} this one")
        self._book.change_host(name, notes=tuple(notes), clock_offset_ns=clock.ahead_ns, clock_error_ns=clock.error_ns)
        return drives

    def _items(self, name: str, drives: Sequence[Mapping[str, Any]]) -> list[str]:
        """The items of a host, planned now where they are not; those that are go where their drive is now."""

        def consent(host: str, drive: Mapping[str, Any]) -> tuple[str, ...]:
            return erase_words(host, drive, self._manner.erase_list)

        entry = self._book.fleet.hosts[name].entry
        now = {item.key: item for item in items_of_host(name, entry, drives, consent)}
        known = {item.key: item for item in self._book.fleet.items_of(name)}
        for key, item in now.items():
            if key in known:
                now[key] = replace(known[key], target=item.target, erase=item.erase)
        self._book.add(now)
        for key, item in known.items():
            if key not in now and item.state not in ENDED:
                self._change(key, state="failed", reason="its drive is not there any more, or is in use")
        return list(now)

    async def _measure_item(self, item: FleetItem, *, alone: bool = True) -> FleetItem:
        book, work = self._book, self._book.fleet.work
        self._change(item.key, state="measuring", reason="", now="")
        held = [*([MEASURING] if alone else []), *([item.resource] if item.resource.startswith("drive:") else [])]
        arguments = (book.fleet.name, {**item.to_json(), "erase": list(item.erase)}, work.to_json())
        try:
            answer = await self._centre.ask(
                item.host, host_tasks.measure, *arguments, within_s=self._manner.item_s, holding=tuple(held)
            )
        except HostGone as error:
            if self._centre.is_here(item.host):
                await self._centre.dismiss(item.host)
            raise error
        return self._change(item.key, **answer, now="")

    async def _gather_item(self, item: FleetItem) -> None:
        if item.state == "complete" and not item.gathered:
            self._change(item.key, gathered=await gathered(self._centre, item, self._book.fleet.directory))

    async def _gather_host(self, name: str) -> None:
        for item in self._book.fleet.items_of(name):
            if item.state != "complete":
                answer = await self._centre.ask(
                    name, host_tasks.outcome, self._book.fleet.name, item.key, within_s=_ASK_WITHIN_S
                )
                self._change(item.key, **answer)
            await self._gather_item(self._book.fleet.items[item.key])

    def _change(self, key: str, **changes: Any) -> FleetItem:
        item = self._book.change(key, **changes)
        self._manner.tell(key)
        return item

    def _hear(self, news: Mapping[str, Any]) -> None:
        if news["fleet"] == self._book.fleet.name and news["item"] in self._book.fleet.items:
            self._change(news["item"], now=news["line"])
            if news["line"] == host_tasks.READY and news["item"] in self._waiting:
                self._waiting[news["item"]].set()
