"""Carries out a check and keeps everything about it: a plan, whose files leave nothing behind.

A failed trial ends itself and nothing else; what was measured is kept. When
the layout of the working file was cut short by its time limit, the trials that
follow use what was written of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drivelab import __version__
from drivelab.inventory.host import host_facts
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.model.metric import ROUND_TRIP
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.programs import PROGRAMS
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import TargetRange, Workload
from drivelab.plan.check import LAYOUT, MIB, CheckPlan
from drivelab.run.begun import begun
from drivelab.run.counting_pass import command_counts
from drivelab.run.engine import StopRequest, prepare_target, round_trip_ns
from drivelab.run.execute import Execution, Instruments, Judge, Outcome
from drivelab.run.measure import IDLE_WATCH_S, measure
from drivelab.run.page_cache import drop_from_page_cache
from drivelab.run.prepared_trial import PreparedTrial, Stage, StoppedError
from drivelab.run.process_owner import owner_tag
from drivelab.run.progress import RunProgress
from drivelab.run.simulated import SimulatedDrive
from drivelab.run.work_area import WorkArea, can_preallocate, direct_io_refusal, work_area
from drivelab.state.held_device import held_if_device
from drivelab.state.working_files import files_in_journal, tree_in_journal
from drivelab.store.write import RunWriter

# time of a simulated drive between two trials
_IDLE_NS = 30_000_000_000
# trials before which round trips are made
_LOG_WRITES = frozenset(program.write.trial for program in PROGRAMS.values())


@dataclass(slots=True)
class CheckResults:
    """What a check came to so far.

    Attributes
    ----------
    outcome : Outcome
        What became of the trials.
    direct_reason : str
        Why direct I/O was not used; empty when it was.
    removed_leftovers : tuple of str
        Working files of killed checks that were found and removed.
    findings : list of Finding
        About single trials.
    """

    outcome: Outcome = field(default_factory=Outcome)
    direct_reason: str = ""
    removed_leftovers: tuple[str, ...] = ()
    measurements: list[Measurement] = field(default_factory=list)
    summaries: list[TrialSummary] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def put_in_order(self, plan: Plan) -> None:
        """Have the trials in the order in which they began; those of several windows were complete later."""
        begun = list(dict.fromkeys(step.trial for step in plan.steps))
        self.measurements.sort(key=lambda one: begun.index(one.name))
        self.summaries.sort(key=lambda one: begun.index(one.name))


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
    tags: Mapping[str, str] | None = None,
) -> CheckResults:
    """What every trial of a check came to; each is in the run directory as soon as it is done.

    Parameters
    ----------
    writer : RunWriter
        The run directory; the caller finishes it.
    stop : StopRequest
        Ends the check within an interval; the trial in flight is kept.
    erase : sequence of str
        What the owner typed after ``--erase``; needed when the plan writes to a block device.

    Raises
    ------
    DrivelabError
        C201 to C209: the device may not be written to, or not any more. R451: no working file can be made.
        T107: the target vanished. S501 to S503. Others when not a single trial could be measured.
    """
    before = [{"label": target.place, "facts_before": target.to_json(), "facts_after": None}]
    record = begun({"name": plan.plan.experiment}, before, host_facts(__version__), command_line)
    record = replace(record, title=f"Check of {target.place}", question=plan.plan.question, plan=plan.to_json())
    record = replace(record, tags=tags or {})
    writer.write_run_json(record.to_json())
    results = CheckResults()

    def judged(measured: Measurement, facts: TargetFacts) -> tuple[TrialSummary, Sequence[Finding]]:
        summary, findings = judge(measured, facts)
        results.measurements.append(measured)
        results.summaries.append(summary)
        results.findings += findings
        return summary, findings

    with _stage(plan, target, results, progress, stop, erase) as stage:
        execution = Execution(
            plan.plan,
            {target.place: stage},
            writer,
            instruments=Instruments(measure, command_counts, judged),
            progress=progress,
            stop=stop,
            idle_watch_s=IDLE_WATCH_S,
            is_resumable=False,
        )
        results.outcome = execution.run()
    results.put_in_order(plan.plan)
    if not results.summaries and results.outcome.failures:
        raise next(iter(results.outcome.failures.values()))
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
        "removed_leftovers": list(results.removed_leftovers),
    }


@contextmanager
def files_of_check(plan: CheckPlan, target: TargetFacts, command_line: str) -> Iterator[None]:
    """While the context lasts, `drivelab restore` knows of the working files, should the check be killed."""
    with ExitStack() as journals:
        if target.kind == "directory":
            journals.enter_context(files_in_journal(target.path, owner_tag(), command_line))
        if any(step.pattern.uses_tree for step in plan.plan.steps):
            journals.enter_context(tree_in_journal(target.path, command_line))
        yield


@contextmanager
def _stage(
    plan: CheckPlan,
    target: TargetFacts,
    results: CheckResults,
    progress: RunProgress,
    stop: StopRequest,
    erase: Sequence[str],
) -> Iterator[Stage]:
    if target.simulated is not None:
        yield _OnSimulatedDrive(target, results)
        return
    if target.kind == "block_device" or not plan.may_write:
        with held_if_device(target, erase=erase if plan.may_write else None):
            yield _InPlace(target, results)
        return
    with work_area(Path(target.path)) as area:
        results.removed_leftovers = area.removed_leftovers
        yield _InWorkingFiles(target, results, area, progress, stop)


class _CheckStage(Stage):
    """What is checked: the trials after the layout use what that has written."""

    def __init__(self, facts: TargetFacts, results: CheckResults) -> None:
        super().__init__(facts)
        self._results = results
        # of the range that was laid out
        self._written_bytes = 0

    @abstractmethod
    def _workload(self, step: PlannedStep, size_bytes: int) -> Workload:
        """The step's workload on so many bytes."""

    def prepare(self, step: PlannedStep) -> PreparedTrial:
        """The trial on its path, buffered if it has to be.

        Raises
        ------
        DrivelabError
            R451, R454, R459, T107: there is no file for it.
        """
        uses_laid_out = step.file_name and step.trial != LAYOUT
        workload = self._workload(step, (uses_laid_out and self._written_bytes) or step.pattern.file_size)
        lost_direct = step.pattern.direct and not workload.direct
        context = {"direct_reason": self._results.direct_reason if lost_direct else ""}
        return PreparedTrial(workload, self.facts, {}, context)

    def tidy(self, trial: PreparedTrial, measured: Measurement | None, /) -> None:
        """Note how much the layout has written, in whole MiB: ramp and drain count, too."""
        if measured is not None and measured.name == LAYOUT:
            moved = int(measured.engine["all_phases"].get("write", {}).get("bytes", 0))
            self._written_bytes = min(moved, trial.workload.target.size_bytes) // MIB * MIB

    def failure(self, error: DrivelabError | FileNotFoundError) -> DrivelabError:
        """Why a trial failed: the target itself may be gone."""
        if Path(self.facts.path).exists():
            return super().failure(error)
        do = "check a target that stays" if self.facts.kind == "directory" else ""
        return DrivelabError("T107", f"{self.facts.path} vanished during the check", where=self.facts.text, do=do)


