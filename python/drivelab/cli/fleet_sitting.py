"""What the commands of a fleet share: a sitting with it, how it goes, and what came of it."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from drivelab.cli.fleet_live import telling
from drivelab.cli.fleet_options import Reach
from drivelab.model.errors import EXIT_FAILED, EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import FleetWork, seen_by_several
from drivelab.streams import make_console

if TYPE_CHECKING:
    from drivelab.fleet.book import FleetBook
    from drivelab.fleet.conduct import Conductor
    from drivelab.fleet.erase_list import EraseList
    from drivelab.fleet.record import FleetRecord

SCHEMA = 1
ForeseeOption = Annotated[
    bool, typer.Option("--dry-run", help="Only ask all hosts what they would do, and touch nothing.")
]
Work = Callable[["Conductor"], Awaitable[None]]
Announce = Callable[[Sequence[str], Sequence[str]], None]


def begin(book: FleetBook, reach: Reach, work: Work, erase_list: EraseList, *, gathers: bool, as_json: bool) -> bool:
    """Sit down with a fleet for the first time, as `sitting` does; one that is refused leaves nothing behind."""
    try:
        return sitting(book, reach, work, erase_list=erase_list, gathers=gathers, as_json=as_json)
    except DrivelabError as error:
        if error.code == "F902":
            # nothing has begun: there is nothing to go on with
            book.fleet.remove()
        raise


def sitting(
    book: FleetBook,
    reach: Reach,
    work: Work,
    *,
    erase_list: EraseList | None = None,
    gathers: bool = False,
    announce: Announce | None = None,
    as_json: bool = False,
) -> bool:
    """Sit down with a fleet and do something; whether it was done to its end.

    Parameters
    ----------
    book, reach
        The fleet, and how its hosts are reached.
    work : callable
        What is done.
    erase_list : EraseList, optional
        What may be erased.
    gathers : bool
        Whether runs are brought here.
    announce : callable, optional
        Told what is going to be done, before it is, as `Manner.announce`; without it the user is.
    as_json : bool
        Whether progress is JSON.

    Raises
    ------
    DrivelabError
        F902: a line of the list means no drive. F904, F905, F909, S501 to S503.
    """
    # imported here: most commands have no fleet
    from drivelab.fleet.conduct import Manner
    from drivelab.fleet.erase_list import EraseList
    from drivelab.fleet.gather import forget_damaged
    from drivelab.fleet.session import listening_at, listening_here, sit
    from drivelab.fleet.ways import starter_of

    if gathers:
        forget_damaged(book)
    if reach.scheduler is not None and reach.keys is not None:
        listening = listening_at(reach.scheduler, reach.keys)
        print(f"hosts join here: drivelab fleet worker {reach.scheduler} --keys DIR", file=sys.stderr)
    else:
        listening = listening_here(book.fleet, reach.listen)
    starter = starter_of(slurm=reach.slurm, image=reach.kubernetes)
    times = reach.join_s, reach.item_s, reach.silent_s
    with telling(book, as_json=as_json) as teller:
        listed = erase_list or EraseList()
        manner = Manner(listening.host_keys, starter, *times, listed, gathers, teller.tell, announce or teller.announce)
        return sit(book, listening, manner, work)


def asked_of_each(
    hosts: Mapping[str, HostEntry], reach: Reach, question: Literal["drives", "restore"]
) -> tuple[dict[str, Any], dict[str, str]]:
    """What each host answers to a question of `host_tasks`, and why others did not; nothing is kept here.

    Raises
    ------
    DrivelabError
        F904, F905, F909.
    """
    from drivelab.fleet import host_tasks
    from drivelab.fleet.book import FleetBook
    from drivelab.fleet.record import FleetRecord, HostRecord

    known = {name: HostRecord(entry) for name, entry in hosts.items()}
    book = FleetBook(FleetRecord(Path(), question, FleetWork("check"), known), keeps=False)
    answers: dict[str, Any] = {}
    asked = getattr(host_tasks, question)
    is_whole = sitting(book, reach, lambda conductor: conductor.ask_each(asked, answers.__setitem__))
    if not is_whole:
        raise KeyboardInterrupt
    return answers, {
        name: "; ".join(filter(None, (host.reason, *host.notes)))
        for name, host in book.fleet.hosts.items()
        if host.reason or host.notes
    }


def fleet_json(fleet: FleetRecord) -> dict[str, Any]:
    """A fleet as it is printed: as it is kept, and where."""
    shared = seen_by_several(fleet.items.values())
    return fleet.to_json() | {"schema": SCHEMA, "directory": str(fleet.directory), "seen_by_several": shared}


def exit_of(fleet: FleetRecord, *, is_whole: bool = True, is_running: bool = False) -> int:
    """The exit code: whether all of it was measured, or still is, is fit for what it was checked for, and is sure."""
    if not is_whole:
        return 128 + signal.SIGINT
    if not is_running and not fleet.is_whole:
        return EXIT_FAILED
    if is_running:
        return EXIT_OK
    items = fleet.items.values()
    if any(item.outcome == "fail" for item in items):
        return EXIT_FAILED
    return EXIT_NOT_TRUSTED if any(item.doubt or item.outcome == "undecided" for item in items) else EXIT_OK


def show_foreseen(fleet: FleetRecord, reach: Reach, erase_list: EraseList, *, as_json: bool) -> int:
    """Print what hosts would do with what is not measured, as `show_plan` does; nothing is kept.

    Raises
    ------
    DrivelabError
        As `sitting`.
    """
    from drivelab.fleet.book import FleetBook

    book = FleetBook(fleet, keeps=False)
    unknown: list[str] = []

    def announce(_hosts: Sequence[str], lines: Sequence[str]) -> None:
        unknown.extend(lines)

    if not sitting(book, reach, lambda one: one.foresee(), erase_list=erase_list, announce=announce):
        raise KeyboardInterrupt
    return show_plan(book.fleet, unknown, as_json=as_json)


def show_plan(fleet: FleetRecord, unknown_lines: Sequence[str], *, as_json: bool) -> int:
    """Print what a fleet would do; the exit code says whether all of it can be done.

    Parameters
    ----------
    fleet : FleetRecord
        With the plans of its items.
    unknown_lines : sequence of str
        Lines of the erase list that mean no drive of the hosts that have answered, and may mean one of others.
    as_json : bool
        Whether it is JSON.
    """
    from drivelab.report.terminal.fleet_plan import fleet_plan_lines

    items = [item for item in fleet.items.values() if item.state != "complete"]
    reasons = {name: host.reason for name, host in fleet.hosts.items() if host.reason}
    if as_json:
        told = fleet.to_json() | {"items": [item.to_json() for item in items]}
        kept = {key: told[key] for key in ("work", "hosts", "items")}
        print(json.dumps({"schema": SCHEMA, **kept, "lines_not_known": list(unknown_lines)}, indent=2))
    else:
        notes = {name: host.notes for name, host in fleet.hosts.items()}
        plain = not make_console().encoding.startswith("utf")
        lines = fleet_plan_lines(items, reasons, notes, unknown_lines, asked=fleet.hosts_left, plain=plain)
        print("\n".join(lines))
    is_possible = bool(fleet.items) and not reasons and not any(item.plan and item.plan.refused for item in items)
    return EXIT_OK if is_possible else EXIT_FAILED


def show_fleet(fleet: FleetRecord, *, as_json: bool, was_interrupted: bool = False, is_running: bool = False) -> int:
    """Print what became of a fleet; the exit code says whether all of it was measured."""
    from drivelab.report.terminal.fleet_run import fleet_run_lines

    if as_json:
        print(json.dumps(fleet_json(fleet), indent=2))
    else:
        console = make_console()
        lines = fleet_run_lines(
            fleet.called,
            fleet.work.title,
            {name: (host.reason, host.notes) for name, host in fleet.hosts.items()},
            list(fleet.items.values()),
            plain=not console.encoding.startswith("utf"),
            go_on="" if is_running else fleet.how_to_go_on,
            can_compare=fleet.work.command == "run",
            need=fleet.work.need,
        )
        print("\n".join(lines))
    return exit_of(fleet, is_whole=not was_interrupted, is_running=is_running)
