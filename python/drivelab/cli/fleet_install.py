"""The command ``drivelab fleet install``: puts a wheel of drivelab on many hosts."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from drivelab.cli.fleet_options import HostsOption, OnlyHostOption
from drivelab.fleet.hosts import load_hosts
from drivelab.fleet.install import Installed, install
from drivelab.model.errors import EXIT_FAILED, EXIT_OK
from drivelab.model.names import counted

SCHEMA = 1


def command(
    wheel: Annotated[
        Path, typer.Argument(metavar="WHEEL", help="A wheel of drivelab: 'make package' leaves it in dist/.")
    ],
    hosts: HostsOption,
    host: OnlyHostOption = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            "--with", metavar="DIR", help="Wheels of what it needs, for hosts without a network: pip download."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Install drivelab on many hosts over ssh, below ~/.local/share/drivelab, and say what goes into hosts.toml.

    Each gets an environment of its own, of the same Python as here; nothing
    else there is changed, and no root is needed.

    Raises
    ------
    DrivelabError
        F901: the hosts. F912: no wheel of drivelab, or nothing beside it.
    """
    known = load_hosts(hosts, tuple(host or ()))
    found = asyncio.run(install(wheel, beside, known, _tell))
    reasons = {name: one.reason for name, one in found.items() if one.reason}
    if as_json:
        commands = {name: one.command for name, one in found.items() if one.command}
        print(json.dumps({"schema": SCHEMA, "hosts": commands, "not_installed": reasons}, indent=2))
    else:
        for line in _lines(found):
            print(line)
    return EXIT_FAILED if reasons else EXIT_OK


def _tell(name: str, one: Installed) -> None:
    print(f"{name}: {one.reason or 'installed'}", file=sys.stderr, flush=True)


def _lines(found: Mapping[str, Installed]) -> list[str]:
    """Where it is, as ``hosts.toml`` takes it: once for all where it is the same everywhere."""
    by_command: dict[str, list[str]] = {}
    for name, one in found.items():
        if one.command:
            by_command.setdefault(one.command, []).append(name)
    count = sum(map(len, by_command.values()))
    lines = [f"on {count} of {counted(len(found), 'host')}; in hosts.toml:"]
    for command_there, names in by_command.items():
        whose = "[defaults]" if len(by_command) == 1 else ", ".join(names)
        lines.append(f"{whose}: drivelab = {json.dumps(command_there)}")
    return lines if by_command else ["no host has it"]