class _InPlace(_CheckStage):
    """The target itself, which is its owner's: an existing file, or a block device."""

    def __init__(self, facts: TargetFacts, results: CheckResults) -> None:
        super().__init__(facts, results)
        results.direct_reason = direct_io_refusal(Path(facts.path))

    def _workload(self, step: PlannedStep, size_bytes: int) -> Workload:
        pattern = step.pattern
        if not pattern.writes and self._results.direct_reason:
            drop_from_page_cache(self.facts.path)
        target = TargetRange(path=self.facts.path, size_bytes=size_bytes, exclusive=pattern.writes)
        workload = pattern.on(target, seed=step.seed)
        return workload.model_copy(update={"direct": pattern.direct and not self._results.direct_reason})


class _OnSimulatedDrive(_CheckStage):
    """A simulated drive, made for the check and gone with it."""

    def __init__(self, facts: TargetFacts, results: CheckResults) -> None:
        super().__init__(facts, results)
        assert facts.simulated is not None
        self._drive = SimulatedDrive(facts.simulated, seed=1)

    def _workload(self, step: PlannedStep, size_bytes: int) -> Workload:
        workload = step.pattern.on(TargetRange(path=self.facts.path, size_bytes=size_bytes), seed=step.seed)
        # it is reached without the kernel, so that one interface is as good as the other
        return workload.model_copy(update={"backend": "auto"})

    def prepare(self, step: PlannedStep) -> PreparedTrial:
        """The trial, measured in the drive's own time once it has written what it was given before."""
        if step.window == 1:
            self._drive.engine.rest(_IDLE_NS)
        return replace(super().prepare(step), measure=self._drive.measure)

    def failure(self, error: DrivelabError | FileNotFoundError) -> DrivelabError:
        """Why a trial failed; the drive can't vanish."""
        return Stage.failure(self, error)


