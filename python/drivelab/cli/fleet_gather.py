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


@reaching
def command(
    reach: Reach,
    fleet: FleetArgument = "LAST",
    to: Annotated[str | None, TO] = None,
    as_json: JsonOption = False,
) -> int:
    """Bring here the runs of a fleet that are complete on their hosts; nothing is measured.

    With --to they are put into a store, too, as by 'drivelab push'.

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
    told = pushed([book.fleet.directory / one.gathered for one in items if one.gathered], to) if to else []
    if to:
        print(summary(told, to), file=sys.stderr)
    return show_fleet(book.fleet, as_json=as_json, was_interrupted=not is_whole) or exit_of(told)
