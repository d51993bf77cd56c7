"""Carries out a check and keeps everything about it: the run directory around the trials."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drivelab import __version__
from drivelab.inventory.host import host_facts
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.plan.check import CheckPlan, CheckTrial
from drivelab.run.begun import begun
from drivelab.run.check import CheckOutcome, run_check
from drivelab.run.engine import Progress, RecordListener, StopRequest
from drivelab.run.process_owner import owner_tag
from drivelab.run.progress import RunProgress
from drivelab.state.working_files import files_in_journal, tree_in_journal
from drivelab.store.layout import missing_home
from drivelab.store.place import TrialPlace
from drivelab.store.write import RunWriter

EXPERIMENT = "check"
Judge = Callable[[Measurement, TargetFacts], tuple[TrialSummary, Sequence[Finding]]]


@dataclass(slots=True)
class CheckResults:
    """What a check came to so far.

    Attributes
    ----------
    outcome : CheckOutcome
        What became of the trials.
    measurements : list of Measurement
        Of the trials that were measured.
    summaries : list of TrialSummary
        Their numbers, in the same order.
    findings : list of Finding
        About single trials.
    """

    outcome: CheckOutcome = field(default_factory=CheckOutcome)
    measurements: list[Measurement] = field(default_factory=list)
    summaries: list[TrialSummary] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


@contextmanager
def files_of_check(plan: CheckPlan, target: TargetFacts, command_line: str) -> Iterator[None]:
    """While the context lasts, `drivelab restore` knows of the working files, should the check be killed."""
    with ExitStack() as journals:
        if target.kind == "directory":
            journals.enter_context(files_in_journal(target.path, owner_tag(), command_line))
        if any(trial.workload.tree for trial in plan.trials):
            journals.enter_context(tree_in_journal(target.path, command_line))
        yield


def record_check(
    plan: CheckPlan,
    target: TargetFacts,
    writer: RunWriter,
    *,
    judge: Judge,
    progress: RunProgress,
    stop: StopRequest,
    erase: Sequence[str] = (),
    command_line: str = "",
) -> CheckResults:
    """What every trial of a check came to; each is in the run directory as soon as it is done.

    Parameters
    ----------
    plan, target, stop, erase
        As for `drivelab.run.check.run_check`.
    writer : RunWriter
        The run directory; the caller finishes it.
    judge : callable
        Turns a measurement into numbers and findings.
    progress : RunProgress
        Told how it goes.
    command_line : str
        What was typed, for the record.

    Raises
    ------
    DrivelabError
        C201 to C209, R451, S501 to S503; others when not a single trial could be measured.
    """
    before = [{"label": target.place, "facts_before": target.to_json(), "facts_after": None}]
    record = replace(
        begun({"name": EXPERIMENT}, before, host_facts(__version__), command_line),
        title=f"Check of {target.place}",
        question=f"Is {target.place} fit, and can the numbers be trusted?",
        plan=plan.to_json(),
    )
    writer.write_run_json(record.to_json())
    results = CheckResults()
    recorder = _Recorder(target, writer, judge, progress, results)
    results.outcome = run_check(plan, target, recorder, stop=stop, erase=erase)
    return results


def facts_after(target: TargetFacts, results: CheckResults) -> dict[str, Any]:
    """What is known once the trials are over, for `RunWriter.finish`."""
    try:
        after = resolve_target(target.text).to_json()
    except DrivelabError:
        # it vanished, which the trials have told
        after = None
    return {
        "status": "interrupted" if results.outcome.is_interrupted else "complete",
        "targets": [{"label": target.place, "facts_before": target.to_json(), "facts_after": after}],
        "failures": {trial: str(error) for trial, error in results.outcome.failures.items()},
        "removed_leftovers": list(results.outcome.removed_leftovers),
    }


class _Recorder:
    """Stores each trial as soon as it is done."""

    def __init__(
        self, target: TargetFacts, writer: RunWriter, judge: Judge, progress: RunProgress, results: CheckResults
    ) -> None:
        self._target = target
        self._writer = writer
        self._judge = judge
        self._progress = progress
        self._results = results
        self._number = 0
        self._started = ""

    def trial_begins(self, number: int) -> None:
        self._number, self._started = number, _now()
        self._progress.begins(number)

    def records_of(self, trial: CheckTrial) -> AbstractContextManager[RecordListener | None]:
        # straight to the run directory: a check shall stay small in memory however fast the drive is
        return self._writer.record_sink(trial.name) if trial.workload.record_ios else nullcontext()

    def trial_goes_on(self, progress: Progress) -> None:
        self._progress.goes_on(progress)

    def trial_does(self, what: str) -> None:
        self._progress.doing(what)

    def trial_done(self, measured: Measurement) -> None:
        summary, findings = self._judge(measured, self._target)
        place = TrialPlace(target=self._target.place, started_utc=self._started)
        self._writer.add_trial(measured, summary, place=place, findings=findings)
        self._results.measurements.append(measured)
        self._results.summaries.append(summary)
        self._results.findings += findings
        self._progress.done(self._number, summary)

    def trial_failed(self, trial: CheckTrial, error: DrivelabError) -> None:
        self._writer.add_journal("trial failed", trial=trial.name, error=str(error))
        self._progress.failed(self._number, error)


def why_not_kept_in(directory: Path) -> str:
    """Why no run can be kept in a directory, which is made if it is missing; empty when one can."""
    reason = missing_home(directory)
    if reason:
        return reason
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # tried, since a file system that is full or mounted read-only lets everybody believe that it can be written
        with tempfile.TemporaryFile(dir=directory):
            return ""
    except OSError as error:
        return f"{directory} cannot be written ({error.strerror})"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
