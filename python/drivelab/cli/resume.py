"""The command ``drivelab resume``: goes on with a run that was cut off."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from typing import Annotated

import typer

from drivelab.cli.conduct import conduct_for, put_back_left_over, show
from drivelab.cli.run import EraseOption, OnErrorOption, PurgeOption
from drivelab.inventory.consent import Consent
from drivelab.run.interruption import interruptible
from drivelab.run.preflight import require_possible
from drivelab.run.progress import progress_for
from drivelab.run.recorded import go_on_with_run
from drivelab.run.resumption import plan_resumption
from drivelab.state.stuck import require_apart
from drivelab.store.find_run import find_run
from drivelab.store.read import open_run
from drivelab.store.write import continue_run


def command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Directory of the run, or its name.")],
    erase: EraseOption = None,
    purge: PurgeOption = None,
    on_error: OnErrorOption = "continue",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Go on with a run that was killed, interrupted, or that lost steps to errors.

    Trials that are stored are not measured again; the others are, in the order
    of the plan. What the run was killed over is put back first. A drive is
    found again by its serial, and its owner types --erase once more.
    """
    directory = find_run(run).absolute()
    with closing(continue_run(directory)) as writer:
        stuck = put_back_left_over()
        rest = plan_resumption(open_run(directory))
        require_apart(stuck, rest.targets.values())
        for note in rest.notes:
            print(note, file=sys.stderr)
        consent = Consent(tuple(erase or ()), tuple(purge or ()))
        left = tuple(step for step in rest.plan.steps if step.trial not in rest.completed)
        require_possible(replace(rest.plan, steps=left), rest.targets, consent)
        print(f"{len(rest.completed)} of {len(rest.plan.steps)} trials are there; going on", file=sys.stderr)
        with interruptible() as stop:
            progress = progress_for(rest.plan, rest.completed)
            conduct = conduct_for(progress, stop, consent, stops_on_error=on_error == "stop")
            outcome = go_on_with_run(writer, rest.plan, rest.targets, conduct, completed=rest.completed)
    return show(directory, outcome, stop, as_json=as_json)
