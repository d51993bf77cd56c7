"""Carries out a plan and keeps everything about it: the run directory around the execution."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drivelab import __version__
from drivelab.answers.rounds import stored_values
from drivelab.inventory.consent import NO_CONSENT, Consent
from drivelab.inventory.loop_target import resolve_measured
from drivelab.inventory.smart import read_all_smart
from drivelab.model.errors import DrivelabError, error_words
from drivelab.model.experiment import Experiment
from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.plan import Plan, PlannedTarget
from drivelab.model.setting import AS_FOUND
from drivelab.model.smart import SmartFacts
from drivelab.model.target import MADE_KINDS, TargetFacts
from drivelab.run.applied_settings import AppliedSettings
from drivelab.run.begun import begun
from drivelab.run.engine import StopRequest
from drivelab.run.execute import Execution, Instruments, Outcome
from drivelab.run.progress import RunProgress
from drivelab.run.settings_found import AS_THEY_WERE
from drivelab.run.simulated import SimulatedStage
from drivelab.run.stage import TargetStage
from drivelab.state.drive_lock import held_drives
from drivelab.state.journal import Journal, begin_journal, journal_directory
from drivelab.state.signals import signals_held
from drivelab.state.undo import undo_all
from drivelab.store.read import StoredRun, open_run
from drivelab.store.run_record import Facts
from drivelab.store.write import RunWriter, create_run

# of a drive its name, and what it said of itself before the run and after it
SmartReading = tuple[str, SmartFacts, SmartFacts]
# what is to be known about the targets, about each trial, and what only several trials can tell
JudgeRun = Callable[[Mapping[str, TargetFacts], StoredRun, Sequence[SmartReading]], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a run is conducted.

    Attributes
    ----------
    stop : StopRequest
        Ends the run within an interval once it is set.
    consent : Consent
        What the owner typed after ``--erase`` and ``--purge``.
    stops_on_error : bool
        Whether the first step that fails ends the run.
    facts : mapping of str to Any
        More keys for ``run.json``.
    files : mapping of str to bytes
        More files for the run's directory, by their name.
    """

    instruments: Instruments
    judge_run: JudgeRun
    progress: RunProgress
    stop: StopRequest
    host: HostFacts
    consent: Consent = NO_CONSENT
    command_line: str = ""
    stops_on_error: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def record_run(
    plan: Plan, experiment: Experiment, targets: Mapping[str, TargetFacts], parent: Path, conduct: Conduct
) -> tuple[Path, Outcome]:
    """The run directory of a plan that was carried out, and what became of it.

    Raises
    ------
    DrivelabError
        C201 to C210, R401, R406, R409, S501 to S503. What was measured until
        then is in the run directory all the same.
    """
    label = plan.targets[0].label if len(plan.targets) == 1 else f"{len(plan.targets)}-targets"
    with closing(create_run(parent, plan.experiment, label, datetime.now(UTC))) as writer:
        before = [_target_before(label, facts) for label, facts in targets.items()]
        record = begun(experiment.model_dump(mode="json"), before, conduct.host, conduct.command_line)
        writer.write_run_json({**record.to_json(), "plan": plan.to_json(), **conduct.facts})
        for name, contents in conduct.files.items():
            writer.add_file(name, contents)
        return writer.directory, _carry_out(plan, targets, writer, conduct, completed=())


def go_on_with_run(
    writer: RunWriter, plan: Plan, targets: Mapping[str, TargetFacts], conduct: Conduct, *, completed: Collection[str]
) -> Outcome:
    """What became of the rest of a plan whose run directory exists.

    Parameters
    ----------
    completed : collection of str
        Trials that are stored already.

    Raises
    ------
    DrivelabError
        As for `record_run`.
    """
    resumed = [*writer.record.resumed_utc, datetime.now(UTC).isoformat(timespec="milliseconds")]
    writer.write_run_json({"status": "running", "error": "", "resumed_utc": resumed, "resumed_with": __version__})
    return _carry_out(plan, targets, writer, conduct, completed=completed)


def _carry_out(
    plan: Plan,
    targets: Mapping[str, TargetFacts],
    writer: RunWriter,
    conduct: Conduct,
    *,
    completed: Collection[str],
) -> Outcome:
    run_directory = str(writer.directory.absolute())
    drives = [drive for facts in targets.values() for drive in facts.drives]
    varies = any(level != AS_FOUND for step in plan.steps for level in step.settings.values())
    erases = any(target.erase_arguments for target in plan.targets)
    # until the journal is closed; the steps themselves let signals through
    with signals_held():
        journal = begin_journal(journal_directory(), command=conduct.command_line, run=run_directory)
        try:
            with held_drives(drives, alone=varies or erases, by=f"run {writer.directory.name}"):
                return _executed(plan, targets, writer, conduct, journal, completed)
        finally:
            journal.close()


def _executed(
    plan: Plan,
    targets: Mapping[str, TargetFacts],
    writer: RunWriter,
    conduct: Conduct,
    journal: Journal,
    completed: Collection[str],
) -> Outcome:
    stages = TargetStages(plan, targets, journal, conduct)
    execution = Execution(
        plan,
        stages.by_label,
        writer,
        instruments=conduct.instruments,
        progress=conduct.progress,
        stop=conduct.stop,
        put_back=stages.put_back,
        completed=completed,
        session=_session(writer),
        stops_on_error=conduct.stops_on_error,
        stored=stored_values(open_run(writer.directory)) if completed and plan.phases else None,
    )
    status = "failed"
    try:
        with conduct.progress:
            outcome = execution.run()
        status = "interrupted" if outcome.is_interrupted or outcome.is_stopped else "complete"
    except BaseException as error:
        writer.write_run_json({"error": error_words(error)})
        raise
    finally:
        used = {label: stage.facts for label, stage in stages.by_label.items()}
        _finish(writer, execution.outcome, targets, used, conduct, status)
    return outcome


