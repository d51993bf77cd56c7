"""The command ``drivelab plan``: what a run would do, and what it would destroy; nothing is changed."""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any

import typer

from drivelab.cli.failure import error_json
from drivelab.cli.plan_screen import Shown, plan_lines
from drivelab.cli.plan_steps import print_steps
from drivelab.cli.run_options import (
    ExperimentArgument,
    LabelOption,
    OnlyOption,
    QuickOption,
    RepeatsOption,
    SeedOption,
    SkipOption,
    StrictOption,
    TargetsArgument,
    TraceOption,
)
from drivelab.experiments.load import built_in_names, load_experiment
from drivelab.inventory.consent import Consent
from drivelab.inventory.loop_target import resolve_measured
from drivelab.inventory.raid import why_not_here
from drivelab.inventory.smart import read_all_smart
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.plan import Plan, TraceChoice
from drivelab.model.raid import written_share
from drivelab.model.target import TargetFacts
from drivelab.plan.endurance import EnduranceShare, endurance_share
from drivelab.plan.make import make_plan
from drivelab.plan.narrow import narrowed
from drivelab.run.preflight import require_consent, require_issuable
from drivelab.state.known_settings import known_settings
from drivelab.state.scratch import choose_directory
from drivelab.streams import make_console

SCHEMA = 1
CHECK = "check"
_NAME_TARGET = "name a block device, a directory, scratch:SIZE, or sim:MODEL"


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
    show_plan(asked, all_steps=all_steps, as_json=as_json)


@dataclass(frozen=True, slots=True)
class AskedPlan:
    """What was asked for on the command line, as a plan.

    Attributes
    ----------
    typed : tuple of str
        What is typed behind ``drivelab run``, consent left out.
    facts : mapping of str to Any
        More keys for ``run.json``.
    files : mapping of str to bytes
        More files for the run's directory.
    """

    plan: Plan
    targets: dict[str, TargetFacts]
    experiment: Experiment
    typed: tuple[str, ...]
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
    before_targets : callable
        Called before the targets are looked at.
    """
    # imported here: an experiment needs none of it
    from drivelab.cli.job_file import STORED_NAME, is_job_file, plan_job_file, tell_options

    if experiment == CHECK:
        what = "a check is no experiment: it erases nothing, takes 45 s and writes at most 8 GiB"
        raise DrivelabError("P701", what, do=shlex.join(["drivelab", CHECK, *(targets or ["DIR"])]))
    options = {"--label": labels, "--only": only, "--repeats": _given(repeats), "--seed": _given(seed)}
    flags = {"--quick": quick, "--skip-unavailable": skip_unavailable, "--trace": trace is not None, "--strict": strict}
    typed = (experiment, *targets, *(name for name, is_given in flags.items() if is_given))
    typed += tuple(word for name, values in options.items() for value in values for word in (name, value))
    if is_job_file(experiment):
        of_experiments = {"--quick": quick, "--only": only, "--skip-unavailable": skip_unavailable}
        for name in (name for name, is_given in of_experiments.items() if is_given):
            what = f"{name} is for experiments: a job file has neither factors nor a quick form"
            raise DrivelabError("U006", what, do="leave it out")
        before_targets()
        found = plan_job_file(
            experiment, targets, strict=strict, seed=seed, repeats=repeats, labels=labels, trace=trace
        )
        tell_options(found.translation)
        facts, files = {"job_file": found.record()}, {STORED_NAME: found.text}
        return AskedPlan(found.plan, found.targets, found.experiment, typed, facts, files)
    # a name that is wrong is told before a target that is missing
    loaded = load_experiment(experiment)
    if not targets:
        raise DrivelabError("U006", "there is no target", do=_NAME_TARGET)
    asked, narrowing = narrowed(loaded, repeats=repeats, only=only)
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
    return AskedPlan(plan, by_label, asked, typed)


def _given(number: int | None) -> tuple[str, ...]:
    return () if number is None else (str(number),)


def show_plan(asked: AskedPlan, *, all_steps: bool, as_json: bool, consent: Consent | None = None) -> None:
    """Print a plan that can be issued here, and last the command that runs it.

    Parameters
    ----------
    consent : Consent, optional
        What the owners of drives have typed; JSON then tells what is erased without it.
    """
    plan, targets = asked.plan, asked.targets
    require_issuable(plan)
    shares = _endurance_shares(plan, targets)
    impossible = list(_impossible_here(targets.values()))
    if as_json:
        wear = {name: share.to_json() for name, share in shares.items()}
        more: dict[str, Any] = {"endurance": wear, "impossible_here": impossible}
        if consent is not None:
            more["refused"] = [error_json(error)["error"] for error in _refused(asked, consent)]
        print(json.dumps({"schema": SCHEMA} | plan.to_json() | more, indent=2))
        return
    # imported here: JSON needs no terminal library

    console = make_console(soft_wrap=True)
    typed = [("--erase", name) for target in plan.targets for name in target.erase_arguments]
    typed += [("--purge", target.purge_argument) for target in plan.targets if target.purge_argument]
    command = shlex.join(["drivelab", "run", *asked.typed, *(word for pair in typed for word in pair)])
    shown = Shown(console.width, not console.encoding.startswith("utf"), is_whole=all_steps)
    places = {label: _place(one) for label, one in targets.items()}
    *lines, last = plan_lines(plan, places, shares, command, shown, impossible=impossible)
    for text, style in lines:
        console.print(text, style=style, markup=False)
    if all_steps or plan.is_listed:
        print_steps(plan, console)
    console.print(last[0], markup=False)


def _refused(asked: AskedPlan, consent: Consent) -> Iterator[DrivelabError]:
    """Why targets may not be written to."""
    for target in asked.plan.targets:
        try:
            require_consent(target, asked.targets[target.label], consent)
        except DrivelabError as error:
            yield error


def _place(facts: TargetFacts) -> str:
    """On which drive and file system a target lies, or would be made; empty for a drive itself."""
    size_bytes = facts.raid.scratch_bytes if facts.raid else facts.size_bytes * (facts.kind == "scratch")
    told = ""
    if size_bytes:
        try:
            directory = choose_directory(size_bytes)
        except DrivelabError:
            # told by `_impossible_here`
            return ""
        facts, told = resolve_target(str(directory)), f"made in {directory} "
    if facts.filesystem is None:
        return ""
    drive = facts.drive
    named = f"{drive.name} {drive.model or ''}".strip() if drive else facts.filesystem.source
    return f"{told}on {named}, {facts.filesystem.type}"


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
    """
    facts = [resolve_measured(text) for text in targets]
    make = partial(
        _made, targets=facts, seed=secrets.randbelow(2**32) if seed is None else seed, quick=quick, labels=labels
    )
    try:
        plan = make(experiment, skip_unavailable=skip_unavailable, trace=trace)
    except DrivelabError as error:
        if error.code not in {"P707", "P708"}:
            raise
        rest = _refusal(experiment, make, skip_unavailable=True)
        if rest is None:
            raise
        raise _nothing_left(error, rest, make, skip_unavailable=skip_unavailable) from None
    plan = replace(plan, notes=(*narrowing, *plan.notes))
    return plan, {target.label: each for target, each in zip(plan.targets, facts, strict=True)}


