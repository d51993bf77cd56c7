"""How the commands that measure by a plan begin: what they announce and put back, and what conducts their runs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from drivelab import __version__
from drivelab.analyse.findings import findings_between_targets, smart_findings, target_findings
from drivelab.analyse.trial import judge_trial
from drivelab.answers.run_answer import findings_of_run
from drivelab.inventory.consent import Consent
from drivelab.inventory.host import host_facts
from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.plan import Plan, PlannedTarget
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes
from drivelab.plan.awaited import awaited_of_run, fillings_of_run
from drivelab.run.counting_pass import command_counts
from drivelab.run.execute import Instruments
from drivelab.run.interruption import Interruption
from drivelab.run.measure import measure
from drivelab.run.progress import RunProgress
from drivelab.run.recorded import Conduct, SmartReading
from drivelab.run.trace_tools import TRACE_TOOLS
from drivelab.run.traceable import remove_left_over_traces
from drivelab.state.journal import journal_directory
from drivelab.state.restore import put_back
from drivelab.state.stuck import StuckJournal
from drivelab.store.read import StoredRun


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


def _judge_run(
    host: HostFacts, targets: Mapping[str, TargetFacts], run: StoredRun, readings: Sequence[SmartReading]
) -> list[Finding]:
    """What is to be known about the targets, about each trial, and what only several trials can tell."""
    about_targets = [finding for facts in targets.values() for finding in target_findings(facts, host)]
    about_targets += findings_between_targets(targets)
    return [*about_targets, *smart_findings(readings), *findings_of_run(run)]
