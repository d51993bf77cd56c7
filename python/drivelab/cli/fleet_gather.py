"""The command ``drivelab fleet gather``: brings here what hosts have measured."""

from __future__ import annotations

from drivelab.cli.fleet_options import (
    JOIN,
    SILENT,
    FleetArgument,
    JoinOption,
    JsonOption,
    KeysOption,
    ListenOption,
    SchedulerOption,
    SilentOption,
    SlurmOption,
    reach_of,
)
from drivelab.cli.fleet_sitting import show_fleet, sitting
from drivelab.fleet.extra import require_fleet_extra


def command(
    fleet: FleetArgument = "LAST",
    listen: ListenOption = None,
    scheduler: SchedulerOption = None,
    keys: KeysOption = None,
    slurm: SlurmOption = False,
    join_within: JoinOption = JOIN,
    silent_for: SilentOption = SILENT,
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

    reach = reach_of(listen, scheduler, keys, slurm, join_within, silent_for=silent_for)
    require_fleet_extra()
    book = FleetBook(open_fleet(fleet))
    is_whole = sitting(book, reach, lambda conductor: conductor.gather(), gathers=True, as_json=as_json)
    return show_fleet(book.fleet, as_json=as_json, was_interrupted=not is_whole)
