"""The command ``drivelab fleet gather``: brings here what hosts have measured."""

from __future__ import annotations

from drivelab.cli.fleet_options import (
    FleetArgument,
    JsonOption,
    Reach,
    reaching,
)
from drivelab.cli.fleet_sitting import show_fleet, sitting


@reaching
def command(
    reach: Reach,
    fleet: FleetArgument = "LAST",
    as_json: JsonOption = False,
) -> int:
    """Bring here the runs of a fleet that are complete on their hosts; nothing is measured.

    Raises
    ------
    DrivelabError
        F903 to F905, F909: fleets, keys and addresses.
    """
    from drivelab.fleet.book import FleetBook
    from drivelab.fleet.record import open_fleet

    book = FleetBook(open_fleet(fleet))
    is_whole = sitting(book, reach, lambda conductor: conductor.gather(), gathers=True, as_json=as_json)
    return show_fleet(book.fleet, as_json=as_json, was_interrupted=not is_whole)
