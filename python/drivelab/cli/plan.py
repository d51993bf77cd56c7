"""The command ``drivelab plan``: what a run would do, and what it would destroy; nothing is changed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drivelab.cli.plan_steps import print_steps, print_workloads
from drivelab.experiments.load import built_in_names, load_experiment
from drivelab.inventory.loop_target import resolve_measured
from drivelab.inventory.raid import why_not_here
from drivelab.inventory.smart import read_all_smart
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.plan import PREPARATIONS, Plan, TraceChoice
from drivelab.model.raid import written_share
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes, format_wait_ns
from drivelab.plan.budget import TRACED_NS_MAX, TRACED_OPERATIONS
from drivelab.plan.endurance import EnduranceShare, endurance_share
from drivelab.plan.make import make_plan
from drivelab.plan.narrow import narrowed
from drivelab.run.preflight import require_issuable
from drivelab.state.known_settings import known_settings
from drivelab.state.scratch import choose_directory
from drivelab.streams import make_console

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
_NOTES_MAX = 2

ExperimentArgument = Annotated[
    str,
    typer.Argument(
        help="A built-in experiment, a TOML file of your own, or a job file of fio: JOBS.fio.",
        autocompletion=lambda incomplete: [name for name in built_in_names() if name.startswith(incomplete)],
    ),
]
TargetsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET...",
        help="Block devices, directories, scratch:SIZE, or RAID sets: raid5:A,B,C. A job file may name its own.",
    ),
]
QuickOption = Annotated[bool, typer.Option("--quick", help="Fewer repeats and less data: a first look.")]
SeedOption = Annotated[
    int | None, typer.Option(min=0, max=2**32 - 1, help="Decides the order and the data; random, and recorded.")
]
LabelOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="What to call a target; once for each, in the same order.")
]
RepeatsOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, max=1000, help="Measure every combination N times instead.")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(metavar="FACTOR=LEVEL", help="Keep only this level of a factor; several times keeps several."),
]
TraceOption = Annotated[
    bool, typer.Option("--trace", help="Trace every trial once more, to explain it: drivelab explain RUN (root).")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Refuse a job file that is not run just as fio runs it.")]
SkipOption = Annotated[bool, typer.Option("--skip-unavailable", help="Leave out the levels that a target cannot have.")]


def command(
    experiment: ExperimentArgument,
    targets: TargetsArgument = None,
    quick: QuickOption = False,
    label: LabelOption = None,
    skip_unavailable: SkipOption = False,
    only: OnlyOption = None,
    repeats: RepeatsOption = None,
    seed: SeedOption = None,
    trace: TraceOption = False,
    strict: StrictOption = False,
    all_steps: Annotated[bool, typer.Option("--all", help="Show every step, however many there are.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a run would do: its steps, the time, the bytes written, and exactly what it would erase.

    Nothing is changed, and no I/O is sent to the targets.
    """
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
    )
    show_plan(asked.plan, asked.targets, all_steps=all_steps, as_json=as_json)


@dataclass(frozen=True, slots=True)
class AskedPlan:
    """What was asked for on the command line, as a plan.

    Attributes
    ----------
    plan : Plan
        What to do.
    targets : dict of str to TargetFacts
        The targets by their label.
    experiment : Experiment
        What the plan came from.
    facts : mapping of str to Any
        More keys for ``run.json``.
    files : mapping of str to bytes
        More files for the run's directory.
    """

    plan: Plan
    targets: dict[str, TargetFacts]
    experiment: Experiment
    facts: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def nothing_left_over() -> None:
    """Put nothing back: nothing is going to be changed."""


