"""The command ``drivelab fleet worker``: a host of a fleet, for as long as it is asked."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from drivelab.cli.fleet_options import JOIN, SILENT, JoinOption, SilentOption, patience
from drivelab.fleet.local_address import place_of
from drivelab.model.errors import EXIT_OK, DrivelabError


def command(
    address: Annotated[
        str,
        typer.Argument(metavar="ADDRESS", help="tls://ADDRESS:PORT of those who ask; - reads it from what started it."),
    ],
    keys: Annotated[Path | None, typer.Option(metavar="DIR", help="The keys: 'drivelab fleet keys' made them.")] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What hosts.toml calls it; else the name of its node in Slurm, or its host name."
        ),
    ] = None,
    join_within: JoinOption = JOIN,
    silent_for: SilentOption = SILENT,
    as_json: Annotated[bool, typer.Option("--json", help="Say what goes wrong as JSON.")] = False,
) -> int:
    """Be a host of a fleet until those who ask are gone; 'drivelab fleet run' starts it by itself.

    What it measures is an ordinary run in this machine's own directory of runs.
    When the connection is lost, that is interrupted and everything is put back.

    Raises
    ------
    DrivelabError
        F904 to F906, F908, F909: keys, what is missing, whom to join, versions. U002, U003: durations.
    """
    if address == "-":
        why = asyncio.run(_as_started())
    else:
        if keys is None:
            do = "make them where 'drivelab fleet run' is started, and copy them: drivelab fleet keys DIR"
            raise DrivelabError("F904", "no keys are named: --keys DIR", do=do)
        place_of(address)
        join_s, silent_s = patience(join_within, silent_for)
        why = asyncio.run(_by_itself(address, keys, name or own_name(), silent_s, join_s))
    print(why, file=sys.stderr)
    return EXIT_OK


def own_name() -> str:
    """What this host is called where nobody says it: as its node in Slurm, else as itself."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]


async def _as_started() -> str:
    from drivelab.fleet.host import be_host, read_joining, standard_input

    reader = await standard_input()
    joining = await read_joining(reader)
    # the end of it: those who started this are gone
    return await be_host(joining, _joined, reader.read())


async def _by_itself(address: str, keys: Path, name: str, silent_s: float, join_s: float) -> str:
    from drivelab.fleet.certificates import read_keys, require_own_keys
    from drivelab.fleet.host import Joining, be_host

    own = read_keys(keys, "host")
    require_own_keys(own, name, keys)
    return await be_host(Joining(address, name, own, silent_s, join_s), _joined)


def _joined() -> None:
    print("joined", file=sys.stderr, flush=True)
