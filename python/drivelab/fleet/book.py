"""A fleet while it is worked on: changes are seen at once, and kept within a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from drivelab.fleet.record import FleetRecord
from drivelab.model.fleet_plan import FleetItem
from drivelab.model.fleet_standing import FleetStanding, Pace, standing_of

# lines of progress of all hosts together, how soon one tells another, and after how many of these it is of the past
_LINES_PER_S, _TELL_AFTER_S, _FRESH_FOR = 100, 0.5, 4
# hosts measure rates over a second
_FRESH_S_MIN = 5.0
# what is lost with the second is asked for again: the hosts know it
_KEEP_AFTER_S = 1.0
# a large fleet takes a while to be written: of the processor's time one part of these
_SHARE_OF_KEEPING = 50


class FleetBook:
    """The record of a fleet that changes.

    Parameters
    ----------
    fleet : FleetRecord
        As it is at first.
    keeps : bool
        Whether it is kept: what is only asked leaves nothing behind.

    Attributes
    ----------
    fleet : FleetRecord
        As it is now.
    """

    def __init__(self, fleet: FleetRecord, *, keeps: bool = True) -> None:
        self.fleet = replace(fleet, hosts=dict(fleet.hosts), items={})
        self._keeps = keeps
        self._is_changed = False
        self._paces: dict[str, Pace] = {}
        self._of_host: dict[str, dict[str, None]] = {}
        self.add(fleet.items)

    def items_of(self, host: str) -> list[FleetItem]:
        """Those of one host, in the order in which they were planned."""
        return [self.fleet.items[key] for key in self._of_host.get(host, ())]

    def change(self, key: str, **changes: Any) -> FleetItem:
        """Change an item."""
        item = replace(self.fleet.items[key], **changes)
        self.add({key: item})
        return item

    @property
    def tell_after_s(self) -> float:
        """How soon one host tells another line of progress."""
        return max(_TELL_AFTER_S, len(self.fleet.hosts) / _LINES_PER_S)

    def hear(self, key: str, news: Mapping[str, Any]) -> None:
        """Note how fast an item is measured, where a host tells it."""
        if "left_ns" in news:
            numbers = {name: news[name] for name in ("left_ns", "operations_per_s", "bytes_per_s")}
            self._paces[key] = Pace(time.monotonic(), **numbers)

    def standing(self) -> FleetStanding:
        """How the fleet stands now."""
        reasons = {name: host.reason for name, host in self.fleet.hosts.items()}
        fresh_s = max(_FRESH_S_MIN, _FRESH_FOR * self.tell_after_s)
        return standing_of(reasons, self.fleet.items, self._paces, time.monotonic(), fresh_s)

    def add(self, items: Mapping[str, FleetItem]) -> None:
        """Add items, or put others in their place."""
        self._is_changed = True
        self.fleet.items.update(items)
        for key, item in items.items():
            self._of_host.setdefault(item.host, {})[key] = None

    def change_host(self, name: str, **changes: Any) -> None:
        """Change a host."""
        self._is_changed = True
        self.fleet.hosts[name] = replace(self.fleet.hosts[name], **changes)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Have the fleet for oneself while the block runs, keep changes meanwhile, and all of them when it ends.

        Raises
        ------
        DrivelabError
            F907: another command works with it. S501 to S503: it cannot be written.
        """
        if not self._keeps:
            yield
            return
        with self.fleet.held():
            async with self._being_kept():
                yield

    @asynccontextmanager
    async def _being_kept(self) -> AsyncIterator[None]:
        keeping = asyncio.ensure_future(self._keep_on())
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.wait({keeping})
            self.fleet.keep()
        if not keeping.cancelled() and (error := keeping.exception()):
            raise error

    async def _keep_on(self) -> None:
        took_s = 0.0
        while True:
            await asyncio.sleep(max(_KEEP_AFTER_S, _SHARE_OF_KEEPING * took_s))
            if self._is_changed:
                self._is_changed = False
                # a disk may take its time, and hosts are heard meanwhile
                fleet = replace(self.fleet, hosts=dict(self.fleet.hosts), items=dict(self.fleet.items))
                took_s = await asyncio.shield(asyncio.to_thread(_keep, fleet))


def _keep(fleet: FleetRecord) -> float:
    """Write all of a fleet; how much of the processor's time that took, in seconds."""
    began = time.thread_time()
    fleet.keep()
    return time.thread_time() - began
