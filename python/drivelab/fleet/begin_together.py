"""Has targets of many hosts measured at one moment: each waits until all are ready, and begins by its own clock."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from drivelab.fleet import host_tasks
from drivelab.fleet.book import FleetBook
from drivelab.fleet.centre import HostGone
from drivelab.fleet.conduct import Conductor
from drivelab.fleet.rendezvous import NotTogether, Rendezvous, not_together
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_plan import NOT_TOGETHER

_ASK_WITHIN_S = 60


async def measure_together(conductor: Conductor) -> None:
    """Have everything measured at one moment, or nothing, and gather it.

    Parameters
    ----------
    conductor : Conductor
        Of a fleet whose work begins together.
    """
    book = conductor.book
    meeting = Rendezvous(book.fleet.hosts)

    async def measure(name: str) -> None:
        try:
            await _measure_host(conductor, name, meeting)
        except (HostGone, DrivelabError, asyncio.CancelledError):
            meeting.fails(name)
            raise
        except NotTogether as error:
            for item in book.items_of(name):
                conductor.change(item.key, state="planned", reason="")
            raise HostGone(str(error)) from error

    async def meet(name: str) -> None:
        await conductor.one_host(name, measure)
        # who was never connected comes no more
        meeting.fails(name)

    async with book.kept():
        async with asyncio.TaskGroup() as group:
            for name in book.fleet.hosts:
                group.create_task(meet(name))
        _name_all(book)


def _name_all(book: FleetBook) -> None:
    """Have whoever did not begin say of all hosts that could not, and not only of the first."""
    reasons = {name: host.reason for name, host in book.fleet.hosts.items() if host.reason}
    waited = [name for name, reason in reasons.items() if reason.startswith(NOT_TOGETHER)]
    for name in waited:
        book.change_host(name, reason=not_together([one for one in reasons if one not in waited]))


async def _measure_host(conductor: Conductor, name: str, meeting: Rendezvous) -> None:
    """Have all targets of a host begin with those of the others.

    Raises
    ------
    HostGone
        It left, or one of its targets cannot begin.
    NotTogether
        Another host cannot.
    """
    keys = await conductor.foresee_host(name)
    if not keys:
        raise HostGone("no drive or target of it is meant")
    # where somebody cannot come nobody lays out files
    meeting.require_possible()
    conductor.ready |= {key: asyncio.Event() for key in keys}
    items = conductor.book.fleet.items
    measuring = [asyncio.ensure_future(conductor.measure_item(items[key])) for key in keys]
    beginning = asyncio.ensure_future(_begin(conductor, name, keys, meeting))
    try:
        await asyncio.wait({*measuring, beginning}, return_when=asyncio.FIRST_COMPLETED)
        if not beginning.done():
            ended = [one.result() for one in measuring if one.done()]
            raise HostGone(next((item.reason for item in ended if item.reason), "it ended before it began"))
        await beginning
    finally:
        if not beginning.done() or beginning.exception():
            beginning.cancel()
            await _begin_at(conductor, name, keys, None)
        measured = await asyncio.gather(*measuring)
    for item in measured:
        await conductor.gather_item(item)


async def _begin(conductor: Conductor, name: str, keys: Sequence[str], meeting: Rendezvous) -> None:
    """Wait until everybody is ready, and tell a host the moment by its own clock."""
    for key in keys:
        await conductor.ready[key].wait()
    clock = await conductor.centre.clock(name)
    conductor.book.change_host(name, clock_offset_ns=clock.ahead_ns, clock_error_ns=clock.error_ns)
    meeting.is_ready(name)
    await _begin_at(conductor, name, keys, await meeting.moment() + clock.ahead_ns)
    for key in keys:
        if conductor.book.fleet.items[key].state == "planned":
            conductor.change(key, state="measuring")


async def _begin_at(conductor: Conductor, name: str, keys: Sequence[str], moment_ns: int | None) -> None:
    for key in keys:
        await conductor.centre.ask(name, host_tasks.begin, key, moment_ns, within_s=_ASK_WITHIN_S)
