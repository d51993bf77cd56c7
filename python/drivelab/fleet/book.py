"""A fleet while it is worked on: changes are seen at once, and kept within a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from drivelab.fleet.record import FleetRecord
from drivelab.model.fleet_plan import FleetItem

# what is lost with the second is asked for again: the hosts know it
_KEEP_AFTER_S = 1.0


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
        self.fleet = fleet
        self._keeps = keeps
        self._kept: FleetRecord | None = None

    def change(self, key: str, **changes: Any) -> FleetItem:
        """Change an item."""
        item = replace(self.fleet.items[key], **changes)
        self.fleet = self.fleet.with_items([item])
        return item

    def add(self, items: Mapping[str, FleetItem]) -> None:
        """Add items, or put others in their place."""
        self.fleet = self.fleet.with_items(items.values())

    def change_host(self, name: str, **changes: Any) -> None:
        """Change a host."""
        self.fleet = self.fleet.with_hosts({name: replace(self.fleet.hosts[name], **changes)})

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
        while True:
            await asyncio.sleep(_KEEP_AFTER_S)
            fleet = self.fleet
            if fleet is not self._kept:
                # a disk may take its time, and hosts are heard meanwhile
                await asyncio.shield(asyncio.to_thread(fleet.keep))
                self._kept = fleet
