"""The command ``drivelab fleet io``: one workload on many hosts, begun at one moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from drivelab.cli.fleet_options import (
    EraseListOption,
    HostsOption,
    OnlyHostOption,
    Reach,
    reaching,
)
from drivelab.cli.fleet_sitting import show_fleet, sitting
from drivelab.fleet.hosts import load_erase_list, load_hosts
from drivelab.model.errors import EXIT_FAILED, EXIT_NOT_TRUSTED, EXIT_OK
from drivelab.model.fleet_plan import FleetWork
from drivelab.streams import make_console

SCHEMA = 1


@reaching
def command(
    reach: Reach,
    hosts: HostsOption,
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="IO_OPTIONS...", help="As for 'drivelab io': --operation write --runtime 10s"),
    ] = None,
    host: OnlyHostOption = None,
    erase_list: EraseListOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the fleet's directory is made; else where runs are kept.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Issue one workload from many hosts at the same moment, and tell what they come to together: shared storage.

    None begins until all are ready, and none does if one cannot. Rates are
    those of the time in which all worked; clocks of hosts are measured, and how
    far they may be off is told. In a target {host} becomes the host's name, so
    that each may have a file of its own on what they share.

    Raises
    ------
    DrivelabError
        F901 to F905, F909: hosts, lists, keys and addresses.
    """
    from drivelab.fleet.book import FleetBook
    from drivelab.fleet.record import new_fleet
    from drivelab.fleet.together import measure_together

    known = load_hosts(hosts, tuple(host or ()))
    erasable = load_erase_list(erase_list) if erase_list else ()
    work = FleetWork("io", (*(options or ()), "--start-when-told"))
    book = FleetBook(new_fleet(work, known, out))
    is_whole = sitting(book, reach, measure_together, erase_list=erasable, gathers=True, as_json=as_json)
    fleet = book.fleet
    done = [item for item in fleet.items.values() if item.gathered]
    if not is_whole or not done:
        return show_fleet(fleet, as_json=as_json, was_interrupted=not is_whole)
    # imported here: what reads runs is large
    from drivelab.answers.fleet_together import answer_together
    from drivelab.report.terminal.fleet_together import together_lines

    clocks = {name: (one.clock_offset_ns or 0, one.clock_error_ns or 0) for name, one in fleet.hosts.items()}
    answer = answer_together((item.key, fleet.directory / item.gathered, *clocks[item.host]) for item in done)
    assert answer is not None
    if as_json:
        print(json.dumps({"schema": SCHEMA, "directory": str(fleet.directory), **answer.to_json()}, indent=2))
    else:
        for line in together_lines(answer, plain=not make_console().encoding.startswith("utf")):
            print(line)
    if len(done) < len(fleet.items) or any(one.reason for one in fleet.hosts.values()):
        return EXIT_FAILED if as_json else show_fleet(fleet, as_json=False)
    return EXIT_NOT_TRUSTED if answer.voids else EXIT_OK
