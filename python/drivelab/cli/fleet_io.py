"""The command ``drivelab fleet io``: one workload on many hosts, begun at one moment."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from drivelab.cli.fleet_options import (
    EraseListOption,
    FleetOutOption,
    HostsOption,
    OnlyHostOption,
    Reach,
    reaching,
)
from drivelab.cli.fleet_sitting import begin, exit_of, fleet_json, show_fleet
from drivelab.fleet.erase_list import EraseList, load_erase_list, word_to_type_again
from drivelab.fleet.hosts import load_hosts, measured_hosts
from drivelab.model.errors import EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.model.fleet_plan import FleetWork
from drivelab.model.workload import Workload
from drivelab.streams import make_console


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
    out: FleetOutOption = None,
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
    from drivelab.fleet.begin_together import measure_together
    from drivelab.fleet.book import FleetBook
    from drivelab.fleet.record import new_fleet

    every = load_hosts(hosts)
    known = measured_hosts(every, host or (), where=str(hosts))
    erasable = load_erase_list(erase_list, every, chosen=known)
    if not require_understood(options or ()).writes:
        # no consent is needed for it, so none is given
        erasable = EraseList()
    work = FleetWork("io", (*(options or ()), "--start-when-told"))
    book = FleetBook(
        new_fleet(work, known, out, command_line=shlex.join(["drivelab", *map(word_to_type_again, sys.argv[1:])]))
    )
    is_whole = begin(book, reach, measure_together, erasable, gathers=True, as_json=as_json)
    fleet = book.fleet
    done = [item for item in fleet.items.values() if item.gathered]
    # imported here: what reads runs is large
    from drivelab.answers.fleet_together import answer_together
    from drivelab.report.terminal.fleet_together import together_lines

    clocks = {name: (one.clock_offset_ns or 0, one.clock_error_ns or 0) for name, one in fleet.hosts.items()}
    answer = answer_together((item.key, fleet.directory / item.gathered, *clocks[item.host]) for item in done)
    if as_json:
        together = {"together": answer.to_json() if answer is not None else None}
        print(json.dumps(fleet_json(fleet) | together, indent=2))
    elif answer is not None:
        failed = [item.key for item in fleet.items.values() if item not in done]
        plain = not make_console().encoding.startswith("utf")
        print("\n".join(together_lines(answer, failed, plain=plain)))
    if answer is None or len(done) < len(fleet.items) or any(one.reason for one in fleet.hosts.values()):
        if as_json:
            return exit_of(fleet, is_whole=is_whole)
        return show_fleet(fleet, as_json=False, was_interrupted=not is_whole)
    return EXIT_NOT_TRUSTED if answer.voids else EXIT_OK


def require_understood(words: Sequence[str]) -> Workload:
    """The workload of options, if ``drivelab io`` takes them: what is wrong for every host is told before one is asked.

    Raises
    ------
    DrivelabError
        U001 to U006: it does not.
    """
    from drivelab.cli.io_options import IoOptions, with_options_of
    from drivelab.cli.io_workload import workload_from

    found: list[Workload] = []

    @with_options_of(IoOptions)
    def parsed(**typed: Any) -> None:
        found.append(workload_from(IoOptions(**typed)))

    program = typer.Typer(add_completion=False)
    program.command()(parsed)
    command = typer.main.get_command(program)
    try:
        with command.make_context("io", ["TARGET", *words]) as context:
            command.invoke(context)
    except typer.TyperException as error:
        raise DrivelabError("U006", " ".join(error.format_message().split()), do="drivelab io --help") from error
    return found[0]
