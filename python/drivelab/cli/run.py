"""The command ``drivelab run``: an experiment becomes a plan, the plan a run directory, and that a report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from drivelab import __version__
from drivelab.analyse.findings import run_findings, target_findings, trial_findings
from drivelab.analyse.summary import summarise
from drivelab.cli.plan import ExperimentArgument, QuickOption, SeedOption, TargetsArgument, seed_or_random
from drivelab.cli.run_results import print_results, results_json
from drivelab.experiments.load import load_experiment
from drivelab.inventory.host import host_facts
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import EXIT_FAILED, EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.plan.make import make_plan
from drivelab.report.html import write_html_report
from drivelab.run.counting_pass import command_counts
from drivelab.run.execute import Instruments, Outcome
from drivelab.run.interruption import interruptible
from drivelab.run.measure import measure
from drivelab.run.preflight import require_possible
from drivelab.run.progress import progress_for
from drivelab.run.recorded import record_run
from drivelab.state.journal import journal_directory
from drivelab.state.restore import restore_left_over
from drivelab.store.layout import default_parent
from drivelab.store.read import open_run


def command(
    experiment: ExperimentArgument,
    targets: TargetsArgument,
    quick: QuickOption = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory to make the run in; else where all runs are kept.")
    ] = None,
    erase: Annotated[
        list[str] | None,
        typer.Option(metavar="SERIAL", help="Erase this drive: what 'drivelab plan' says its owner types."),
    ] = None,
    seed: SeedOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Run an experiment on targets, keep everything that it measured, and write its report.

    What it is going to do is shown by 'drivelab plan'. Settings, mounts and
    scratch drives are put back when it ends, also after an error or Ctrl-C.
    """
    asked = load_experiment(experiment)
    facts = [resolve_target(text) for text in targets]
    plan = make_plan(asked, facts, seed=seed_or_random(seed), quick=quick)
    by_label = {target.label: each for target, each in zip(plan.targets, facts, strict=True)}
    for one in restore_left_over(journal_directory()):
        print(f"put back what '{one.command}' had left changed: {'; '.join(one.done)}", file=sys.stderr)
    require_possible(plan, by_label, erase or ())
    host = host_facts(__version__)
    with interruptible() as stop:
        directory, outcome = record_run(
            plan,
            asked,
            by_label,
            out or default_parent(),
            instruments=Instruments(measure, command_counts, Judgement(host)),
            progress=progress_for(plan),
            stop=stop,
            erase=erase or (),
            host=host,
            command_line=shlex.join(["drivelab", *sys.argv[1:]]),
        )
    run = open_run(directory)
    if not as_json:
        # before the report: what was measured is worth seeing also when that cannot be written
        print_results(run)
    report = write_html_report(run)
    print(results_json(run, report) if as_json else f"report: {report}")
    return stop.exit_code if outcome.is_interrupted else exit_status(outcome)


class Judgement:
    """Numbers and findings, from the pure functions that make them.

    Parameters
    ----------
    host : HostFacts
        The computer that measures.
    """

    def __init__(self, host: HostFacts) -> None:
        self._host = host

    def trial(self, measured: Measurement, facts: TargetFacts) -> tuple[TrialSummary, Sequence[Finding]]:
        """The trial's numbers, and what is to be known about it."""
        summary = summarise(measured, facts)
        return summary, trial_findings(measured, summary, facts, self._host)

    def run(self, targets: Sequence[TargetFacts], summaries: Sequence[TrialSummary]) -> Sequence[Finding]:
        """What is to be known about the targets, and what only several trials can tell."""
        about_targets = [finding for facts in targets for finding in target_findings(facts, self._host)]
        return [*about_targets, *run_findings(summaries)]


def exit_status(outcome: Outcome) -> int:
    """Exit status of a run that came to its end.

    Raises
    ------
    DrivelabError
        R407: not a single step gave a result.
    """
    if not outcome.summaries:
        first = next(iter(outcome.failures.values()))
        raise DrivelabError("R407", f"all {len(outcome.failures)} steps failed; the first: {first.what}", do=first.do)
    if outcome.failures:
        return EXIT_FAILED
    invalid = any(finding.severity == "invalid" for finding in outcome.findings)
    return EXIT_NOT_TRUSTED if invalid else EXIT_OK