class _InWorkingFiles(_CheckStage):
    """Working files in a directory."""

    def __init__(
        self, facts: TargetFacts, results: CheckResults, area: WorkArea, progress: RunProgress, stop: StopRequest
    ) -> None:
        super().__init__(facts, results)
        self._area = area
        self._progress = progress
        self._stop = stop
        self._current: Path | None = None
        self._laid_out: Path | None = None
        # what windows of a trial overwrite, and the trial that has another window to come
        self._overwritten: dict[str, Path] = {}
        self._goes_on = ""

    def _workload(self, step: PlannedStep, size_bytes: int) -> Workload:
        if step.pattern.uses_tree:
            return self._on_tree(step)
        is_new = not step.file_name or step.trial == LAYOUT
        if is_new:
            self._current = self._overwritten.pop(step.trial, None) or self._area.new_file()
            self._goes_on = step.trial if step.pattern.file_state == "overwrite" and not step.ends_trial else ""
            found = direct_io_refusal(self._area.file(self._current).reopened)
            self._results.direct_reason = self._results.direct_reason or found
        path = self._current if is_new else self._laid_out
        if path is None:
            raise DrivelabError("R454", f"{step.trial} has no data to work on", where=str(self._area.directory))
        file = self._area.file(path)
        direct = step.pattern.direct and not self._results.direct_reason
        if self._results.direct_reason and not step.pattern.writes:
            drop_from_page_cache(str(file.reopened))
        target = TargetRange(path=str(path), size_bytes=size_bytes, create=is_new, held=file.target)
        workload = step.pattern.on(target, seed=step.seed).model_copy(update={"direct": direct})
        if workload.file_state == "preallocated" and not can_preallocate(file.reopened):
            return workload.model_copy(update={"file_state": "sparse"})
        return workload

    def _on_tree(self, step: PlannedStep) -> Workload:
        target = TargetRange(path=str(self._area.directory), held=self._area.held_for_tree())
        workload = step.pattern.on(target, seed=step.seed)
        self._progress.doing("making its files")
        prepare_target(workload, stop=self._stop)
        if self._stop.is_set():
            raise StoppedError
        return workload

    def changed_settings(self, step: PlannedStep, _ask_drive: bool, /) -> dict[str, str]:
        """None, if what was measured still bears its name."""
        path = self._current or self._laid_out
        if path is not None and not step.pattern.uses_tree:
            self._area.file(path)
        return {}

    def prepare(self, step: PlannedStep) -> PreparedTrial:
        """The trial; before the log writes of a program also what this computer takes for a commit beside them."""
        is_asked = step.trial in _LOG_WRITES and step.window == 1
        round_trip = {ROUND_TRIP: self._round_trip_ns()} if is_asked else {}
        prepared = super().prepare(step)
        return replace(prepared, context=prepared.context | round_trip)

    def _round_trip_ns(self) -> float | None:
        log = self._area.new_file()
        try:
            return round_trip_ns(str(self._area.file(log).reopened))
        except OSError:
            # the log writes themselves will fail, and say so
            return None
        finally:
            self._area.remove(log)

    def tidy(self, trial: PreparedTrial, measured: Measurement | None, /) -> None:
        """Remove what the trial alone used; what was laid out stays."""
        super().tidy(trial, measured)
        if trial.workload.tree is not None:
            self._area.remove_tree()
        current, self._current = self._current, None
        if measured is not None and measured.name == LAYOUT and self._written_bytes:
            self._laid_out, current = current, None
        if current is not None and self._goes_on and measured is not None:
            self._overwritten[self._goes_on], current = current, None
        if current is not None:
            self._area.remove(current)
