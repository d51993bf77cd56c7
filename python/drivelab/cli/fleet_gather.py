"""The command ``drivelab fleet gather``: brings here what hosts have measured."""

from __future__ import annotations

import sys
from typing import Annotated

from drivelab.cli.fleet_options import (
    FleetArgument,
    JsonOption,
    Reach,
    reaching,
)
from drivelab.cli.fleet_sitting import show_fleet, sitting
from drivelab.cli.push import TO, exit_of, pushed, summary
from drivelab.model.errors import EXIT_OK
from drivelab.model.names import counted_of


@reaching
def command(
    reach: Reach,
    fleet: FleetArgument = "LAST",
    to: Annotated[str | None, TO] = None,
    as_json: JsonOption = False,
) -> int:
    """Bring here the runs of a fleet that are complete on their hosts; nothing is measured.

    Hosts whose runs are all here are not asked, and the exit code is 0 when all
    runs are. With --to they are put into a store, too, as by 'drivelab push'.

    Raises
    ------
    DrivelabError
        F903 to F905, F909: fleets, keys and addresses. S510 to S514, U054: the store.
    """
    from drivelab.fleet.book import FleetBook
    from drivelab.fleet.record import open_fleet

    book = FleetBook(open_fleet(fleet))
    is_whole = sitting(book, reach, lambda conductor: conductor.gather(), gathers=True, as_json=as_json)
    items = book.fleet.items.values()
    here = [book.fleet.directory / one.gathered for one in items if one.gathered]
    told = pushed(here, to) if to else []
    if to:
        print(summary(told, to), file=sys.stderr)
    count = sum(one["state"] != "failed" for one in told) if to else len(here)
    if items and not as_json:
        print(f"{counted_of(count, len(items), 'run', 'are')} {f'stored in {to}' if to else 'here'}")
    shown = show_fleet(book.fleet, as_json=as_json, was_interrupted=not is_whole)
    return EXIT_OK if is_whole and items and count == len(items) else shown or exit_of(told)
