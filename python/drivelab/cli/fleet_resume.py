"""The command ``drivelab fleet resume``: asks hosts for what is still missing."""

from __future__ import annotations

import sys

from drivelab.cli.fleet_options import (
    EraseListOption,
    JsonOption,
    NoGatherOption,
    Reach,
    UnfinishedArgument,
    reaching,
)
from drivelab.cli.fleet_sitting import show_fleet, sitting
from drivelab.fleet.erase_list import load_erase_list
from drivelab.model.errors import DrivelabError


@reaching
def command(
    reach: Reach,
    fleet: UnfinishedArgument = None,
    erase_list: EraseListOption = None,
    no_gather: NoGatherOption = False,
    as_json: JsonOption = False,
) -> int:
    """Go on with a fleet: hosts that could not be asked, drives that were cut off or failed, runs that are not here.

    What is measured is not measured again. Hosts that measure on by themselves
    are left alone. Drives that are erased are listed once more.

    Raises
    ------
    DrivelabError
        F902 to F905, F909: lists, fleets, keys and addresses.
    """
    from drivelab.fleet.book import FleetBook
    from drivelab.fleet.record import open_fleet, unfinished_fleet

    book = FleetBook(open_fleet(fleet) if fleet else unfinished_fleet(_leave_out))
    print(f"going on with {book.fleet.called}", file=sys.stderr)
    hosts = book.fleet.hosts
    erasable = load_erase_list(erase_list, None if book.fleet.is_part else hosts, chosen=hosts)
    if book.fleet.work.begins_together:
        what = "what begins at one moment on all hosts cannot go on, and is measured again as a whole"
        raise DrivelabError("F903", what, where=book.fleet.called, do=book.fleet.command_line)
    is_whole = sitting(
        book, reach, lambda conductor: conductor.measure(), erase_list=erasable, gathers=not no_gather, as_json=as_json
    )
    return show_fleet(book.fleet, as_json=as_json, was_interrupted=not is_whole)


def _leave_out(name: str, error: DrivelabError) -> None:
    print(f"left out: {name}: {error.what}", file=sys.stderr)
