"""The command ``drivelab fleet check``: a short verdict about drives and directories of many hosts."""

from __future__ import annotations

from typing import Annotated

import typer

from drivelab.cli.fleet_options import (
    EraseListOption,
    FleetOutOption,
    HostsOption,
    JsonOption,
    NoGatherOption,
    OnlyHostOption,
    Reach,
    reaching,
)
from drivelab.cli.fleet_sitting import begin, show_fleet
from drivelab.fleet.erase_list import load_erase_list, name_to_type_again
from drivelab.fleet.hosts import load_hosts, measured_hosts
from drivelab.model.fleet_plan import FleetWork
from drivelab.needs.load import load_need


@reaching
def command(
    reach: Reach,
    hosts: HostsOption,
    need: Annotated[str | None, typer.Option("--for", metavar="NEED", help="As for 'drivelab check'.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Take 10 s each instead of 45: wider intervals.")] = False,
    host: OnlyHostOption = None,
    erase_list: EraseListOption = None,
    out: FleetOutOption = None,
    no_gather: NoGatherOption = False,
    as_json: JsonOption = False,
) -> int:
    """Check drives and directories of many hosts; nothing is destroyed but drives of --erase-list.

    What each host does is an ordinary 'drivelab check', which only reads a drive
    that is not in --erase-list, and says nothing of its writes then. Exit codes:
    0, 1 or 4 as of 'drivelab check', the worst of all targets (1 is the worst);
    1 also where something was not measured.

    Raises
    ------
    DrivelabError
        F901 to F905, F909: hosts, lists, keys and addresses. U005: no such need.
    """
    from drivelab.fleet.book import FleetBook
    from drivelab.fleet.record import new_fleet

    every = load_hosts(hosts)
    known = measured_hosts(every, host or (), where=str(hosts))
    erasable = load_erase_list(erase_list, every, chosen=known)
    if need is not None:
        load_need(need)
    words = [*(["--for", need] if need else []), *(["--quick"] if quick else [])]
    work, is_part, to_go_on = FleetWork("check", tuple(words)), len(known) < len(every), reach.to_go_on(no_gather)
    listed = name_to_type_again(erase_list)
    book = FleetBook(
        new_fleet(work, known, out, is_part=is_part, erase_list=listed, options=to_go_on, hosts_file=hosts)
    )
    is_whole = begin(book, reach, lambda one: one.measure(), erasable, gathers=not no_gather, as_json=as_json)
    return show_fleet(book.fleet, as_json=as_json, was_interrupted=not is_whole)