def asked_plan(
    experiment: str,
    targets: Sequence[str],
    *,
    quick: bool,
    labels: Sequence[str],
    skip_unavailable: bool,
    only: Sequence[str],
    repeats: int | None,
    seed: int | None,
    trace: TraceChoice | None,
    strict: bool,
    before_targets: Callable[[], None] = nothing_left_over,
) -> AskedPlan:
    """The plan of an experiment or of a job file of fio, whose options are told on stderr.

    Parameters
    ----------
    experiment, targets : str, sequence of str
        As typed.
    quick, labels, skip_unavailable, only, repeats, seed, trace, strict
        Options, as typed.
    before_targets : callable
        Called before the targets are looked at.

    Raises
    ------
    DrivelabError
        U006: an option that a job file cannot have, or no target. U030 to U037: the job file cannot be had.
        P701 to P712, T101 to T108, U040 to U044: as for `planned` and for the experiment.
    """
    # imported here: an experiment needs none of it
    from drivelab.cli.job_file import STORED_NAME, is_job_file, plan_job_file, tell_options

    if is_job_file(experiment):
        for name, is_given in (("--quick", quick), ("--only", only), ("--skip-unavailable", skip_unavailable)):
            if is_given:
                what = f"{name} is for experiments: a job file has neither factors nor a quick form"
                raise DrivelabError("U006", what, do="leave it out")
        before_targets()
        found = plan_job_file(
            experiment, targets, strict=strict, seed=seed, repeats=repeats, labels=labels, trace=trace
        )
        tell_options(found.translation)
        facts = {"job_file": found.record()}
        return AskedPlan(found.plan, found.targets, found.experiment, facts, {STORED_NAME: found.text})
    if not targets:
        raise DrivelabError("U006", "there is no target", do="name a block device, a directory, or scratch:SIZE")
    asked, narrowing = narrowed(load_experiment(experiment), repeats=repeats, only=only)
    before_targets()
    plan, by_label = planned(
        asked,
        targets,
        seed=seed,
        quick=quick,
        skip_unavailable=skip_unavailable,
        labels=labels,
        narrowing=narrowing,
        trace=trace,
    )
    return AskedPlan(plan, by_label, asked)


def show_plan(plan: Plan, targets: Mapping[str, TargetFacts], *, all_steps: bool, as_json: bool) -> None:
    """Print a plan that can be issued here.

    Raises
    ------
    DrivelabError
        E301, E310, E311, E313: the engine cannot issue one of its workloads.
    """
    require_issuable(plan)
    shares = endurance_shares(plan, targets)
    if as_json:
        wear = {name: share.to_json() for name, share in shares.items()}
        print(json.dumps({"schema": SCHEMA} | plan.to_json() | {"endurance": wear}, indent=2))
        return
    # imported here: JSON needs no terminal library

    console = make_console(soft_wrap=True)
    print_overview(plan, shares, console, all_notes=all_steps)
    if all_steps or plan.is_listed:
        print_steps(plan, console)
    else:
        print_workloads(plan, console)


def planned(
    experiment: Experiment,
    targets: Sequence[str],
    *,
    seed: int | None,
    quick: bool,
    skip_unavailable: bool,
    labels: Sequence[str],
    narrowing: Sequence[str] = (),
    trace: TraceChoice | None = None,
) -> tuple[Plan, dict[str, TargetFacts]]:
    """The plan of an experiment on targets as typed, and the targets by their label.

    What it was narrowed to comes first among the plan's notes.

    Raises
    ------
    DrivelabError
        T101 to T108, U040 to U044: something is no target. P704 to P711: it cannot be planned.
    """
    facts = [resolve_measured(text) for text in targets]
    varied = [factor.name for factor in experiment.factors]
    plan = make_plan(
        experiment,
        facts,
        seed=secrets.randbelow(2**32) if seed is None else seed,
        quick=quick,
        settings=[known_settings(target, varied) for target in facts],
        skip_unavailable=skip_unavailable,
        labels=labels,
        trace=trace,
    )
    plan = replace(plan, notes=(*narrowing, *plan.notes, *_impossible_here(facts)))
    return plan, {target.label: each for target, each in zip(plan.targets, facts, strict=True)}


def _impossible_here(targets: Sequence[TargetFacts]) -> Iterator[str]:
    """What cannot be made here, and a run would refuse: scratch drives without room, RAID sets without md or mdadm."""
    for facts in targets:
        size_bytes = facts.raid.scratch_bytes if facts.raid else facts.size_bytes * (facts.kind == "scratch")
        if size_bytes:
            try:
                choose_directory(size_bytes)
            except DrivelabError as error:
                yield f"{error.what}: it cannot be run here"
        reason = why_not_here(facts.raid.level) if facts.raid else ""
        if reason:
            yield f"{reason}: {facts.text} cannot be run here"


