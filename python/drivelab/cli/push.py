"""The command ``drivelab push``: puts runs into a store for many computers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from drivelab.cli.failure import print_message
from drivelab.model.errors import EXIT_FAILED, EXIT_OK, DrivelabError

SCHEMA = 1
# errors that are one run's, and not the store's
_OF_A_RUN = ("S504", "S505", "S506", "S515", "S516", "S517", "S519")
TO = typer.Option("--to", metavar="STORE", help="s3://BUCKET/PREFIX, or a directory that others reach, too.")


def command(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Runs, or directories of runs, such as that of a fleet.")
    ],
    to: Annotated[str, TO],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Put runs that have ended into a store: a bucket, or a directory of runs that others reach, too.

    A run is there whole or not at all. One that is there already is left alone, and another one of its name is never
    replaced. What was cut off goes on when it is typed again. Reports are not put there: they can be made of the runs.

    Runs are read there by 'drivelab runs', 'report', 'compare', 'sql' and 'fleet report', and by 'history' with
    DRIVELAB_RUNS=STORE.
    """
    from drivelab.store.find_run import runs_at

    told = pushed([one for name in runs for one in runs_at(name)], to)
    if as_json:
        print(json.dumps({"schema": SCHEMA, "store": to, "runs": told}, indent=2))
    else:
        print(summary(told, to))
    return exit_of(told)


def pushed(directories: Sequence[Path], to: str) -> list[dict[str, str]]:
    """Put runs into a store; of each its name, what became of it, and why it failed, which is printed, too."""
    from drivelab.cli.fleet_report import hosts_of
    from drivelab.store.remote.objects import each_at_once
    from drivelab.store.remote.push import Store

    store, hosts = Store(to), hosts_of(directories)
    for directory in directories:
        store.require_apart(directory)

    def push(directory: Path) -> dict[str, str]:
        name = directory.resolve().name
        try:
            is_new = store.push(directory, hosts.get(directory, ""))
            return {"run": name, "state": "stored" if is_new else "there already", "reason": ""}
        except DrivelabError as error:
            if error.code not in _OF_A_RUN:
                raise
            print_message(f"{name}: {error.what} ({error.code}). do: {error.do}")
            return {"run": name, "state": "failed", "reason": f"{error.what} ({error.code})"}

    return each_at_once(push, list(dict.fromkeys(directories)))


def summary(told: Sequence[Mapping[str, str]], to: str) -> str:
    """How many runs are in the store now, in one line."""
    counts = {state: sum(one["state"] == state for one in told) for state in ("stored", "there already", "failed")}
    return f"{to}: {', '.join(f'{count} {state}' for state, count in counts.items() if count) or 'no run'}"


def exit_of(told: Sequence[Mapping[str, str]]) -> int:
    """The exit code: whether each of them is in the store."""
    return EXIT_FAILED if any(one["state"] == "failed" for one in told) else EXIT_OK
