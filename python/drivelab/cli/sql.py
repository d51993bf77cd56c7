"""The command ``drivelab sql``: questions to the tables of runs, in place and read-only."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from drivelab.cli.failure import print_message
from drivelab.cli.fleet_report import hosts_of
from drivelab.model.errors import DrivelabError
from drivelab.store.find_run import kept_place, kept_runs, runs_at
from drivelab.store.read import StoredRun, open_run


def command(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT, in quotes.")],
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            help="Runs, or directories or stores (s3://BUCKET/PREFIX) of runs; all that are kept here by default.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
) -> None:
    """Ask runs a question in SQL: one, several, or all that are kept.

    The tables are runs, trials, failed_trials, intervals, histograms, ios,
    operations and events.
    Each has a column run. What columns there are: drivelab sql "describe trials"

    A run that still goes on, or was killed, can be asked too; one that lacks a table that is asked for is named.
    Nothing is changed.
    """
    if as_json and as_csv:
        raise DrivelabError("U004", "--json and --csv exclude each other", where="drivelab sql")
    found = [open_run(one) for name in runs for one in runs_at(name)] if runs else _kept_runs()
    # imported here: the help needs no database
    from drivelab.cli.sql_output import print_csv, print_json, print_lines, print_table
    from drivelab.store.query import query_runs

    if hasattr(sys.stdout, "reconfigure"):
        # what a name from outside holds must not end the program where the terminal knows few characters
        sys.stdout.reconfigure(errors="backslashreplace")
    answer = query_runs(query, found, hosts_of=_hosts_of)
    for one in answer.left_out:
        print_message(f"left out: {one.where}: {one.what} ({one.code}). do: {one.do}")
    if as_json:
        print_json(answer)
    elif as_csv:
        print_csv(answer)
    elif sys.stdout is not None and sys.stdout.isatty():
        print_table(answer)
    else:
        print_lines(answer)


def _hosts_of(directories: Sequence[Path]) -> Mapping[Path, str]:
    """What fleets call the hosts of runs; none, and that is said, where the record of a fleet is damaged."""
    try:
        return hosts_of(directories)
    except DrivelabError as error:
        print_message(f"fleet_host is not known: {error.where}: {error.what} ({error.code})")
        return {}


def _kept_runs() -> list[StoredRun]:
    """All runs where runs are kept; one that cannot be read is named, and left out."""
    found = []
    for directory in kept_runs():
        try:
            found.append(open_run(directory))
        except DrivelabError as error:
            print(f"left out: {directory.name}: {error.what}", file=sys.stderr)
    if not found:
        raise DrivelabError("U009", "there are no runs to query", where=kept_place())
    return found