def endurance_shares(plan: Plan, targets: Mapping[str, TargetFacts]) -> dict[str, EnduranceShare]:
    """Which share of the life of each drive a plan uses up, by label and the drive's name; reads SMART."""
    shares = {}
    for label, facts in targets.items():
        steps = [step for step in plan.steps if step.target == label]
        written = sum(step.bytes_written + step.preparation_bytes for step in steps)
        if facts.raid is not None:
            written = round(written * written_share(facts.raid.level, len(facts.raid.members)))
        if facts.kind == "scratch" or not written:
            continue
        for smart in read_all_smart([drive for drive in facts.drives if drive.transport != "loop"]):
            shares[f"{label} ({smart.drive})"] = endurance_share(written, smart)
    return shares


def print_overview(
    plan: Plan, shares: Mapping[str, EnduranceShare], console: Console, *, all_notes: bool = False
) -> None:
    """Print everything about a plan but its steps, no wider than the terminal, and the first of its notes or all."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    scale = ", scaled down" if plan.quick else ""
    console.print(Text(f"{plan.experiment}{scale}: {plan.question}", style="bold"), soft_wrap=False)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value, style in _overview(plan, shares, all_notes=all_notes):
        table.add_row(name, Text(value, style=style))
    console.print(Padding(table, (0, 0, 0, 2)), soft_wrap=False)


def _overview(plan: Plan, shares: Mapping[str, EnduranceShare], *, all_notes: bool) -> Iterator[tuple[str, str, str]]:
    """Name, text and style of each line."""
    for name, value in _overview_rows(plan):
        yield name, value, ""
    for name, share in shares.items():
        yield "endurance", f"{name}: {share.text}", ""
    for sentence in plan.destroys or ("nothing",):
        yield "erases", sentence, "bold red" if plan.destroys else ""
    for target in plan.targets:
        if target.erase_arguments:
            yield "its owner types", " ".join(f"--erase {name}" for name in target.erase_arguments), ""
        if target.purge_argument:
            yield "and", f"--purge {target.purge_argument}", ""
        if target.changes:
            yield "changes", f"meanwhile: {target.changes}", ""
    labels = [one.label for one in plan.targets]
    told = [("not measured", sentence) for sentence in _alike_once(plan.left_out, labels)]
    told += [("note", note) for note in _alike_once(plan.notes, labels)]
    for name, sentence in told if all_notes else told[:_NOTES_MAX]:
        yield name, sentence, "yellow"
    if len(told) > _NOTES_MAX and not all_notes:
        yield "", f"and {len(told) - _NOTES_MAX} more notes: --all", "dim"


def _alike_once(sentences: Sequence[str], targets: Sequence[str]) -> list[str]:
    """Sentences that differ in the name of their target alone, once for all of them."""
    found: dict[str, list[str]] = {}
    for sentence in sentences:
        target = next((one for one in targets if f" on {one}: " in sentence), "")
        found.setdefault(sentence.replace(f" on {target}: ", " on {}: ") if target else sentence, []).append(target)
    return [text.replace(" on {}: ", f" on {' and '.join(names)}: ") for text, names in found.items()]


def _overview_rows(plan: Plan) -> list[tuple[str, str]]:
    targets = [
        target.text if target.text == target.label else f"{target.text} ({target.label})" for target in plan.targets
    ]
    blocks = max((step.block for step in plan.steps), default=0)
    counted = "1 block" if blocks == 1 else f"{blocks} blocks"
    order = "in the order of the job file" if plan.is_listed else "in random order within each"
    rows = [
        ("targets", ", ".join(targets)),
        ("steps", f"{len(plan.steps)} in {counted}, {order} (seed {plan.seed})"),
        ("expected time", _about(plan.expected_ns)),
        ("writes", format_bytes(plan.bytes_written)),
    ]
    if plan.trace:
        source = "" if plan.trace == "auto" else f", by {plan.trace}"
        limit = f"at most {TRACED_OPERATIONS} operations or {format_wait_ns(TRACED_NS_MAX)}"
        rows.insert(2, ("traced", f"every trial once more after it was timed: {limit}{source}"))
    if plan.preparation_bytes:
        parts = [f"{format_bytes(size)} {PREPARATIONS[what]}" for what, size in plan.preparation.items()]
        rows.append(("preparation", f"about {format_bytes(plan.preparation_bytes)} of that: {', '.join(parts)}"))
    return rows


def _about(duration_ns: int) -> str:
    text = format_wait_ns(duration_ns)
    return text if text.startswith("less") else f"about {text}"
