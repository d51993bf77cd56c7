"""Carries out a fleet: starts its hosts, asks what they have, has it measured, and gathers what came of it.

A host that fails or goes away costs its own items and no other's. What it measured
until then lies on it; 'drivelab fleet resume' asks for the rest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from drivelab.fleet import host_tasks
from drivelab.fleet.book import FleetBook
from drivelab.fleet.census import Census
from drivelab.fleet.centre import Centre, HostGone
from drivelab.fleet.certificates import Keys
from drivelab.fleet.clock import offset_of
from drivelab.fleet.connections import HostConnections
from drivelab.fleet.erase_list import EraseList, not_measured
from drivelab.fleet.fingerprint import difference
from drivelab.fleet.gather import gathered
from drivelab.fleet.starter import Starter
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import ENDED, NOT_TOLD, FleetItem, ItemPlan
from drivelab.model.units import format_wait_ns
from drivelab.plan.fleet import items_of_host, plan_unasked, unmet_rules

_ASK_WITHIN_S = 60
# of targets of one host, each by a command of its own
_PLANNED_AT_ONCE, _PLAN_WITHIN_S = 4, 600
# what makes dates of runs wrong
_CLOCK_OFF_NS = 2_000_000_000
_INTERRUPTED = "the fleet was interrupted"
# where a local command keeps its run is an option of it, and of a fleet what its own directory is
_OUT = "name another place: --out DIR"
_NOT_STORED = ("S501", "S502", "S503")
# a drive that is measured already is free again later
_ANOTHER_DRIVE, _LATER = "until it has ended, or choose another drive", "until it has ended, and resume this fleet then"


@dataclass(frozen=True, slots=True)
class Manner:
    """How a fleet is conducted.

    Attributes
    ----------
    host_keys : mapping of str to Keys, or None
        What each host that is started from here is handed, by name; None where others start them.
    starter : callable
        What starts a host: from its entry, its name, and how long it may take, in seconds.
    join_s : float
        How long a host may take until it has joined.
    item_s : float
        How long one drive may take.
    silent_s : float
        How long a host may say nothing.
    erase_list : EraseList
        Drives that may be erased.
    gathers : bool
        Whether runs are brought here.
    tell : callable
        Told the key of an item, or the name of a host, with every change of it.
    announce : callable
        Told the hosts that are going to begin, and the lines of the list of which it is not known whether they mean
        a drive.
    """

    host_keys: Mapping[str, Keys] | None
    starter: Callable[[HostEntry, str, int], Starter]
    join_s: float
    item_s: float
    silent_s: float
    erase_list: EraseList
    gathers: bool
    tell: Callable[[str], None]
    announce: Callable[[Sequence[str], Sequence[str]], None]


class Conductor:
    """Carries out one fleet."""

    def __init__(self, book: FleetBook, centre: Centre, manner: Manner) -> None:
        self.book = book
        self.centre = centre
        self.manner = manner
        self._connections = HostConnections(book, centre, manner)
        # several hosts may see one drive
        self._drives: dict[str, asyncio.Lock] = {}
        # set when the target of this name has said that it waits for its moment
        self.ready: dict[str, asyncio.Event] = {}
        # targets that were asked for and of which their hosts have not said yet that they begin
        self._awaited: set[str] = set()
        open_hosts = [name for name in book.fleet.hosts if not self._is_done(name)]
        are_all = len(open_hosts) == len(book.fleet.hosts)
        self.census = Census(open_hosts, manner.erase_list, self._announce, are_all=are_all)
        self._work = book.fleet.work.to_json()
        centre.listen(self._hear)

    async def measure(self) -> None:
        """Have everything measured that is not, or learn why it cannot be.

        Raises
        ------
        FleetRefused
            Nothing may begin.
        """
        await self._each_host(self._measure_host)

    async def foresee(self) -> None:
        """Learn what would be done, and touch nothing.

        Raises
        ------
        FleetRefused
            Nothing could begin.
        """
        await self._each_host(self.foresee_host)

    async def gather(self) -> None:
        """Bring here what is complete on its host and not here yet; no other host is asked."""
        missing = {item.host for item in self.book.fleet.items.values() if not item.gathered}
        await self._each_host(self._gather_host, missing)

    async def ask_each(self, question: Callable[..., Any], use: Callable[[str, Any], None]) -> None:
        """Ask every host the same; `use` gets its name and its answer."""

        async def ask(name: str) -> None:
            use(name, await self.centre.ask(name, question, within_s=self.manner.item_s))

        await self._each_host(ask)

    async def _each_host(self, work: Callable[[str], Any], among: Collection[str] | None = None) -> None:
        async with self.book.kept(), asyncio.TaskGroup() as group:
            for name in self.book.fleet.hosts:
                if not self._is_done(name) and (among is None or name in among):
                    group.create_task(self.one_host(name, work))

    def _is_done(self, name: str) -> bool:
        """Whether a host has nothing left to do, so that it is not started for it."""
        items = self.book.items_of(name)
        gathers = self.manner.gathers
        is_whole = all(item.state == "complete" and (item.gathered or not gathers) for item in items)
        return bool(items) and is_whole and not self.book.fleet.hosts[name].reason

    async def one_host(self, name: str, work: Callable[[str], Any]) -> None:
        """Work with a host; that it cannot be reached, or goes, is a result.

        Raises
        ------
        FleetRefused
            Nothing of the fleet may begin.
        """
        self.book.change_host(name, reason="")
        try:
            async with self._connections.connected(name):
                try:
                    await work(name)
                except (HostGone, DrivelabError) as error:
                    # told at once: a connection may take its time to end
                    self._give_up(name, error)
        except (HostGone, DrivelabError) as error:
            self._give_up(name, error)
        except asyncio.CancelledError:
            if not self._is_done(name) and not self.book.fleet.hosts[name].reason:
                self.book.change_host(name, reason=_INTERRUPTED)
            self._cut_off(name, _INTERRUPTED)
            raise
        finally:
            self.census.leaves(name)

    def _give_up(self, name: str, error: HostGone | DrivelabError) -> None:
        reason = str(error) if isinstance(error, HostGone) else f"{error.code}: {error.what}"
        if isinstance(error, DrivelabError) and error.code in _NOT_STORED:
            # what a host has no room for it says itself
            reason += f" ({error.where} on this machine)"
        self.book.change_host(name, reason=reason)
        self._cut_off(name, reason)
        self.manner.tell(name)
        # also at once: its process may take its time to end
        self.census.leaves(name)

    def _cut_off(self, name: str, reason: str) -> None:
        for item in self.book.items_of(name):
            if item.state == "measuring":
                self.change(item.key, state="cut_off", reason=reason)

    async def _measure_host(self, name: str) -> None:
        known = {item.key for item in self.book.items_of(name)}
        for planned in await self.foresee_host(name):
            item = self.book.fleet.items[planned]
            if planned in known and item.plan is not None and item.plan.is_not_listed:
                # who only forgot the list has not learned why it is missing
                await self._look_at_item(item, is_known=True)
            elif item.state != "complete":
                async with self._drives.setdefault(item.identity or planned, asyncio.Lock()):
                    await self.measure_item(item)
            item = self.book.fleet.items[planned]
            if self.manner.gathers:
                await self.gather_item(item)

    async def foresee_host(self, name: str) -> list[str]:
        """The items of a host, once it is known and told what they are going to do.

        Raises
        ------
        FleetRefused
            Nothing of the fleet may begin.
        DrivelabError
            F902: this host may not. F908: it has another version.
        HostGone
            It left.
        """
        drives = await self.look_at(name)
        self.census.goes_on()
        keys = self.plan_host(name, drives)
        limit = asyncio.Semaphore(_PLANNED_AT_ONCE)

        async def plan(item: FleetItem) -> None:
            async with limit:
                told = await self.centre.ask(name, host_tasks.plan, *self._asked(item), within_s=_PLAN_WITHIN_S)
            found = ItemPlan.from_json(told)
            self.book.change(item.key, plan=replace(found, refused=_in_a_fleet(found.refused, item)))
            self.census.goes_on()

        if self.book.fleet.work.command == "run":
            items = [self.book.fleet.items[key] for key in keys]
            await asyncio.gather(*(plan(item) for item in items if item.state != "complete"))
        else:
            for key in keys:
                self.book.change(key, plan=plan_unasked(self.book.fleet.items[key], self.book.fleet.work))
        await self.census.may_begin(name, drives)
        return keys

    async def look_at(self, name: str) -> Sequence[Mapping[str, Any]]:
        """The drives of a host; what is odd about it is noted."""
        sent_ns = time.time_ns()
        answer = await self.centre.ask(name, host_tasks.drives, within_s=_ASK_WITHIN_S)
        clock = offset_of(sent_ns, answer["asked_ns"], answer["answered_ns"], time.time_ns())
        if differs := difference(answer["fingerprint"]):
            raise DrivelabError("F908", f"another version: {differs}")
        drives: Sequence[Mapping[str, Any]] = answer["drives"]
        entry = self.book.fleet.hosts[name].entry
        notes = [answer["error"]] if answer["error"] else []
        notes += unmet_rules(entry, drives)
        if abs(clock.ahead_ns) > _CLOCK_OFF_NS + clock.error_ns:
            direction = "ahead of" if clock.ahead_ns > 0 else "behind"
            notes.append(f"its clock is {format_wait_ns(abs(clock.ahead_ns))} {direction} this one")
        self.book.change_host(name, notes=tuple(notes), clock_offset_ns=clock.ahead_ns, clock_error_ns=clock.error_ns)
        return drives

    def plan_host(self, name: str, drives: Sequence[Mapping[str, Any]]) -> list[str]:
        """The items of a host, planned now where they are not; those that are go where their drive is now."""
        entry = self.book.fleet.hosts[name].entry
        now = {item.key: item for item in items_of_host(name, entry, drives, self.manner.erase_list.consent)}
        known = {item.key: item for item in self.book.items_of(name)}
        for key, item in now.items():
            if key in known:
                now[key] = replace(known[key], target=item.target, erase=item.erase)
        self.book.add(now)
        for key, item in known.items():
            if key not in now and item.state not in ENDED:
                self.change(key, state="failed", reason="its drive is not there any more, or is in use")
        return list(now)

    async def measure_item(self, item: FleetItem) -> FleetItem:
        """Have one target measured, and the item that it is then.

        Raises
        ------
        HostGone
            Its host left, or took longer than one may.
        """
        book = self.book
        # that it began its host has to say: until then it is as it was left
        self._awaited.add(item.key)
        book.change(item.key, now="")
        arguments = (*self._asked(item), book.tell_after_s)
        try:
            answer = await self.centre.ask(
                item.host, host_tasks.measure, book.fleet.name, *arguments, within_s=self.manner.item_s
            )
        except HostGone as error:
            if self.centre.is_here(item.host):
                await self.centre.dismiss(item.host)
            raise error
        finally:
            self._awaited.discard(item.key)
        if answer["reason"].startswith(NOT_TOLD):
            answer |= {"state": "planned", "reason": ""}
        return self.change(item.key, **_told_in_a_fleet(answer, item), now="")

    def _asked(self, item: FleetItem) -> tuple[dict[str, Any], dict[str, Any]]:
        """An item with its consent, and what is done with it, as hosts are told."""
        return {**item.to_json(), "erase": item.erase}, self._work

    async def gather_item(self, item: FleetItem) -> None:
        """Bring the run of a target here, if it is complete and not here yet."""
        if item.state == "complete" and not item.gathered:
            name = await gathered(self.centre, item, self.book.fleet.directory)
            self.change(item.key, gathered=name, reason="")

    async def _gather_host(self, name: str) -> None:
        for item in self.book.items_of(name):
            # a failure is known from what its command said: the host has kept nothing of it
            await self._look_at_item(item, is_known=item.state == "failed")
            await self.gather_item(self.book.fleet.items[item.key])

    async def _look_at_item(self, item: FleetItem, *, is_known: bool) -> None:
        """Note what lies on its host of an item; where it is known why it is missing, only that it is not."""
        if item.state != "complete":
            answer = await self.centre.ask(
                item.host, host_tasks.outcome, self.book.fleet.name, item.key, within_s=_ASK_WITHIN_S
            )
            if answer["state"] == "complete" or not is_known:
                self.change(item.key, **_told_in_a_fleet(answer, item))

    def change(self, key: str, **changes: Any) -> FleetItem:
        """Change an item, and tell of it."""
        item = self.book.change(key, **changes)
        self.manner.tell(key)
        return item

    def _announce(self, hosts: Sequence[str], unknown_lines: Sequence[str]) -> None:
        self.manner.announce(hosts, not_measured(unknown_lines, self.book.fleet.items.values()))

    def _hear(self, host: str, news: Mapping[str, Any]) -> None:
        item = self.book.fleet.items.get(news["item"])
        if item is not None and (item.host, self.book.fleet.name) == (host, news["fleet"]):
            self.book.hear(news["item"], news)
            begins = item.key in self._awaited and not self.book.fleet.work.begins_together
            self._awaited.discard(item.key)
            self.change(item.key, **({"state": "measuring", "reason": ""} if begins else {}), now=news["line"])
            if news["line"] == host_tasks.READY and news["item"] in self.ready:
                self.ready[news["item"]].set()


def _told_in_a_fleet(answer: Mapping[str, Any], item: FleetItem) -> dict[str, Any]:
    return {**answer, **{key: _in_a_fleet(answer[key], item) for key in ("reason", "answer", "why") if key in answer}}


def _in_a_fleet(text: str, item: FleetItem) -> str:
    """What a local command says: what that is to be given is a line of the list here, or an entry of the hosts."""
    name = item.drive.get("serial") or PurePosixPath(item.target).name
    listed = text.replace("--erase SERIAL", f"--erase {name}")
    listed = listed.replace("--erase ", f"--erase-list with the line {item.host}:")
    elsewhere = f'keep runs of {item.host} elsewhere, in hosts.toml: drivelab = "env DRIVELAB_RUNS=DIR drivelab"'
    listed = listed.replace("free space there", f"free space there on {item.host}").replace(_ANOTHER_DRIVE, _LATER)
    return listed.replace(_OUT, elsewhere)
