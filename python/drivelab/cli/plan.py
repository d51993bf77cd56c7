"""The command ``drivelab plan``: what a run would do, and what it would destroy; nothing is changed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from drivelab.cli.plan_steps import print_steps
from drivelab.experiments.load import load_experiment
from drivelab.inventory.loop_target import with_loop_as_drive
from drivelab.inventory.smart import read_all_smart
from drivelab.inventory.target import resolve_target
from drivelab.model.experiment import Experiment
from drivelab.model.plan import PREPARATIONS, Plan
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes, format_wait_ns
from drivelab.plan.endurance import EnduranceShare, endurance_share
from drivelab.plan.make import make_plan
from drivelab.plan.narrow import narrowed
from drivelab.state.known_settings import known_settings

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
_STEPS_SHOWN_MAX = 40

ExperimentArgument = Annotated[str, typer.Argument(help="A built-in experiment, or a TOML file of your own.")]
TargetsArgument = Annotated[
    list[str], typer.Argument(metavar="TARGET...", help="Block devices, directories, or scratch:SIZE.")
]
QuickOption = Annotated[bool, typer.Option("--quick", help="Fewer repeats and less data: a first look.")]
SeedOption = Annotated[
    int | None, typer.Option(min=0, max=2**32 - 1, help="Decides the order and the data; random, and recorded.")
]
LabelOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="What to call a target; once for each, in the same order.")
]
RepeatsOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, max=1000, help="Measure every combination so often, instead.")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(metavar="FACTOR=LEVEL", help="Keep only this level of a factor; several times keeps several."),
]
SkipOption = Annotated[bool, typer.Option("--skip-unavailable", help="Leave out the levels that a target cannot have.")]


def command(
    experiment: ExperimentArgument,
    targets: TargetsArgument,
    quick: QuickOption = False,
    label: LabelOption = None,
    skip_unavailable: SkipOption = False,
    only: OnlyOption = None,
    repeats: RepeatsOption = None,
    seed: SeedOption = None,
    all_steps: Annotated[bool, typer.Option("--all", help="Show every step, however many there are.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a run would do: its steps, the time, the bytes written, and exactly what it would erase.

    Nothing is changed, and no I/O is sent to the targets.
    """
    asked, narrowing = narrowed(load_experiment(experiment), repeats=repeats, only=only or ())
    plan, facts = planned(
        asked,
        targets,
        seed=seed,
        quick=quick,
        skip_unavailable=skip_unavailable,
        labels=label or (),
        narrowing=narrowing,
    )
    shares = endurance_shares(plan, facts)
    if as_json:
        wear = {name: share.to_json() for name, share in shares.items()}
        print(json.dumps({"schema": SCHEMA} | plan.to_json() | {"endurance": wear}, indent=2))
        return
    # imported here: JSON needs no terminal library
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    print_overview(plan, shares, console)
    print_steps(plan, console, steps_max=len(plan.steps) if all_steps else _STEPS_SHOWN_MAX)


def planned(
    experiment: Experiment,
    targets: Sequence[str],
    *,
    seed: int | None,
    quick: bool,
    skip_unavailable: bool,
    labels: Sequence[str],
    narrowing: Sequence[str] = (),
) -> tuple[Plan, dict[str, TargetFacts]]:
    """The plan of an experiment on targets as typed, and the targets by their label.

    What it was narrowed to comes first among the plan's notes.

    Raises
    ------
    DrivelabError
        T101 to T108: something is no target. P704 to P711: it cannot be planned.
    """
    facts = [with_loop_as_drive(resolve_target(text)) for text in targets]
    varied = [factor.name for factor in experiment.factors]
    plan = make_plan(
        experiment,
        facts,
        seed=secrets.randbelow(2**32) if seed is None else seed,
        quick=quick,
        settings=[known_settings(target, varied) for target in facts],
        skip_unavailable=skip_unavailable,
        labels=labels,
    )
    plan = replace(plan, notes=(*narrowing, *plan.notes))
    return plan, {target.label: each for target, each in zip(plan.targets, facts, strict=True)}


def endurance_shares(plan: Plan, targets: Mapping[str, TargetFacts]) -> dict[str, EnduranceShare]:
    """Which share of the life of each drive a plan uses up, by label and the drive's name; reads SMART."""
    shares = {}
    for label, facts in targets.items():
        steps = [step for step in plan.steps if step.target == label]
        written = sum(step.bytes_written + step.preparation_bytes for step in steps)
        if facts.kind == "scratch" or not written:
            continue
        for smart in read_all_smart([drive for drive in facts.drives if drive.transport != "loop"]):
            shares[f"{label} ({smart.drive})"] = endurance_share(written, smart)
    return shares


def print_overview(plan: Plan, shares: Mapping[str, EnduranceShare], console: Console) -> None:
    """Print everything about a plan but its steps."""
    from rich.text import Text

    scale = ", scaled down" if plan.quick else ""
    console.print(Text(f"{plan.experiment}{scale}: {plan.question}", style="bold"))
    for name, value in _overview_rows(plan):
        console.print(Text.assemble((f"  {name:<14}", "dim"), value))
    for name, share in shares.items():
        console.print(Text.assemble((f"  {'endurance':<14}", "dim"), f"{name}: {share.text}"))
    for sentence in plan.destroys or ("nothing",):
        style = "bold red" if plan.destroys else ""
        console.print(Text.assemble((f"  {'erases':<14}", "dim"), (sentence, style)))
    for target in plan.targets:
        if target.erase_argument:
            console.print(Text.assemble((f"  {'its owner types':<14}", "dim"), f" --erase {target.erase_argument}"))
        if target.changes:
            console.print(Text.assemble((f"  {'changes':<14}", "dim"), f"meanwhile: {target.changes}"))
        if target.purge_argument:
            console.print(Text.assemble((f"  {'and':<14}", "dim"), f" --purge {target.purge_argument}"))
    for sentence in plan.left_out:
        console.print(Text.assemble((f"  {'not measured':<14}", "dim"), (sentence, "yellow")))
    for note in plan.notes:
        console.print(Text.assemble((f"  {'note':<14}", "dim"), (note, "yellow")))


def _overview_rows(plan: Plan) -> list[tuple[str, str]]:
    targets = [
        target.text if target.text == target.label else f"{target.text} ({target.label})" for target in plan.targets
    ]
    blocks = max((step.block for step in plan.steps), default=0)
    rows = [
        ("targets", ", ".join(targets)),
        ("steps", f"{len(plan.steps)} in {blocks} blocks, in random order within each (seed {plan.seed})"),
        ("expected time", f"about {format_wait_ns(plan.expected_ns)}"),
        ("writes", format_bytes(plan.bytes_written)),
    ]
    if plan.preparation_bytes:
        parts = [f"{format_bytes(size)} {PREPARATIONS[what]}" for what, size in plan.preparation.items()]
        rows.append(("preparation", f"about {format_bytes(plan.preparation_bytes)} of that: {', '.join(parts)}"))
    return rows
