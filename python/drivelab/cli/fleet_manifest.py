"""The command ``drivelab fleet manifest``: what Kubernetes is given to run the hosts of a fleet."""

from __future__ import annotations

from typing import Annotated

import typer

from drivelab.cli.fleet_options import HostsOption, OnlyHostOption
from drivelab.fleet.hosts import load_hosts
from drivelab.fleet.local_address import place_of
from drivelab.fleet.manifest import daemonset


def command(
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="tls://ADDRESS:PORT that 'drivelab fleet run' gets as --scheduler.")
    ],
    hosts: HostsOption,
    image: Annotated[str, typer.Option(metavar="IMAGE", help="Container image: packaging/Dockerfile makes one.")],
    host: OnlyHostOption = None,
    namespace: Annotated[str, typer.Option(metavar="NAME", help="Namespace of Kubernetes.")] = "default",
) -> None:
    """Print a DaemonSet for Kubernetes that runs a host of a fleet on each node that hosts.toml names.

    Its pods are privileged and see the node's drives. They wait at ADDRESS for
    'drivelab fleet run ... --scheduler ADDRESS --keys DIR'. Hosts have to be
    called as their nodes are.

    Raises
    ------
    DrivelabError
        F901: the hosts. F909: no address with a port. F911: no name of an image or a namespace.
    """
    place_of(address)
    print(daemonset(address, load_hosts(hosts, tuple(host or ())), image=image, namespace=namespace), end="")
