"""The command ``drivelab fleet restore``: has many hosts put back what killed runs left changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

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
        done = {name: _put_back(answer["document"]) for name, answer in answers.items() if name not in reasons}
        print("\n".join(_lines(done, reasons)))
    return EXIT_FAILED if reasons else EXIT_OK


def _put_back(document: Mapping[str, Any]) -> list[str]:
    """What a host put back, as 'drivelab restore --json' tells it."""
    return [text for one in document.get("restored", ()) for text in one["done"]]


def _lines(done: Mapping[str, Sequence[str]], reasons: Mapping[str, str]) -> Iterator[str]:
    """How many hosts put back something, what each did, and why others could not."""
    changed = {name: texts for name, texts in done.items() if texts}
    if changed:
        yield f"{counted(len(changed), 'host')} put back what was left"
    if len(done) > len(changed):
        yield f"nothing was left on {counted(len(done) - len(changed), 'host')}"
    yield from (f"- {name}: {'; '.join(texts)}" for name, texts in changed.items())
    yield from (f"- {name}: {reason}" for name, reason in reasons.items())
