"""How the commands that measure by a plan end: what they show and write, and their exit status."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.answers.traced_answer import TracedAnswer
from drivelab.cli.page import write_page
from drivelab.cli.run_results import print_results, print_screen, results_json
from drivelab.joint_report import joint_report
from drivelab.model.errors import EXIT_FAILED, EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.names import counted_of
from drivelab.report.html import FILE_NAME
from drivelab.run.execute import Outcome
from drivelab.run.interruption import Interruption
from drivelab.run.settings_found import AS_THEY_WERE
from drivelab.store.read import open_run


def show(directory: Path, outcome: Outcome, stop: Interruption, *, as_json: bool, details: bool) -> int:
    """Print what a run came to, write its report, and give the exit status."""
    with _said_where_kept(directory):
        run = open_run(directory)
        answer = answer_of_run(run, None if as_json else SHOWN_METRICS)
        traced = TracedAnswer(run, answer)
        # before the report: what was measured is worth seeing also when that cannot be written
        if details and not as_json:
            print_results(run, answer, traced)
        elif not as_json:
            print_screen(run, answer)
        report = write_page(joint_report([run], answers=[answer], traced=[traced]), directory / FILE_NAME)
    if as_json:
        for piece in results_json(run, report, answer):
            print(piece, end="")
    else:
        if AS_THEY_WERE in outcome.restored:
            print(AS_THEY_WERE)
        if report:
            print(f"report: {report}")
        if run.traced_trials:
            print(f"where the time goes: drivelab explain {directory}")
    if outcome.is_interrupted or outcome.is_stopped or outcome.failures:
        print(f"to go on with it: drivelab resume {directory}", file=sys.stderr)
    return stop.exit_code if outcome.is_interrupted else exit_status(outcome)


@contextmanager
def _said_where_kept(directory: Path) -> Iterator[None]:
    """Where the run is, also when it cannot be told of: what was measured is not lost."""
    try:
        yield
    except Exception:
        print(f"what was measured is kept: {directory}", file=sys.stderr)
        raise


def exit_status(outcome: Outcome) -> int:
    """Exit status of a run that came to its end."""
    if not outcome.completed and outcome.failures:
        first, count = next(iter(outcome.failures.values())), len(outcome.failures)
        raise DrivelabError("R407", f"{counted_of(count, count, 'step')} failed; the first: {first.what}", do=first.do)
    if outcome.failures:
        return EXIT_FAILED
    return EXIT_NOT_TRUSTED if outcome.invalid or _any_invalid(outcome.findings) else EXIT_OK


def _any_invalid(findings: Sequence[Finding]) -> bool:
    return any(finding.severity == "invalid" for finding in findings)
