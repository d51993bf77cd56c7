"""The command ``drivelab fleet drives``: the drives of many hosts as one list, and what is odd about some."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from drivelab.analyse.fleet_inventory import fleet_drive, odd_facts, shared_drives
from drivelab.cli.fleet_options import (
    HostsOption,
    OnlyHostOption,
    Reach,
    reaching,
)
from drivelab.cli.fleet_sitting import asked_of_each
from drivelab.fleet.hosts import load_hosts
from drivelab.model.errors import EXIT_FAILED, EXIT_OK
from drivelab.report.terminal.fleet_drives import fleet_drive_lines
from drivelab.streams import make_console

SCHEMA = 1
# nothing is cut for who reads a pipe
_PIPED_WIDTH = 10_000
# what hosts have in memory, and loop devices without a file
_MADE = ("zram", "ram")


@reaching
def command(
    reach: Reach,
    hosts: HostsOption,
    host: OnlyHostOption = None,
    show_all: Annotated[bool, typer.Option("--all", help="All drives, however many.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every fact.")] = False,
) -> int:
    """List the drives of many hosts, and in what those of one model differ: firmware, settings, link, health.

    Drives that the hosts file means come first. Nothing is changed. SMART is asked where hosts are asked as root.

    Raises
    ------
    DrivelabError
        F901, F904, F905, F909: hosts, keys and addresses.
    """
    entries = load_hosts(hosts, tuple(host or ()))
    answers, reasons = asked_of_each(entries, reach, "drives")
    found = {
        name: [one | {"is_meant": entries[name].means(one)} for one in answers[name]["drives"] if _is_drive(one)]
        for name in sorted(answers)
    }
    drives = [fleet_drive(name, one, is_meant=one["is_meant"]) for name, listed in found.items() for one in listed]
    reasons |= {name: answer["error"] for name, answer in answers.items() if answer["error"]}
    odd, shared = odd_facts(drives), shared_drives(drives)
    if as_json:
        told: dict[str, Any] = {"schema": SCHEMA, "hosts": found, "odd": [one.to_json() for one in odd]}
        seen = {identity: [drive.host for drive in of_hosts] for identity, of_hosts in shared.items()}
        print(json.dumps(told | {"seen_by_several": seen, "not_asked": reasons}, indent=2))
    else:
        console = make_console()
        width = console.width if console.is_terminal else _PIPED_WIDTH
        plain = not console.encoding.startswith("utf")
        for line in fleet_drive_lines(drives, odd, shared, reasons, plain=plain, width=width, shows_all=show_all):
            print(line)
    return EXIT_FAILED if reasons else EXIT_OK


def _is_drive(drive: Mapping[str, Any]) -> bool:
    return bool(drive["size_bytes"]) and not drive["name"].startswith(_MADE)
