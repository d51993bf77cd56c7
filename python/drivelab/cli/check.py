"""The command ``drivelab check``: whether a directory, file or drive is fit, and whether to trust the numbers."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from drivelab import __version__
from drivelab.analyse.findings import importance, operations_failed, run_findings, speed_changed, target_findings
from drivelab.analyse.findings.virtual_drive import answers_for_hardware
from drivelab.analyse.fitness import judge_fitness
from drivelab.analyse.known_burst import with_known_bursts
from drivelab.analyse.run_evidence import RunEvidence
from drivelab.analyse.trial import judge_trial
from drivelab.analyse.verdict import judge_need
from drivelab.answers.known_bursts import known_bursts
from drivelab.cli.check_results import CheckJudgement, show_check
from drivelab.cli.memory_use import give_memory_back, keep_memory_low
from drivelab.cli.tag_option import TagOption
from drivelab.inventory.consent import require_erase_consent, require_unused
from drivelab.inventory.host import host_facts
from drivelab.inventory.loop_target import resolve_measured
from drivelab.inventory.target import require_writable
from drivelab.model.errors import EXIT_FAILED, EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError, error_words
from drivelab.model.finding import MEASURE_LONGER, NOT_MEASURED, TRIAL_FAILED, Finding
from drivelab.model.host import HostFacts
from drivelab.model.measurement import Measurement
from drivelab.model.need import Need
from drivelab.model.programs import POSTGRESQL, PROGRAMS
from drivelab.model.tags import parse_tags
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import format_quantity
from drivelab.model.verdict import ONLY_READ, Fitness, Verdict
from drivelab.needs.load import NEED_NAMES, OTHER_NAMES, built_in_needs, load_need
from drivelab.plan.awaited import awaited_of_check
from drivelab.plan.check import CheckPlan, plan_check
from drivelab.plan.program_trials import require_files_of_program
from drivelab.run.check import CheckResults, facts_after, files_of_check, record_check
from drivelab.run.interruption import Interruption, interruptible
from drivelab.run.progress import RunProgress
from drivelab.state.drive_lock import held_drives
from drivelab.store.find_run import kept_runs_of
from drivelab.store.layout import default_parent, why_not_kept_in
from drivelab.store.write import RunWriter, create_run

# of what is only read: one read at a time, and as many bytes as come at once
_READS = {
    "random-read-qd1": ("total_latency_ns_p50", "half of random reads take {} at most"),
    "sequential-read-qd8": ("throughput_bytes_per_s", "reads in order reach {}"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a target.

    Attributes
    ----------
    need : Need or None
        The one that was named; None for all of them.
    at_least_per_s : float
        Commits a second that one client shall reach; 0 where no rate was asked for.
    """

    need: Need | None = None
    at_least_per_s: float = 0.0
    tags: Mapping[str, str] = field(default_factory=dict)


