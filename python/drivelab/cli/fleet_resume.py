"""The command ``drivelab fleet resume``: asks hosts for what is still missing."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from drivelab.cli.fleet_options import (
    EraseListOption,
    JsonOption,
    NoGatherOption,
    Reach,
    UnfinishedArgument,
    reaching,
)
from drivelab.cli.fleet_sitting import ForeseeOption, show_fleet, show_foreseen, sitting
from drivelab.fleet.erase_list import load_erase_list, name_to_type_again
from drivelab.model.errors import DrivelabError


@reaching
def command(
    reach: Reach,
    fleet: UnfinishedArgument = None,
    hosts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The hosts, if they are in another file by now than when it was begun."),
    ] = None,
    erase_list: EraseListOption = None,
    no_gather: NoGatherOption = False,
    dry_run: ForeseeOption = False,
    as_json: JsonOption = False,
) -> int:
    """Go on with a fleet: hosts that could not be asked, drives that were cut off or failed, runs that are not here.

    What is measured is not measured again. Hosts that measure on by themselves
    are left alone. Drives that are erased are listed once more. The file of the
    hosts is read again for how they are reached, and not for what is meant.

    Raises
    ------
    DrivelabError
        F901 to F905, F909: hosts, lists, fleets, keys and addresses.
    """
    from drivelab.fleet.book import FleetBook
    from drivelab.fleet.changed_hosts import reached_as_now
    from drivelab.fleet.record import open_fleet, unfinished_fleet

    found = open_fleet(fleet) if fleet else unfinished_fleet(_leave_out)
    print(f"{'asking about' if dry_run else 'going on with'} {found.called}", file=sys.stderr)
    erasable = load_erase_list(erase_list, None if found.is_part else found.hosts, chosen=found.hosts)
    if found.work.begins_together:
        what = "what begins at one moment on all hosts cannot go on, and is measured again as a whole"
        raise DrivelabError("F903", what, where=found.called, do=found.how_to_go_on)
    reached, news = reached_as_now(found.as_left(), hosts)
    print("".join(f"{line}\n" for line in news), end="", file=sys.stderr)
    if dry_run:
        return show_foreseen(reached, reach, erasable, as_json=as_json)
    listed, options = (
        str(name_to_type_again(erase_list) or found.erase_list),
        reach.to_go_on(no_gather) or found.options,
    )
    book = FleetBook(replace(reached, erase_list=listed, options=options))
    try:
        is_whole = sitting(
            book, reach, lambda one: one.measure(), erase_list=erasable, gathers=not no_gather, as_json=as_json
        )
    except DrivelabError as error:
        if error.code == "F902":
            # nothing has begun: all is as it was
            found.keep()
        raise
    return show_fleet(book.fleet, as_json=as_json, was_interrupted=not is_whole)


def _leave_out(name: str, error: DrivelabError) -> None:
    print(f"left out: {name}: {error.what}", file=sys.stderr)
