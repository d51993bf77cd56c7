"""The command ``drivelab fleet restore``: has many hosts put back what killed runs left changed."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from drivelab.cli.fleet_options import (
    HostsOption,
    OnlyHostOption,
    Reach,
    reaching,
)
from drivelab.cli.fleet_sitting import asked_of_each
from drivelab.fleet.hosts import load_hosts
from drivelab.model.errors import EXIT_FAILED, EXIT_OK
from drivelab.model.names import counted

SCHEMA = 1


@reaching
def command(
    reach: Reach,
    hosts: HostsOption,
    host: OnlyHostOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Have hosts put back settings, mounts, loop devices and scratch files of runs that were killed there.

    A host whose connection is lost puts everything back by itself: this is for
    those that were killed, or lost power. Runs that go on are left alone.

    Raises
    ------
    DrivelabError
        F901, F904, F905, F909: hosts, keys and addresses.
    """
    answers, reasons = asked_of_each(load_hosts(hosts, tuple(host or ())), reach, "restore")
    reasons |= {name: answer["error"] for name, answer in answers.items() if answer["error"]}
    if as_json:
        documents = {name: answer["document"] for name, answer in answers.items()}
        print(json.dumps({"schema": SCHEMA, "hosts": documents, "not_restored": reasons}, indent=2))
    else:
        print(f"{counted(len(answers) - sum(name in answers for name in reasons), 'host')} put back what was left")
        for name, reason in reasons.items():
            print(f"- {name}: {reason}")
    return EXIT_FAILED if reasons else EXIT_OK
