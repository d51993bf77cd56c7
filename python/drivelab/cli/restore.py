"""The command ``drivelab restore``: puts back what an interrupted run left changed."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from drivelab.run.tracing.tracefs import TraceUnavailableError, remove_stale_instances, tracefs
from drivelab.state.journal import journal_directory
from drivelab.state.restore import Restored, restore_left_over

SCHEMA = 1


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put back everything that a killed run left changed: settings, mounts, loop devices, scratch files.

    A run that ends by itself, by an error or by Ctrl-C needs no help. Runs that
    are still going on are left alone.
    """
    restored = [*restore_left_over(journal_directory()), *_removed_traces()]
    if as_json:
        print(json.dumps({"schema": SCHEMA, "restored": [asdict(one) for one in restored]}, indent=2))
        return
    for one in restored:
        for line in restored_lines(one):
            print(line)
    if not restored:
        print("Nothing was left changed.")


def _removed_traces() -> list[Restored]:
    """What killed processes left of their traces, now removed; without root there is nothing to see."""
    try:
        with tracefs() as root:
            removed = remove_stale_instances(root)
    except TraceUnavailableError:
        return []
    return [Restored("", "", (f"removed the trace instance {name}",)) for name in removed]


def restored_lines(one: Restored) -> list[str]:
    """What was put back for one process, in lines."""
    begun = f"after '{one.command}'" if one.command else "after a run"
    return [f"{begun}: {'; '.join(one.done) if one.done else 'nothing was left to put back'}"]
