"""The command ``drivelab fleet status``: what is known here of a fleet."""

from __future__ import annotations

from drivelab.cli.fleet_options import FleetArgument, JsonOption
from drivelab.cli.fleet_sitting import show_fleet
from drivelab.fleet.record import open_fleet


def command(fleet: FleetArgument = "LAST", as_json: JsonOption = False) -> int:
    """Show what became of a fleet, also while it is measured; no host is asked.

    Raises
    ------
    DrivelabError
        F903: there is no such fleet.
    """
    found = open_fleet(fleet)
    is_running = found.is_held()
    if not as_json:
        print(f"{found.name}{', which is being measured' if is_running else ''}")
    if not is_running:
        found = found.as_left()
    return show_fleet(found, as_json=as_json, is_running=is_running)
