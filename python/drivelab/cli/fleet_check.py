"""The command ``drivelab fleet check``: a short verdict about drives and directories of many hosts."""

from __future__ import annotations

from typing import Annotated

import typer

from drivelab.cli.fleet_options import (
    FleetOutOption,
    HostsOption,
    JsonOption,
    NoGatherOption,
    OnlyHostOption,
    Reach,
    reaching,
)
from drivelab.cli.fleet_sitting import show_fleet, sitting
from drivelab.fleet.hosts import load_hosts
from drivelab.model.fleet_plan import FleetWork
from drivelab.needs.load import load_need


@reaching
def command(
    reach: Reach,
    hosts: HostsOption,
    need: Annotated[str | None, typer.Option("--for", metavar="NEED", help="As for 'drivelab check'.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Take 10 s each instead of 45: wider intervals.")] = False,
    host: OnlyHostOption = None,
    out: FleetOutOption = None,
    no_gather: NoGatherOption = False,
    as_json: JsonOption = False,
) -> int:
    """Check drives and directories of many hosts; drives are only read, and nothing is destroyed.

    What each host does is an ordinary 'drivelab check'.

    Raises
    ------
    DrivelabError
        F901, F903 to F905, F909: hosts, keys and addresses. U005: no such need.
    """
    from drivelab.fleet.book import FleetBook
    from drivelab.fleet.record import new_fleet

    known = load_hosts(hosts, tuple(host or ()))
    if need is not None:
        load_need(need)
    words = [*(["--for", need] if need else []), *(["--quick"] if quick else [])]
    book = FleetBook(new_fleet(FleetWork("check", tuple(words)), known, out, options=reach.to_go_on(no_gather)))
    is_whole = sitting(book, reach, lambda conductor: conductor.measure(), gathers=not no_gather, as_json=as_json)
    return show_fleet(book.fleet, as_json=as_json, was_interrupted=not is_whole)
