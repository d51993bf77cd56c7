"""The command ``drivelab run``: an experiment becomes a plan, the plan a run directory, and that a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from drivelab.cli.conduct import conduct_for, put_back_left_over, show
from drivelab.cli.plan import (
    ExperimentArgument,
    LabelOption,
    OnlyOption,
    QuickOption,
    RepeatsOption,
    SeedOption,
    SkipOption,
    TargetsArgument,
    TraceOption,
    planned,
)
from drivelab.experiments.load import load_experiment
from drivelab.inventory.consent import Consent
from drivelab.plan.narrow import narrowed
from drivelab.run.interruption import interruptible
from drivelab.run.preflight import require_possible
from drivelab.run.progress import progress_for
from drivelab.run.recorded import record_run
from drivelab.store.layout import default_parent

EraseOption = Annotated[
    list[str] | None,
    typer.Option(metavar="SERIAL", help="Erase this drive: what 'drivelab plan' says its owner types."),
]
PurgeOption = Annotated[
    list[str] | None,
    typer.Option(metavar="SERIAL", help="Purge this drive too, where the experiment does: nothing is left of it."),
]
OnErrorOption = Annotated[
    Literal["continue", "stop"], typer.Option("--on-error", help="When a step fails: do the others, or stop there.")
]


def command(
    experiment: ExperimentArgument,
    targets: TargetsArgument,
    quick: QuickOption = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory to make the run in; else where all runs are kept.")
    ] = None,
    erase: EraseOption = None,
    purge: PurgeOption = None,
    label: LabelOption = None,
    skip_unavailable: SkipOption = False,
    only: OnlyOption = None,
    repeats: RepeatsOption = None,
    on_error: OnErrorOption = "continue",
    seed: SeedOption = None,
    trace: TraceOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Run an experiment on targets, keep everything that it measured, and write its report.

    What it is going to do is shown by 'drivelab plan'. Settings, mounts and
    scratch drives are put back when it ends, also after an error or Ctrl-C. A
    run that was cut off goes on with 'drivelab resume'.
    """
    asked, narrowing = narrowed(load_experiment(experiment), repeats=repeats, only=only or ())
    # before the targets are looked at: what a killed run left on them is not theirs
    put_back_left_over()
    plan, by_label = planned(
        asked,
        targets,
        seed=seed,
        quick=quick,
        skip_unavailable=skip_unavailable,
        labels=label or (),
        narrowing=narrowing,
        trace="auto" if trace else None,
    )
    consent = Consent(tuple(erase or ()), tuple(purge or ()))
    require_possible(plan, by_label, consent)
    with interruptible() as stop:
        conduct = conduct_for(progress_for(plan), stop, consent, stops_on_error=on_error == "stop")
        directory, outcome = record_run(plan, asked, by_label, out or default_parent(), conduct)
    return show(directory, outcome, stop, as_json=as_json)
