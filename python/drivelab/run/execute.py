"""Executes a plan: the only place where its steps become changes and I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import Workload
from drivelab.run.engine import ProgressListener, RecordListener, StopRequest
from drivelab.run.progress import RunProgress
from drivelab.run.stage import PreparedTrial, StoppedError, TargetStage
from drivelab.state.journal import Journal
from drivelab.state.undo import undo_all
from drivelab.store.place import TrialPlace
from drivelab.store.write import RunWriter

# a failure of these kinds would meet every later step too: the run directory, consent, root, the journal
_ENDS_THE_RUN = ("S", "C", "R401", "R406", "R409")
# larger writes are split by the kernel, and a pass that counts their commands would write a great deal
_COUNTED_BLOCK_BYTES_MAX = 2**20


class Measure(Protocol):
    """Measures one trial: `drivelab.run.measure.measure`."""

    def __call__(
        self,
        name: str,
        workload: Workload,
        target: TargetFacts,
        *,
        stop: StopRequest,
        progress: ProgressListener | None = None,
        on_records: RecordListener | None = None,
    ) -> Measurement:
        """What the trial measured."""
        ...


class CountCommands(Protocol):
    """Counts the commands of a synchronous workload: `drivelab.run.counting_pass.command_counts`."""

    def __call__(
        self,
        workload: Workload,
        target: TargetFacts,
        *,
        timed_operations: int,
        timed_devices: tuple[DeviceCounts, ...],
        stop: StopRequest | None = None,
    ) -> dict[str, Any]:
        """What is added to the measurement's context."""
        ...


class Judge(Protocol):
    """Turns what was measured into numbers and findings."""

    def trial(self, measured: Measurement, facts: TargetFacts) -> tuple[TrialSummary, Sequence[Finding]]:
        """The trial's numbers, and what is to be known about it."""
        ...

    def run(self, targets: Sequence[TargetFacts], summaries: Sequence[TrialSummary]) -> Sequence[Finding]:
        """What is to be known about the targets, and what only several trials can tell."""
        ...


@dataclass(frozen=True, slots=True)
class Instruments:
    """What a plan is executed with: how a trial is measured, its commands counted, and its numbers judged."""

    measure: Measure
    count_commands: CountCommands
    judge: Judge


@dataclass(slots=True)
class Outcome:
    """What became of a plan.

    Attributes
    ----------
    summaries : dict of str to TrialSummary
        Of the trials that were completed, by name.
    findings : list of Finding
        About them, and about the targets.
    failures : dict of str to DrivelabError
        Why steps failed, by trial.
    restored : list of str
        What was put back in the end, in words.
    is_interrupted : bool
        Whether the user asked for the end before the last step.
    """

    summaries: dict[str, TrialSummary] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    failures: dict[str, DrivelabError] = field(default_factory=dict)
    restored: list[str] = field(default_factory=list)
    is_interrupted: bool = False


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
    erase : sequence of str
        What the owner typed after ``--erase``.

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
        erase: Sequence[str] = (),
    ) -> None:
        self.outcome = Outcome()
        self._plan = plan
        self._writer = writer
        self._journal = journal
        self._instruments = instruments
        self._progress = progress
        self._stop = stop
        self._stages = {
            target.label: TargetStage(target, targets[target.label], journal, erase=erase, progress=progress, stop=stop)
            for target in plan.targets
        }

    def run(self) -> Outcome:
        """Do every step; each completed trial is in the run directory.

        Raises
        ------
        DrivelabError
            C201 to C209, R401, R406, R409, S501 to S503: nothing that follows
            could go better. Any other failure ends its own step only.

        Notes
        -----
        However it ends, everything that was changed is put back before it
        returns. A trial in flight when the user asks for the end is not kept.
        """
        try:
            for step in self._plan.steps:
                if self._stop.is_set():
                    break
                self._run_step(step)
        finally:
            self.outcome.is_interrupted = self._stop.is_set()
            # a target tells what its numbers mean once it is made
            notes = [note for stage in self._stages.values() for note in stage.notes]
            self.outcome.findings += [Finding("target-note", "note", note) for note in notes]
            self.outcome.findings += self._instruments.judge.run(
                list(self.target_facts().values()), list(self.outcome.summaries.values())
            )
            self._progress.preparing("putting everything back")
            self.outcome.restored += undo_all(self._journal)
        return self.outcome

    def target_facts(self) -> dict[str, TargetFacts]:
        """The targets as they were used, by label: a scratch drive as it was made."""
        return {label: stage.facts for label, stage in self._stages.items()}

    def _run_step(self, step: PlannedStep) -> None:
        self._progress.step_begins(step)
        self._writer.add_journal("step begun", step=step.number, trial=step.trial)
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        stage = self._stages[step.target]
        try:
            trial = stage.prepare(step)
            try:
                measured = self._measured(step, trial)
            finally:
                stage.tidy(trial)
        except StoppedError:
            return
        except DrivelabError as error:
            if error.code.startswith(_ENDS_THE_RUN):
                raise
            self.outcome.failures[step.trial] = error
            self._writer.add_journal("step failed", step=step.number, trial=step.trial, error=str(error))
            self._progress.step_failed(step, error)
            return
        if self._stop.is_set():
            return
        self._keep(step, trial, measured, started)

    def _measured(self, step: PlannedStep, trial: PreparedTrial) -> Measurement:
        """What the trial measured; its single I/Os go straight to the run directory."""
        measure, going_on = self._instruments.measure, self._progress.step_goes_on
        if trial.workload.record_ios:
            with self._writer.record_sink(step.trial, open_loop=trial.workload.pacing.kind != "closed") as sink:
                measured = measure(
                    step.trial, trial.workload, trial.facts, stop=self._stop, progress=going_on, on_records=sink
                )
        else:
            measured = measure(step.trial, trial.workload, trial.facts, stop=self._stop, progress=going_on)
        context = measured.context | {"label": step.label}
        if counts_commands(trial.workload) and not self._stop.is_set():
            context |= self._instruments.count_commands(
                trial.workload,
                trial.facts,
                timed_operations=int(measured.engine["all_phases"].get("write", {}).get("count", 0)),
                timed_devices=measured.devices,
                stop=self._stop,
            )
        return replace(measured, context=context)

    def _keep(self, step: PlannedStep, trial: PreparedTrial, measured: Measurement, started_utc: str) -> None:
        summary, findings = self._instruments.judge.trial(measured, trial.facts)
        place = TrialPlace(
            target=step.target,
            workload=step.workload,
            step=step.number,
            block=step.block,
            repeat=step.repeat,
            started_utc=started_utc,
            asked=step.levels,
            achieved=trial.achieved,
        )
        self._writer.add_trial(measured, summary, place=place, findings=findings)
        self._writer.add_journal("step done", step=step.number, trial=step.trial)
        self.outcome.summaries[step.trial] = summary
        self.outcome.findings += findings
        self._progress.step_done(step, summary)


def counts_commands(workload: Workload) -> bool:
    """Whether the commands behind each operation decide what its latency means."""
    largest = max(share.bytes for share in workload.block_sizes)
    return workload.writes and workload.durability.method != "none" and largest <= _COUNTED_BLOCK_BYTES_MAX
