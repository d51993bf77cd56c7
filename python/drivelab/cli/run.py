"""The command ``drivelab run``: an experiment becomes a plan, the plan a run directory, and that a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from drivelab.cli.conduct import announce_changes, announce_files, conduct_for, progress_of, put_back_left_over
from drivelab.cli.plan import AskedPlan, asked_plan, nothing_left_over, show_plan
from drivelab.cli.price_option import PriceOption, prices_of_targets
from drivelab.cli.run_options import (
    DetailsOption,
    EraseOption,
    ExperimentArgument,
    LabelOption,
    OnErrorOption,
    OnlyOption,
    OverwriteOption,
    PurgeOption,
    QuickOption,
    RepeatsOption,
    SeedOption,
    SkipOption,
    StrictOption,
    TargetsArgument,
    TraceOption,
)
from drivelab.cli.tag_option import TagOption
from drivelab.inventory.consent import Consent
from drivelab.model.errors import EXIT_OK
from drivelab.model.tags import parse_tags
from drivelab.run.execute import Instruments
from drivelab.run.interruption import interruptible
from drivelab.run.preflight import require_possible
from drivelab.run.recorded import record_run
from drivelab.state.stuck import StuckJournal, require_apart
from drivelab.store.layout import default_parent


def command(
    experiment: ExperimentArgument,
    targets: TargetsArgument = None,
    quick: QuickOption = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory to make the run in; else where all runs are kept.")
    ] = None,
    erase: EraseOption = None,
    purge: PurgeOption = None,
    overwrite_file: OverwriteOption = False,
    label: LabelOption = None,
    skip_unavailable: SkipOption = False,
    only: OnlyOption = None,
    repeats: RepeatsOption = None,
    on_error: OnErrorOption = "continue",
    seed: SeedOption = None,
    trace: TraceOption = False,
    strict: StrictOption = False,
    price: PriceOption = None,
    tag: TagOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what it would do, as 'drivelab plan'.")] = False,
    details: DetailsOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Run an experiment or a job file of fio, keep everything that it measured, and write its report.

    What it is going to do is shown by 'drivelab plan'. Settings, mounts and
    scratch drives are put back when it ends, also after an error or Ctrl-C. A
    run that was cut off goes on with 'drivelab resume'.
    """
    stuck: list[StuckJournal] = []
    tags = parse_tags(tag or ())
    asked = asked_plan(
        experiment,
        targets or (),
        quick=quick,
        labels=label or (),
        skip_unavailable=skip_unavailable,
        only=only or (),
        repeats=repeats,
        seed=seed,
        trace="auto" if trace else None,
        strict=strict,
        # what a killed run left on the targets is not theirs
        before_targets=nothing_left_over if dry_run else lambda: stuck.extend(put_back_left_over()),
    )
    require_apart(stuck, asked.targets.values())
    prices = prices_of_targets(price or (), asked.plan, asked.targets)
    consent = Consent(tuple(erase or ()), tuple(purge or ()), overwrite_file)
    if dry_run:
        show_plan(asked, all_steps=False, as_json=as_json, consent=consent)
        return EXIT_OK
    require_possible(asked.plan, asked.targets, consent)
    announce_files(asked.plan, asked.targets)
    announce_changes(asked.plan.targets)
    with interruptible() as stop:
        conduct = conduct_for(progress_of("run", asked.plan), stop, consent, stops_on_error=on_error == "stop")
        conduct = replace(
            conduct,
            instruments=_of_job_file(conduct.instruments, asked),
            facts={**asked.facts, **{key: told for key, told in (("prices", prices), ("tags", tags)) if told}},
            files=asked.files,
        )
        parent = out or default_parent()
        directory, outcome = record_run(asked.plan, asked.experiment, asked.targets, parent, conduct)
    # imported here: what shows a run is as large as all that comes before it
    from drivelab.cli.run_end import show

    return show(directory, outcome, stop, as_json=as_json, details=details)


def _of_job_file(instruments: Instruments, asked: AskedPlan) -> Instruments:
    if "job_file" not in asked.facts:
        return instruments
    # imported here: what is fio's is not needed for most runs
    from drivelab.cli.ended_jobs import ending

    return ending(instruments, asked.plan, asked.facts["job_file"])