def command(
    target: Annotated[str, typer.Argument(help="A directory, a file, a block device or a simulated drive.")],
    need_name: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="NEED",
            help=f"{', '.join(NEED_NAMES)}; by other names {', '.join(OTHER_NAMES)}; or ./FILE.toml of your own.",
            autocompletion=lambda incomplete: [
                name for name in (*NEED_NAMES, *OTHER_NAMES) if name.startswith(incomplete)
            ],
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(metavar="RATE", help="Commits a second that are wanted of one client, with --for: yes or no."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Take 10 s instead of 45: wider intervals.")] = False,
    erase: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERIAL", help="Consent to overwrite the block device of this name; else it is only read."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory to keep the run in; else where all runs are kept.")
    ] = None,
    tag: TagOption = None,
    details: Annotated[bool, typer.Option("--details", help="Print every number with its interval.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Check in under a minute whether a directory or drive is fit; nothing is destroyed.

    In a directory a hidden file of up to 1 GiB is written and removed again;
    at most 8 GiB are written in all, so that a fast drive is hardly worn.
    An existing file or a block device is only read. Exit codes: with --for 0
    yes (or measured, where no limit is published), 1 no, 4 undecided;
    without it 0, or 4 when some number does not describe the drive.
    """
    keep_memory_low()
    tags = parse_tags(tag or ())
    need = load_need(need_name) if need_name is not None else None
    if at_least is not None:
        require_rate(need, at_least)
    if erase:
        require_unused(target)
    facts = resolve_measured(target)
    require_files_of_program(need, facts, is_rate_asked=at_least is not None)
    plan = plan_check(facts, program=need.program if need else POSTGRESQL.need, may_erase=bool(erase), is_quick=quick)
    if plan.may_write:
        require_writable(facts)
        require_erase_consent(facts, erase or ())
    writer = make_run(facts, out)
    with interruptible() as stop, held_drives(facts.drives, alone=bool(erase), by=f"run {writer.directory.name}"):
        results, judgement = _check(plan, facts, writer, Asked(need, at_least or 0.0, tags), erase or [], stop)
    give_memory_back()
    show_check(results, judgement, facts, writer.directory, details=details, as_json=as_json)
    return stop.exit_code if results.outcome.is_interrupted else exit_status(judgement)


def require_rate(need: Need | None, at_least_per_s: float) -> None:
    """Return only if a rate of commits can be asked for."""
    if need is None or not need.program:
        what = f"{need.title} has no commits" if need else "--at-least is a rate of one program"
        do = f"leave --at-least out, or name a program that commits: --for {' or '.join(PROGRAMS)}"
        raise DrivelabError("U045", what, where=f"--at-least {at_least_per_s:g}", do=do)
    if not 0 < at_least_per_s < float("inf"):
        raise DrivelabError("U045", f"{at_least_per_s:g} commits a second ask for nothing that could be measured")


def make_run(target: TargetFacts, out: Path | None) -> RunWriter:
    """The run directory of a check: where the user said, else where runs are kept, else where there is room."""
    parent = out or default_parent()
    reason = why_not_kept_in(parent) if out is None else ""
    if reason:
        # a service user has no home
        parent = Path(tempfile.mkdtemp(prefix="drivelab-runs-"))
        print(f"{reason}: this run is kept in {parent}", file=sys.stderr)
    return create_run(parent, "check", Path(target.path).name or target.text, datetime.now(UTC))


def _check(
    plan: CheckPlan, target: TargetFacts, writer: RunWriter, asked: Asked, erase: list[str], stop: Interruption
) -> tuple[CheckResults, CheckJudgement]:
    host = host_facts(__version__)
    known = known_bursts(reversed(kept_runs_of("burst")), target) if answers_for_hardware(target) else ()

    def judge(measured: Measurement, facts: TargetFacts) -> tuple[TrialSummary, list[Finding]]:
        summary, found = judge_trial(measured, facts, host)
        findings = with_known_bursts(found, known, measured, summary)
        return summary, [_with_fitting_advice(finding, is_quick=plan.plan.quick) for finding in findings]

    command_line = shlex.join(["drivelab", *sys.argv[1:]])
    status: dict[str, Any] = {"status": "failed"}
    title = f"check {target.text}" + (f" for {asked.need.name}" if asked.need else "")
    try:
        with files_of_check(plan, target, command_line), RunProgress(title, awaited_of_check(plan.plan)) as progress:
            results = record_check(
                plan,
                target,
                writer,
                judge=judge,
                progress=progress,
                stop=stop,
                erase=erase,
                command_line=command_line,
                tags=asked.tags,
            )
        status = facts_after(target, results)
    except BaseException as error:
        writer.give_up(**status, error=error_words(error))
        raise
    give_memory_back()
    judgement = judge_check(plan, results, target, host, asked)
    writer.finish(judgement.findings, judgement.verdict.to_json(), **status)
    return results, judgement


def judge_check(
    plan: CheckPlan, results: CheckResults, target: TargetFacts, host: HostFacts, asked: Asked
) -> CheckJudgement:
    """The findings and the verdict of a check."""
    need = asked.need
    summaries = results.summaries
    evidence = RunEvidence.of(summaries, (int(one.engine.get("measured_ns", 0)) for one in results.measurements))
    changed = speed_changed.find_between(summaries, target)
    findings = [*changed, *target_findings(target, host), *run_findings(evidence), *results.findings]
    findings = sorted([*findings, *check_findings(plan, results)], key=importance)
    if not plan.may_write:
        return CheckJudgement(findings, _only_read(target, need, summaries, findings))
    if need is None:
        return CheckJudgement(findings, judge_fitness(built_in_needs(), summaries, findings))
    return CheckJudgement(findings, judge_need(need, summaries, findings, at_least_per_s=asked.at_least_per_s))


def _only_read(
    target: TargetFacts, need: Need | None, summaries: Sequence[TrialSummary], findings: Sequence[Finding]
) -> Verdict | Fitness:
    """The verdict where nothing was written: every need is about writes, and reads may have told nothing either."""
    voids = {one.trial: one for one in findings if one.severity == "invalid"}
    if summaries and all(one.name in voids for one in summaries):
        void = voids[summaries[0].name]
        text = f"no number is the drive's, since {void.text.partition(': ')[0]}; {void.advice or 'see the findings'}"
    else:
        consent = "--erase SERIAL (or a directory)" if target.kind == "block_device" else "a directory"
        reads = ", ".join(_reads_in_words(one for one in summaries if one.name not in voids))
        text = f"{ONLY_READ}: {'; '.join(filter(None, (reads, f'writes need {consent}')))}"
    if need is None:
        return Fitness(f"{text[0].upper()}{text[1:]}.", "undecided", ())
    return Verdict(need.name, need.title, "undecided", f"{need.title}: {text}", text, ())


def _reads_in_words(summaries: Iterable[TrialSummary]) -> Iterator[str]:
    """What reads came to, in few words."""
    for one in summaries:
        metric, words = _READS.get(one.name, ("", ""))
        found = one.estimates.get(metric)
        if found is not None and found.value is not None:
            yield words.format(format_quantity(found.value, found.unit))


def check_findings(plan: CheckPlan, results: CheckResults) -> list[Finding]:
    """What did not go as it usually does: trials, direct I/O, an interruption, what was found beforehand."""
    found = [
        Finding(TRIAL_FAILED, "invalid", f"{NOT_MEASURED}{error.what}", name, {"code": error.code}, error.do)
        for name, error in results.outcome.failures.items()
    ]
    if not plan.may_write:
        text = f"{plan.read_only_reason}: how it takes writes was not measured"
        advice = "check a directory on it, or a device with --erase SERIAL if its contents may go"
        found.append(Finding("only-read", "note", text, advice=advice))
    if results.direct_reason:
        text = f"{results.direct_reason}: reads and writes went through the page cache"
        found.append(Finding("direct-refused", "warning", text, advice="compare these numbers with no direct ones"))
    if results.outcome.is_interrupted:
        found.append(
            Finding("interrupted", "warning", "the check was interrupted: this is what was measured until then")
        )
    if results.removed_leftovers:
        count = len(results.removed_leftovers)
        text = f"{count} working file{'s' if count > 1 else ''} of killed checks were found and removed"
        found.append(Finding("leftovers-removed", "note", text, evidence={"names": list(results.removed_leftovers)}))
    return found


def _with_fitting_advice(finding: Finding, *, is_quick: bool) -> Finding:
    """A check takes the time it takes: there is but one way to measure longer."""
    if finding.advice != MEASURE_LONGER:
        return finding
    return replace(finding, advice="leave out --quick" if is_quick else "measure longer: drivelab io --runtime 60s")


def exit_status(judgement: CheckJudgement) -> int:
    """With a need: 0 yes, 1 no, 4 undecided. Without: 4 when I/O failed or some number does not describe the drive.

    A need without a published limit is answered (0) once its number is measured and nothing makes it invalid.
    """
    verdict = judgement.verdict
    if isinstance(verdict, Verdict) and verdict.outcome != "no_limit":
        statuses = {"pass": EXIT_OK, "fail": EXIT_FAILED, "undecided": EXIT_NOT_TRUSTED}
        return statuses[verdict.outcome]
    distrusted = any(one.severity == "invalid" or one.code == operations_failed.CODE for one in judgement.findings)
    return EXIT_NOT_TRUSTED if distrusted else EXIT_OK
