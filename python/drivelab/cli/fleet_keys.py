"""The command ``drivelab fleet keys``: certificates for hosts that others start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from drivelab.fleet.certificates import write_keys
from drivelab.fleet.hosts import load_hosts


def command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where they are kept; made where it is missing.")],
    hosts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Make keys of its own for each host of it: DIR/HOST.")
    ] = None,
) -> None:
    """Make the certificates with which hosts and those who ask them prove themselves to each other.

    Hosts that are started over ssh need none: they get theirs over that connection.
    Copy host.pem, host.key and authority.pem to the hosts, with --hosts those of
    DIR/HOST to each, and controller.key nowhere: whoever has it can have hosts
    measure, and erase. With a key of --hosts one can join as that host alone, with
    the one for all as any, and tell what one likes. They are valid for a year.

    Raises
    ------
    DrivelabError
        F901: the hosts cannot be read. F904: there are keys already. F905: what makes them is not installed.
    """
    for path in write_keys(directory, load_hosts(hosts)) if hosts else write_keys(directory):
        print(path)
