"""The command ``drivelab fleet keys``: certificates for hosts that others start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from drivelab.fleet.certificates import write_keys


def command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where they are kept; made where it is missing.")],
) -> None:
    """Make the certificates with which hosts and those who ask them prove themselves to each other.

    Hosts that are started over ssh need none: they get theirs over that connection.
    Copy host.pem, host.key and authority.pem to the hosts, and controller.key
    nowhere: whoever has it can have hosts measure, and erase. With a host's key
    one can join as any host, and tell what one likes. They are valid for a year.

    Raises
    ------
    DrivelabError
        F904: there are keys already. F905: what makes them is not installed.
    """
    for path in write_keys(directory):
        print(path)