def _made(experiment: Experiment, targets: Sequence[TargetFacts], **options: Any) -> Plan:
    varied = [factor.name for factor in experiment.factors]
    return make_plan(experiment, targets, settings=[known_settings(target, varied) for target in targets], **options)


def _refusal(experiment: Experiment, make: Callable[..., Plan], *, skip_unavailable: bool) -> DrivelabError | None:
    """Why an experiment cannot be planned on the targets; None where it can."""
    try:
        require_issuable(make(experiment, skip_unavailable=skip_unavailable))
    except DrivelabError as error:
        return error
    return None


def _nothing_left(
    asked: DrivelabError, rest: DrivelabError, make: Callable[..., Plan], *, skip_unavailable: bool
) -> DrivelabError:
    """That nothing can be measured, for which reasons, and what could be instead.

    Parameters
    ----------
    asked, rest : DrivelabError
        Why what was asked for is refused, and what is left of it without the levels that are not to be had.
    """
    lead = "" if asked.code == "P708" else "nothing is left to measure: "
    reasons = [asked.what, *([] if rest.code in {"P707", "P708"} else [rest.what])]
    built_in = {name: load_experiment(name) for name in built_in_names()}
    whole = [name for name, one in built_in.items() if _refusal(one, make, skip_unavailable=skip_unavailable) is None]
    others = [] if skip_unavailable else [name for name in built_in if name not in whole]
    reduced = [name for name in others if _refusal(built_in[name], make, skip_unavailable=True) is None]
    advice = f"choose one of {', '.join(whole)}, or another target" if whole else "choose another target"
    if reduced:
        advice += f"; with --skip-unavailable also {', '.join(reduced)}"
    return DrivelabError("P708", lead + "; ".join(reasons), do=advice)


def _impossible_here(targets: Iterable[TargetFacts]) -> Iterator[str]:
    """What cannot be made here, and a run would refuse: scratch drives without room, RAID sets without md or mdadm."""
    for facts in targets:
        size_bytes = facts.raid.scratch_bytes if facts.raid else facts.size_bytes * (facts.kind == "scratch")
        if size_bytes:
            try:
                choose_directory(size_bytes)
            except DrivelabError as error:
                yield f"{error.what}; {error.do}"
        reason = why_not_here(facts.raid.level) if facts.raid else ""
        if reason:
            yield f"{facts.text}: {reason}"


def _endurance_shares(plan: Plan, targets: Mapping[str, TargetFacts]) -> dict[str, EnduranceShare]:
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
