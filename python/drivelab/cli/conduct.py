"""What ``drivelab run`` and ``drivelab resume`` have in common: judging, showing, and the exit status."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from drivelab import __version__
from drivelab.analyse.findings import smart_findings, target_findings
from drivelab.analyse.trial import judge_trial
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run, findings_of_run
from drivelab.answers.traced_answer import TracedAnswer
from drivelab.cli.page import write_page
from drivelab.cli.run_results import print_results, print_screen, results_json
from drivelab.inventory.consent import Consent
from drivelab.inventory.host import host_facts
from drivelab.joint_report import joint_report
from drivelab.model.errors import EXIT_FAILED, EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.plan import Plan, PlannedTarget
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes
from drivelab.plan.awaited import awaited_of_run, fillings_of_run
from drivelab.report.html import FILE_NAME
from drivelab.run.counting_pass import command_counts
from drivelab.run.execute import Instruments, Outcome
from drivelab.run.interruption import Interruption
from drivelab.run.measure import measure
from drivelab.run.progress import RunProgress
from drivelab.run.recorded import Conduct, SmartReading
from drivelab.run.settings_found import AS_THEY_WERE
from drivelab.run.trace_tools import TRACE_TOOLS
from drivelab.run.traceable import remove_left_over_traces
from drivelab.state.journal import journal_directory
from drivelab.state.restore import put_back
from drivelab.state.stuck import StuckJournal
from drivelab.store.read import StoredRun, open_run


def conduct_for(progress: RunProgress, stop: Interruption, consent: Consent, *, stops_on_error: bool) -> Conduct:
    """How a run is conducted that was started from the command line."""
    host = host_facts(__version__)
    return Conduct(
        instruments=Instruments(measure, command_counts, partial(judge_trial, host=host), TRACE_TOOLS),
        judge_run=partial(_judge_run, host),
        progress=progress,
        stop=stop,
        host=host,
        consent=consent,
        command_line=shlex.join(["drivelab", *sys.argv[1:]]),
        stops_on_error=stops_on_error,
    )


def progress_of(command: str, plan: Plan, completed: Collection[str] = ()) -> RunProgress:
    """The progress of a plan, of which some trials may be there already."""
    what = "" if command == "explain" else f" {plan.experiment}"
    title = f"{command}{what} on {', '.join(target.label for target in plan.targets)}"
    numbers = [step.number for step in plan.steps if step.trial in completed]
    return RunProgress(title, awaited_of_run(plan), completed=numbers, fillings=fillings_of_run(plan))


def announce_changes(targets: Iterable[PlannedTarget]) -> None:
    """Say which settings a run changes of a drive that holds what others use."""
    for target in targets:
        # a drive that is nobody else's is erased
        if target.changes and not target.destroys:
            print(f"changes meanwhile, and puts back: {target.changes}", file=sys.stderr)


def announce_files(plan: Plan, targets: Mapping[str, TargetFacts]) -> None:
    """Say on stderr which files stay that are not there yet, and how large they are together."""
    sizes: dict[Path, int] = {}
    for step in (each for each in plan.steps if each.keeps_file):
        for path in (Path(targets[step.target].path) / name for name in step.file_names):
            sizes[path] = max(sizes.get(path, 0), step.pattern.file_size)
    made = [path for path in sizes if not path.exists()]
    if made:
        size = format_bytes(sum(sizes[path] for path in made))
        others = f" and {len(made) - 1} more" if made[1:] else ""
        print(f"{made[0]}{others}: made, and left there at the end ({size})", file=sys.stderr)


def put_back_left_over() -> list[StuckJournal]:
    """Put back what killed runs left changed, and say so; what could not be put back.

    Whoever goes on has to stay apart from that: `drivelab.state.stuck.require_apart`.
    """
    found = put_back(journal_directory())
    for one in found.restored:
        print(f"put back what '{one.command}' had left changed: {'; '.join(one.done)}", file=sys.stderr)
    for stuck in found.stuck:
        print(f"warning: a killed run left something changed: {stuck.error}", file=sys.stderr)
    for name in remove_left_over_traces():
        print(f"removed the trace that a killed run had left: {name}", file=sys.stderr)
    return found.stuck


def show(directory: Path, outcome: Outcome, stop: Interruption, *, as_json: bool, details: bool) -> int:
    """Print what a run came to, write its report, and give the exit status.

    Raises
    ------
    DrivelabError
        R407: not a single step gave a result. O802: the report cannot be written.
    """
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


def _judge_run(
    host: HostFacts, targets: Sequence[TargetFacts], run: StoredRun, readings: Sequence[SmartReading]
) -> list[Finding]:
    """What is to be known about the targets, about each trial, and what only several trials can tell."""
    about_targets = [finding for facts in targets for finding in target_findings(facts, host)]
    return [*about_targets, *smart_findings(readings), *findings_of_run(run)]


def exit_status(outcome: Outcome) -> int:
    """Exit status of a run that came to its end.

    Raises
    ------
    DrivelabError
        R407: not a single step gave a result.
    """
    if not outcome.completed and outcome.failures:
        first = next(iter(outcome.failures.values()))
        raise DrivelabError("R407", f"all {len(outcome.failures)} steps failed; the first: {first.what}", do=first.do)
    if outcome.failures:
        return EXIT_FAILED
    return EXIT_NOT_TRUSTED if outcome.invalid or _any_invalid(outcome.findings) else EXIT_OK


def _any_invalid(findings: Sequence[Finding]) -> bool:
    return any(finding.severity == "invalid" for finding in findings)
