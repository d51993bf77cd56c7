"""The command ``drivelab resume``: goes on with a run that was cut off."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from drivelab.cli.conduct import conduct_for, progress_of, put_back_left_over
from drivelab.cli.run_options import DetailsOption, EraseOption, OnErrorOption, PurgeOption
from drivelab.inventory.consent import Consent
from drivelab.model.errors import DrivelabError
from drivelab.model.names import counted_of
from drivelab.run.interruption import interruptible
from drivelab.run.preflight import require_possible
from drivelab.run.recorded import go_on_with_run
from drivelab.run.resumption import plan_resumption, stored_plan
from drivelab.state.stuck import require_apart
from drivelab.store.find_run import find_run
from drivelab.store.read import StoredRun, open_run
from drivelab.store.remote.cache import is_cached
from drivelab.store.trust import require_own
from drivelab.store.write import continue_run


def command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Directory of the run, or its name.")],
    erase: EraseOption = None,
    purge: PurgeOption = None,
    on_error: OnErrorOption = "continue",
    trust: Annotated[
        bool, typer.Option("--trust", help="Do what the run's files say, although another user can have written them.")
    ] = False,
    details: DetailsOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Go on with a run that was killed, interrupted, or that lost steps to errors.

    Trials that are stored are not measured again; the others are, in the order
    of the plan. What the run was killed over is put back first. A drive is
    found again by its serial, and its owner types --erase once more. The plan
    is checked as a new one is: a directory of runs may come from anybody.
    """
    directory = find_run(run).absolute()
    if is_cached(directory):
        raise DrivelabError("S518", "a run in a store is resumed on the computer that began it", where=run)
    stored = open_run(directory)
    require_own(stored, is_trusted=trust)
    # whatever could be wrong with it is told before anything is touched
    stored_plan(stored)
    with closing(continue_run(directory)) as writer:
        stuck = put_back_left_over()
        rest = plan_resumption(_under_the_lock(directory, is_trusted=trust))
        require_apart(stuck, rest.targets.values())
        for note in rest.notes:
            print(note, file=sys.stderr)
        consent = Consent(tuple(erase or ()), tuple(purge or ()))
        if rest.left:
            require_possible(replace(rest.plan, steps=rest.left), rest.targets, consent)
        what = "going on" if rest.left else "only its end is missing"
        print(f"{counted_of(len(rest.completed), len(rest.plan.steps), 'trial', 'are')} there; {what}", file=sys.stderr)
        with interruptible() as stop:
            progress = progress_of("resume", rest.plan, rest.completed)
            conduct = conduct_for(progress, stop, consent, stops_on_error=on_error == "stop")
            outcome = go_on_with_run(writer, rest.plan, rest.targets, conduct, completed=rest.completed)
    # imported here: what shows a run is as large as all that comes before it
    from drivelab.cli.run_end import show

    return show(directory, outcome, stop, as_json=as_json, details=details)


def _under_the_lock(directory: Path, *, is_trusted: bool) -> StoredRun:
    """The run as it is now that nobody else can write it; it may have been written, or exchanged, since."""
    stored = open_run(directory)
    require_own(stored, is_trusted=is_trusted)
    return stored
