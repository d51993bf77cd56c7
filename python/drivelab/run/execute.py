"""Executes a plan: the only place where its steps become changes and I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from drivelab.inventory.consent import NO_CONSENT, Consent
from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes
from drivelab.model.workload import Workload
from drivelab.run.applied_settings import AppliedSettings
from drivelab.run.commands_of_cells import CommandsOfCells, counts_commands
from drivelab.run.engine import RecordListener, StopRequest
from drivelab.run.instruments import Instruments
from drivelab.run.prepared_trial import PreparedTrial, StoppedError
from drivelab.run.progress import RunProgress
from drivelab.run.settings_found import AS_THEY_WERE
from drivelab.run.stage import TargetStage
from drivelab.run.together import Member, SummedProgress
from drivelab.run.traced_pass import traced_pass, why_untraced
from drivelab.state.journal import Journal
from drivelab.state.signals import signals_held, signals_obeyed
from drivelab.state.undo import undo_all
from drivelab.store.place import TrialPlace
from drivelab.store.write import RunWriter

# a failure of these kinds would meet every later step too: the run directory, consent, root, the journal
_ENDS_THE_RUN = ("S", "C", "R401", "R406", "R409")
# long enough to notice a busy drive; what the drive does in the trial itself is counted beside it
_IDLE_WATCH_S = 0.01
# a drive is asked for its settings again after trials that are long beside the asking
_ASK_DRIVE_NS = 1_000_000_000


@dataclass(slots=True)
class Outcome:
    """What became of a plan.

    Attributes
    ----------
    completed : int
        Trials that were completed and stored.
    invalid : int
        Those of them whose numbers do not describe the drive.
    findings : list of Finding
        About the targets and the run as a whole; those about a trial are stored with it.
    failures : dict of str to DrivelabError
        Why steps failed, by trial.
    restored : list of str
        What was put back at the end, in words.
    is_interrupted : bool
        Whether the user asked for the end before the last step.
    is_stopped : bool
        Whether a step that failed ended the run before the last step.
    """

    completed: int = 0
    invalid: int = 0
    findings: list[Finding] = field(default_factory=list)
    failures: dict[str, DrivelabError] = field(default_factory=dict)
    restored: list[str] = field(default_factory=list)
    is_interrupted: bool = False
    is_stopped: bool = False


class Execution:
    """The execution of one plan.

    Parameters
    ----------
    plan : Plan
        What to do.
    targets : mapping of str to TargetFacts
        The targets by their label in the plan.
    writer : RunWriter
        Takes every trial as soon as it is done.
    journal : Journal
        Learns of every change before it is made.
    instruments : Instruments
        Measure, and judge.
    progress : RunProgress
        Told how it goes.
    stop : StopRequest
        Ends the run within an interval once it is set.
    consent : Consent
        What the owner typed after ``--erase`` and ``--purge``.
    completed : collection of str
        Trials of the plan that are stored already: their steps are not done again.
    stops_on_error : bool
        Whether the first step that fails ends the run.
    session : mapping, optional
        Stored with each trial: ``session``, how often the run was begun or
        resumed, from 1, and which kernel and boot that was.

    Attributes
    ----------
    outcome : Outcome
        Filled as the run goes on: what a caller still has when `run` raises.
    """

    def __init__(
        self,
        plan: Plan,
        targets: Mapping[str, TargetFacts],
        writer: RunWriter,
        journal: Journal,
        *,
        instruments: Instruments,
        progress: RunProgress,
        stop: StopRequest,
        consent: Consent = NO_CONSENT,
        completed: Collection[str] = (),
        stops_on_error: bool = False,
        session: Mapping[str, Any] | None = None,
    ) -> None:
        self.outcome = Outcome()
        self._plan = plan
        self._writer = writer
        self._journal = journal
        self._instruments = instruments
        self._progress = progress
        self._stop = stop
        self._completed = completed
        self._stops_on_error = stops_on_error
        self._session = dict(session or {"session": 1})
        self._commands = CommandsOfCells(instruments.count_commands)
        settings = self._settings = AppliedSettings(journal)
        self._stages = {
            target.label: TargetStage(
                target, targets[target.label], journal, settings=settings, consent=consent, progress=progress, stop=stop
            )
            for target in plan.targets
        }

    def run(self) -> Outcome:
        """Do every step; each completed trial is in the run directory.

        Raises
        ------
        DrivelabError
            C201 to C210, R401, R406, R409, S501 to S503: nothing that follows
            could go better. Any other failure ends its own step only.

        Notes
        -----
        However it ends, everything that was changed is put back before it
        returns. A trial in flight when the user asks for the end is not kept.
        """
        with signals_held():
            try:
                with signals_obeyed():
                    self._run_all_steps()
            finally:
                self._put_everything_back()
        return self.outcome

    def _run_all_steps(self) -> None:
        for steps in self._plan.units:
            self.outcome.is_stopped = self._stops_on_error and bool(self.outcome.failures)
            if self._stop.is_set() or self.outcome.is_stopped:
                break
            if any(step.trial not in self._completed for step in steps):
                self._run_steps(steps)

    def _put_everything_back(self) -> None:
        try:
            self.outcome.is_interrupted = self._stop.is_set()
            # a target tells what its numbers mean once it is made
            notes = [note for stage in self._stages.values() for note in stage.notes]
            self.outcome.findings += [Finding("target-note", "note", note) for note in notes]
            self._progress.preparing("putting everything back")
            for stage in self._stages.values():
                stage.release()
        finally:
            try:
                self.outcome.restored += undo_all(self._journal)
            finally:
                self._compare_settings()

    def _compare_settings(self) -> None:
        """Say of settings that were changed whether they are as they were found: read again, whatever the undo says."""
        if self._settings.found.is_empty:
            return
        left = self._settings.found.differences()
        self.outcome.restored += [] if left else [AS_THEY_WERE]
        advice = "somebody else has set it since, or it could not be put back: drivelab restore"
        self.outcome.findings += [Finding("setting-not-put-back", "warning", text, advice=advice) for text in left]

    def target_facts(self) -> dict[str, TargetFacts]:
        """The targets as they were used, by label: a scratch drive as it was made."""
        return {label: stage.facts for label, stage in self._stages.items()}

    def _run_steps(self, steps: Sequence[PlannedStep]) -> None:
        """Measure one step, or several at the same time."""
        self._progress.begins(steps[0].number)
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        trials: list[PreparedTrial] = []
        found: Sequence[Measurement | DrivelabError]
        try:
            try:
                for step in steps:
                    trials.append(self._stages[step.target].prepare(step))
                is_alone = len(steps) == 1
                found = [self._measured(steps[0], trials[0])] if is_alone else self._measured_together(steps, trials)
            finally:
                for step, trial in zip(steps, trials, strict=False):
                    self._stages[step.target].tidy(trial)
        except StoppedError:
            return
        except DrivelabError as error:
            if error.code.startswith(_ENDS_THE_RUN):
                raise
            found = [error] * len(steps)
        if self._stop.is_set():
            return
        for place, (step, result) in enumerate(zip(steps, found, strict=True)):
            # of several at the same time some may be stored since an earlier session
            if step.trial in self._completed:
                continue
            if isinstance(result, DrivelabError):
                self._fail(step, result)
            else:
                self._keep(step, trials[place], result, started)

    def _fail(self, step: PlannedStep, error: DrivelabError) -> None:
        self.outcome.failures[step.trial] = error
        self._writer.add_journal("step failed", step=step.number, trial=step.trial, error=str(error))
        self._progress.failed(step.number, error)

    def _measured(self, step: PlannedStep, trial: PreparedTrial) -> Measurement:
        """What the trial measured; its single I/Os go straight to the run directory."""
        with self._sink(step, trial) as sink:
            measured = self._instruments.measure(
                step.trial,
                trial.workload,
                trial.facts,
                stop=self._stop,
                progress=self._progress.goes_on,
                on_records=sink,
                drops_page_cache=trial.drops_page_cache,
                idle_watch_s=_IDLE_WATCH_S,
            )
        context = self._context(step, trial, measured)
        if not self._stop.is_set() and not failure_of(measured):
            context |= self._told_by_second_pass(step, trial, measured)
        return replace(measured, context=context)

    def _measured_together(
        self, steps: Sequence[PlannedStep], trials: Sequence[PreparedTrial]
    ) -> list[Measurement | DrivelabError]:
        """What trials measured that ran at the same time; there is no second pass, which could tell nothing of one."""
        progress = SummedProgress(self._progress.goes_on)
        with ExitStack() as sinks:
            members = [
                Member(
                    step.trial,
                    trial.workload,
                    trial.facts,
                    title=step.workload,
                    progress=progress.of(place),
                    on_records=sinks.enter_context(self._sink(step, trial)),
                    drops_page_cache=trial.drops_page_cache,
                )
                for place, (step, trial) in enumerate(zip(steps, trials, strict=True))
            ]
            found = self._instruments.measure_together(members, stop=self._stop, idle_watch_s=_IDLE_WATCH_S)
        kept: list[Measurement | DrivelabError] = []
        for step, trial, result in zip(steps, trials, found, strict=True):
            if isinstance(result, DrivelabError):
                kept.append(result)
                continue
            others = ", ".join(other.workload for other in steps if other is not step)
            reason = f"it ran together with {others}: alone it would do something else"
            told = no_second_pass(trial.workload, reason, is_traced=bool(self._plan.trace))
            kept.append(replace(result, context=self._context(step, trial, result) | told))
        return kept

    def _context(self, step: PlannedStep, trial: PreparedTrial, measured: Measurement) -> dict[str, Any]:
        """Everything that is known about a trial beside what was measured."""
        context = measured.context | trial.context | {"label": step.label} | self._session
        ask_drive = int(measured.engine.get("measured_ns", 0)) >= _ASK_DRIVE_NS
        changed = self._stages[step.target].changed_settings(step, ask_drive=ask_drive)
        return context | ({"settings_changed": changed} if changed else {})

    def _told_by_second_pass(self, step: PlannedStep, trial: PreparedTrial, measured: Measurement) -> dict[str, Any]:
        """What a traced pass, or one that counts commands, adds to the context."""
        if self._plan.is_file_needed_after(step):
            reason = "the next steps need its file as it is, and another pass would change it"
            return no_second_pass(trial.workload, reason, is_traced=bool(self._plan.trace))
        untraced: dict[str, Any] = {}
        if self._plan.trace and (reason := why_untraced(trial.workload)):
            untraced = {"trace": None, "trace_reason": reason}
        elif self._plan.trace and self._instruments.trace:
            self._progress.preparing(f"tracing {step.trial}")
            sink = self._writer.trace_sink(step.trial)
            source = None if self._plan.trace == "auto" else self._plan.trace
            return traced_pass(trial, measured, sink, self._instruments.trace, source=source, stop=self._stop)
        if counts_commands(trial.workload):
            self._progress.doing("counting its commands")
            return untraced | self._commands.of(step, trial, measured, self._stop)
        return untraced

    def _sink(self, step: PlannedStep, trial: PreparedTrial) -> AbstractContextManager[RecordListener | None]:
        if not trial.workload.record_ios:
            return nullcontext()
        if step.trial in self._completed:
            # it runs only because others need it beside them
            return nullcontext(lambda _records: None)
        return self._writer.record_sink(step.trial, open_loop=trial.workload.pacing.kind != "closed")

    def _keep(self, step: PlannedStep, trial: PreparedTrial, measured: Measurement, started_utc: str) -> None:
        summary, findings = self._instruments.judge.trial(measured, trial.facts)
        failure = failure_of(measured)
        place = TrialPlace(
            target=step.target,
            workload=step.workload,
            step=step.number,
            block=step.block,
            repeat=step.repeat,
            started_utc=started_utc,
            asked=step.levels,
            achieved=trial.achieved | measured.context.get("settings_changed", {}) | achieved_actions(measured.context),
            is_reference=step.is_reference,
            failure=failure.what if failure else "",
        )
        self._writer.add_trial(measured, summary, place=place, findings=findings)
        if failure is not None:
            self._fail(step, failure)
            return
        self._writer.add_journal("step done", step=step.number, trial=step.trial)
        self.outcome.completed += 1
        self.outcome.invalid += any(finding.severity == "invalid" for finding in findings)
        self._progress.done(step.number, summary)


def achieved_actions(context: Mapping[str, Any]) -> dict[str, str]:
    """What the actions before a trial came to, where they did not do all that was asked."""
    achieved = {}
    dropped = context.get("dropped_page_cache") or {}
    left = dropped.get("resident_bytes")
    if left:
        achieved["page-cache"] = f"partly: {format_bytes(left)} stayed"
    elif dropped.get("reason"):
        achieved["page-cache"] = f"not dropped: {dropped['reason']}"
    return achieved


def no_second_pass(workload: Workload, reason: str, *, is_traced: bool) -> dict[str, Any]:
    """Why there are neither commands nor a trace of a trial, for its context."""
    counts = {"command_counts": None, "command_counts_reason": reason} if counts_commands(workload) else {}
    return counts | ({"trace": None, "trace_reason": reason} if is_traced else {})


def failure_of(measured: Measurement) -> DrivelabError | None:
    """Why a trial that gave numbers failed all the same: I/O that the drive refused; None when it did not."""
    errors = measured.engine.get("errors") or ()
    if measured.engine.get("stopped_by") != "error" or not errors:
        return None
    first = errors[0]
    place = f"{'file' if measured.workload.tree else 'byte'} {first['first_offset_bytes']}"
    what = f"{first['operation']} failed with {first['name']} at {place}"
    do = "look at the kernel log: dmesg; what was measured until then is kept"
    return DrivelabError("R420", what, where=measured.workload.target.path, do=do)
