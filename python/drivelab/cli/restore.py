"""The command ``drivelab restore``: puts back what an interrupted run left changed."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from drivelab.run.tracing.tracefs import TraceUnavailableError, remove_stale_instances, tracefs
from drivelab.state.journal import journal_directory
from drivelab.state.restore import Restored, put_back, require_none_stuck
from drivelab.state.restore import forget as forget_journal

SCHEMA = 1


def command(
    trust: Annotated[
        bool, typer.Option("--trust", help="Obey journals too that another user may have written: look at them before.")
    ] = False,
    forget: Annotated[
        str | None, typer.Option("--forget", metavar="JOURNAL", help="Put this journal aside: nothing of it is undone.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put back everything that a killed run left changed: settings, mounts, loop devices, scratch files.

    A run that ends by itself, by an error or by Ctrl-C needs no help. Runs that
    are still going on are left alone. What cannot be put back is named, with
    its journal; it keeps nothing else from being put back.
    """
    if forget is not None:
        _forget(forget, as_json=as_json)
        return
    done = put_back(journal_directory(), is_trusted=trust)
    restored = [*done.restored, *_removed_traces()]
    if as_json and not done.stuck:
        print(json.dumps({"schema": SCHEMA, "restored": [asdict(one) for one in restored]}, indent=2))
        return
    for one in restored:
        for line in _restored_lines(one):
            print(line, file=sys.stderr if as_json else sys.stdout)
    require_none_stuck(done.stuck)
    if not restored:
        print("Nothing was left changed.")


def _forget(name: str, *, as_json: bool) -> None:
    """Put a journal aside, and tell what it lists."""
    aside, listed = forget_journal(journal_directory(), name)
    if as_json:
        print(json.dumps({"schema": SCHEMA, "forgotten": name, "kept": str(aside), "listed": listed}, indent=2))
        return
    print(f"{name} is put aside, and kept as {aside}. It listed:")
    for line in listed or ["nothing that can be read"]:
        print(f"  {line}")


def _removed_traces() -> list[Restored]:
    """What killed processes left of their traces, now removed; without root there is nothing to see."""
    try:
        with tracefs() as root:
            removed = remove_stale_instances(root)
    except TraceUnavailableError:
        return []
    return [Restored("", "", (f"removed the trace instance {name}",)) for name in removed]


def _restored_lines(one: Restored) -> list[str]:
    """What was put back for one process, in lines."""
    begun = f"after '{one.command}'" if one.command else "after a run"
    return [f"{begun}: {'; '.join(one.done) if one.done else 'nothing was left to put back'}"]