class TargetStages:
    """The targets of a plan while it is carried out, and everything about them that is put back.

    Parameters
    ----------
    plan, targets, conduct
        As for `record_run`.

    Attributes
    ----------
    by_label : dict of str to Stage
        The targets by their label in the plan.
    """

    def __init__(self, plan: Plan, targets: Mapping[str, TargetFacts], journal: Journal, conduct: Conduct) -> None:
        self._journal = journal
        self._settings = AppliedSettings(journal)
        self.by_label = {target.label: self._stage(target, targets[target.label], conduct) for target in plan.targets}

    def _stage(self, planned: PlannedTarget, facts: TargetFacts, conduct: Conduct) -> TargetStage | SimulatedStage:
        if facts.simulated is not None:
            return SimulatedStage(facts, conduct.progress, conduct.stop)
        return TargetStage(
            planned,
            facts,
            self._journal,
            settings=self._settings,
            consent=conduct.consent,
            progress=conduct.progress,
            stop=conduct.stop,
        )

    def put_back(self, outcome: Outcome) -> None:
        """Let go of the targets, undo every change, and say of settings whether they are as they were found."""
        try:
            for stage in self.by_label.values():
                outcome.findings += [Finding("file-not-left", "warning", text) for text in stage.release()]
        finally:
            try:
                outcome.restored += undo_all(self._journal)
            finally:
                self._compare_settings(outcome)

    def _compare_settings(self, outcome: Outcome) -> None:
        """Settings are read again, whatever the undo says."""
        if self._settings.found.is_empty:
            return
        left = self._settings.found.differences()
        outcome.restored += [] if left else [AS_THEY_WERE]
        advice = "somebody else has set it since, or it could not be put back: drivelab restore"
        outcome.findings += [Finding("setting-not-put-back", "warning", text, advice=advice) for text in left]


def _session(writer: RunWriter) -> dict[str, Any]:
    """Which part of the run this is, counted from 1, and on which boot of which kernel."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return {"session": 1 + len(writer.record.resumed_utc), "kernel_release": os.uname().release, "boot_id": boot}


def _target_before(label: str, facts: TargetFacts) -> dict[str, Any]:
    return {"label": label, "facts_before": facts.to_json(), "smart_before": _smart(facts)}


def _smart(facts: TargetFacts) -> list[dict[str, Any]]:
    """What each drive beneath a target says of itself."""
    return [smart.to_json() for smart in read_all_smart([drive for drive in facts.drives if drive.transport != "loop"])]


def _finish(
    writer: RunWriter,
    outcome: Outcome,
    targets: Mapping[str, TargetFacts],
    used: Mapping[str, TargetFacts],
    conduct: Conduct,
    status: str,
) -> None:
    run = open_run(writer.directory)
    record = writer.record
    before = {target.get("label"): target for target in record.targets}
    failures = dict(record.failures) | {trial: str(error) for trial, error in outcome.failures.items()}
    completed = run.completed_trials()
    after = [_target_after(before.get(label, {}), label, facts, targets[label]) for label, facts in used.items()]
    called = {label: _called(label, facts) for label, facts in used.items()}
    outcome.findings += conduct.judge_run(called, run, _readings(after))
    writer.finish(
        outcome.findings,
        status=status,
        targets=after,
        failures={trial: error for trial, error in failures.items() if trial not in completed},
        restored=[*record.restored, *outcome.restored],
    )


def _called(label: str, facts: TargetFacts) -> TargetFacts:
    """A simulated drive as the plan calls it, for two of a model are two drives; any other as it is."""
    return replace(facts, text=label) if facts.simulated is not None else facts


def _target_after(before: Facts, label: str, used: TargetFacts, asked: TargetFacts) -> dict[str, Any]:
    """The target as it was used and as it is now: temperature and wear have changed; what was made is gone."""
    if asked.kind in MADE_KINDS:
        # one that was not made this time is reported as it was when it was
        made = {} if used is asked and before else {"facts_before": used.to_json()}
        return {**before, "label": label, **made, "facts_after": None, "smart_after": _smart(asked)}
    try:
        after = resolve_measured(asked.text)
    except DrivelabError:
        # it vanished during the run, which its steps have told
        return {**before, "label": label, "facts_after": None, "smart_after": []}
    return {**before, "label": label, "facts_after": after.to_json(), "smart_after": _smart(after)}


def _readings(targets: Sequence[dict[str, Any]]) -> list[SmartReading]:
    """What each drive said of itself before and after the run, each drive once."""
    found = {}
    for target in targets:
        before = {smart.get("drive"): smart for smart in target.get("smart_before", ())}
        for smart in target.get("smart_after", ()):
            if smart.get("drive") in before:
                first = SmartFacts.from_json(before[smart["drive"]])
                found[smart["drive"]] = (smart["drive"], first, SmartFacts.from_json(smart))
    return list(found.values())
