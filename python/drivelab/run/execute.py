"""Executes a plan: the only place where its steps become changes and I/O."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.lasting_rate import TELL_WHAT_LASTS, as_it_lasts, lasting_rates
from drivelab.model.measurement import Measurement
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.run.actions import achieved_actions
from drivelab.run.commands_of_cells import CommandsOfCells, counts_commands, no_second_pass
from drivelab.run.engine import RecordListener, StopRequest
from drivelab.run.failed_io import failure_of
from drivelab.run.prepared_trial import PreparedTrial, Stage, StoppedError
from drivelab.run.progress import RunProgress, until_enough
from drivelab.run.rounds import RoundsUnderWay
from drivelab.run.windows_under_way import MeasuredTrial, WindowsUnderWay
from drivelab.state.signals import signals_held, signals_obeyed
from drivelab.store.place import TrialPlace
from drivelab.store.write import RunWriter

if TYPE_CHECKING:
    from drivelab.run.traced_pass import TraceTools

# a failure of these kinds would meet every later step too: the run directory, consent, root, the journal
_ENDS_THE_RUN = ("S", "C", "R401", "R406", "R409")
# and these where nobody goes on with it: the target is gone, or refuses, which leaves what was measured before
_ENDS_WHAT_IS_NOT_RESUMED = (*_ENDS_THE_RUN, "T107")
_REFUSES = ("E302", "E303", "E305")
# long enough to notice a busy drive; what it does in the trial itself is counted beside it
IDLE_WATCH_S = 0.01
# a drive is asked for its settings again after trials that are long beside the asking
_ASK_DRIVE_NS = 1_000_000_000
# the numbers of a trial, and what is to be known about it
Judge = Callable[[Measurement, TargetFacts], tuple[TrialSummary, Sequence[Finding]]]


@dataclass(frozen=True, slots=True)
class Instruments:
    """What a plan is executed with; replaced in tests.

    Attributes
    ----------
    measure, count_commands : callable
        `drivelab.run.measure.measure`, and `drivelab.run.counting_pass.command_counts`; None: no pass follows a trial.
    judge : callable
        Turns what was measured into numbers and findings.
    trace : TraceTools, optional
        A plan without traces needs none.
    measure_together : callable, optional
        Else that of `drivelab.run.measure_together`.
    """

    measure: Callable[..., Measurement]
    count_commands: Callable[..., dict[str, Any]] | None
    judge: Judge
    trace: TraceTools | None = None
    measure_together: Callable[..., Sequence[Measurement | DrivelabError]] | None = None


@dataclass(slots=True)
class Outcome:
    """What became of a plan.

    Attributes
    ----------
    completed : int
        Trials that were completed and stored.
    invalid : int
        Those of them whose numbers do not describe the drive.
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
    stages : mapping of str to Stage
        Where the trials of each target get ready, by its label in the plan.
    writer : RunWriter
        Takes every trial as soon as it is done.
    stop : StopRequest
        Ends the run within an interval once it is set.
    put_back : callable, optional
        Undoes what the stages have changed, however the run ends, and completes the outcome.
    completed : collection of str
        Trials of the plan that are stored already: their steps are not done again.
    stops_on_error : bool
        Whether the first step that fails ends the run.
    session : mapping, optional
        Stored with each trial: ``session``, how often the run was begun or
        resumed, from 1, and which kernel and boot that was.
    is_resumable : bool
        Whether what is cut off or fails is measured again by whoever goes on with the run. Where nobody does, a trial
        counts also when it was cut off, or when I/O in it failed.
    idle_watch_s : float
        How long to watch for the work of others before each trial.
    stored : mapping of str to mapping of str to float, optional
        What was measured of the completed trials; a plan with phases decides by it.

    Attributes
    ----------
    outcome : Outcome
        Filled as the run goes on: what a caller still has when `run` raises.
    """

    def __init__(
        self,
        plan: Plan,
        stages: Mapping[str, Stage],
        writer: RunWriter,
        *,
        instruments: Instruments,
        progress: RunProgress,
        stop: StopRequest,
        put_back: Callable[[Outcome], None] | None = None,
        completed: Collection[str] = (),
        stops_on_error: bool = False,
        session: Mapping[str, Any] | None = None,
        is_resumable: bool = True,
        idle_watch_s: float = IDLE_WATCH_S,
        stored: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        self.outcome = Outcome()
        self._plan = plan
        self._writer = writer
        self._stages = stages
        self._instruments = instruments
        self._progress = progress
        self._stop = stop
        self._put_back = put_back
        self._completed = completed
        self._stops_on_error = stops_on_error
        self._session = dict(session or {"session": 1})
        self._commands = instruments.count_commands and CommandsOfCells(instruments.count_commands)
        self._is_resumable = is_resumable
        self._idle_watch_s = idle_watch_s
        self._rounds = RoundsUnderWay(plan, stored or {})
        self._windows = WindowsUnderWay()

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
        returns. A trial in flight when the user asks for the end is kept where nobody can go on with the run.
        """
        with signals_held():
            try:
                with signals_obeyed(), self._windows.kept_by(self._keep):
                    self._run_all_steps()
            finally:
                self._put_everything_back()
        return self.outcome

    def _run_all_steps(self) -> None:
        for steps in self._plan.units:
            failures = self.outcome.failures.values()
            self.outcome.is_stopped = self._stops_on_error and bool(failures)
            refuses = not self._is_resumable and any(error.code in _REFUSES for error in failures)
            if self._stop.is_set() or self.outcome.is_stopped or refuses:
                break
            if all(step.trial in self._completed for step in steps):
                continue
            # of a trial in several windows one that failed is enough
            if self._rounds.are_needed(steps) and not (len(steps) == 1 and steps[0].trial in self.outcome.failures):
                self._run_steps(steps)
            else:
                self._progress.not_needed([steps[0].number])

    def _put_everything_back(self) -> None:
        try:
            self.outcome.is_interrupted = self._stop.is_set()
            # a target tells what its numbers mean once it is made
            notes = [note for stage in self._stages.values() for note in stage.notes]
            self.outcome.findings += [Finding("target-note", "note", note) for note in notes]
        finally:
            if self._put_back is not None:
                self._progress.preparing("putting everything back")
                self._put_back(self.outcome)

    def _run_steps(self, steps: Sequence[PlannedStep]) -> None:
        """Measure one step, or several at the same time."""
        self._progress.begins(steps[0].number)
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        trials: list[PreparedTrial] = []
        found: Sequence[Measurement | DrivelabError] = []
        try:
            try:
                for step in steps:
                    trials.append(self._stages[step.target].prepare(self._rounds.taking_over(step)))
                is_alone = len(steps) == 1
                found = [self._measured(steps[0], trials[0])] if is_alone else self._measured_together(steps, trials)
            finally:
                results = itertools.chain(found, itertools.repeat(None))
                for step, trial, result in zip(steps, trials, results, strict=False):
                    self._stages[step.target].tidy(trial, result if isinstance(result, Measurement) else None)
        except StoppedError:
            return
        except (DrivelabError, FileNotFoundError) as failed:
            error = self._stages[steps[len(trials) - 1 if trials else 0].target].failure(failed)
            if error.code.startswith(_ENDS_THE_RUN if self._is_resumable else _ENDS_WHAT_IS_NOT_RESUMED):
                raise error from (None if error is failed else failed)
            found = [error] * len(steps)
        if self._stop.is_set() and self._is_resumable:
            return
        for place, (step, result) in enumerate(zip(steps, found, strict=True)):
            # of several at the same time some may be stored since an earlier session
            if step.trial in self._completed:
                continue
            if isinstance(result, DrivelabError):
                self._fail(step, result)
            # what was ended before it was measured is no trial
            elif result.engine.get("measured_ns") or not self._stop.is_set():
                self._take_window(MeasuredTrial(step, trials[place], result, started))

    def _take_window(self, window: MeasuredTrial) -> None:
        self._windows.take(window)
        if window.step.ends_trial:
            self._keep(self._windows.joined(window.step.trial), window.step.number)
        else:
            self._progress.window_done(window.step.number)

    def _fail(self, step: PlannedStep, error: DrivelabError) -> None:
        self.outcome.failures[step.trial] = error
        self._writer.add_journal("step failed", step=step.number, trial=step.trial, error=str(error))
        self._progress.failed(step.number, error)

    def _measured(self, step: PlannedStep, trial: PreparedTrial) -> Measurement:
        """What the trial measured; its single I/Os go straight to the run directory."""
        real = partial(
            self._instruments.measure, drops_page_cache=trial.drops_page_cache, idle_watch_s=self._idle_watch_s
        )
        with self._sink(step, trial) as sink:
            measured = (trial.measure or real)(
                step.trial,
                trial.workload,
                trial.facts,
                stop=self._stop,
                progress=until_enough(self._progress.goes_on, trial.workload, step.pattern),
                on_records=sink,
            )
        context = self._context(step, trial, measured)
        if step.ends_trial and not self._stop.is_set() and not failure_of(measured):
            context |= self._told_by_second_pass(step, trial, measured)
        return replace(measured, context=context)

    def _measured_together(
        self, steps: Sequence[PlannedStep], trials: Sequence[PreparedTrial]
    ) -> list[Measurement | DrivelabError]:
        """What trials measured that ran at the same time; there is no second pass, which could tell nothing of one."""
        # imported here: in most plans nothing runs at the same time
        from drivelab.run.measure_together import measure_together
        from drivelab.run.together import Member, SummedProgress

        progress = SummedProgress(self._progress.goes_on)
        with ExitStack() as sinks:
            members = [
                Member(
                    step.trial,
                    trial.workload,
                    trial.facts,
                    title=step.workload,
                    progress=until_enough(progress.of(place), trial.workload, step.pattern),
                    on_records=sinks.enter_context(self._sink(step, trial)),
                    drops_page_cache=trial.drops_page_cache,
                )
                for place, (step, trial) in enumerate(zip(steps, trials, strict=True))
            ]
            measure = self._instruments.measure_together or measure_together
            found = measure(members, stop=self._stop, idle_watch_s=self._idle_watch_s)
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
        if step.phase and self._plan.phase(step.phase).track:
            context["judged_by_rounds"] = step.phase
        ask_drive = int(measured.engine.get("measured_ns", 0)) >= _ASK_DRIVE_NS
        changed = self._stages[step.target].changed_settings(step, ask_drive)
        return context | ({"settings_changed": changed} if changed else {})

    def _told_by_second_pass(self, step: PlannedStep, trial: PreparedTrial, measured: Measurement) -> dict[str, Any]:
        """What a traced pass, or one that counts commands, adds to the context."""
        if trial.facts.simulated is not None:
            reason = "the drive is simulated: no block layer counts its commands, and its own counters are exact"
            return no_second_pass(trial.workload, reason, is_traced=bool(self._plan.trace))
        if self._plan.is_file_needed_after(step):
            reason = "the next steps need its file as it is, and another pass would change it"
            return no_second_pass(trial.workload, reason, is_traced=bool(self._plan.trace))
        # imported here: most runs trace nothing
        from drivelab.run.traced_pass import traced_pass, why_untraced

        untraced: dict[str, Any] = {}
        if self._plan.trace and (reason := why_untraced(trial.workload)):
            untraced = {"trace": None, "trace_reason": reason}
        elif self._plan.trace and self._instruments.trace:
            self._progress.preparing(f"tracing {step.trial}")
            sink = self._writer.trace_sink(step.trial)
            source = None if self._plan.trace == "auto" else self._plan.trace
            return traced_pass(trial, measured, sink, self._instruments.trace, source=source, stop=self._stop)
        if self._commands is None:
            return untraced | no_second_pass(trial.workload, "no pass of its own was asked for", is_traced=False)
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
        return self._writer.record_sink(step.trial, open_loop=trial.workload.is_open_loop)

    def _keep(self, found: MeasuredTrial, ended_by: int = 0) -> None:
        step, trial, measured = found.step, found.trial, found.measured
        summary, findings = self._instruments.judge(measured, trial.facts)
        failure = failure_of(measured) if self._is_resumable else None
        place = TrialPlace(
            target=step.target,
            workload=step.workload,
            step=step.number,
            block=step.block,
            repeat=step.repeat,
            started_utc=found.started_utc,
            asked=step.levels,
            achieved=trial.achieved | measured.context.get("settings_changed", {}) | achieved_actions(measured.context),
            is_reference=step.is_reference,
            failure=failure.what if failure else "",
        )
        self._writer.add_trial(measured, summary, place=place, findings=findings)
        if failure is not None:
            self._fail(step, failure)
            return
        self._progress.not_needed(self._rounds.note(step, measured, summary))
        self._writer.add_journal("step done", step=step.number, trial=step.trial)
        self.outcome.completed += 1
        self.outcome.invalid += any(finding.severity == "invalid" for finding in findings)
        if self._plan.experiment in TELL_WHAT_LASTS and lasting_rates(findings):
            # latencies are those of the cache
            lasting = as_it_lasts(summary.estimates, findings)
            rates = {name: one for name, one in lasting.items() if name in (THROUGHPUT, RATE)}
            summary = replace(summary, estimates=rates)
        self._progress.done(ended_by or step.number, summary)
