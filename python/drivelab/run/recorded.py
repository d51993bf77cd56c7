"""Carries out a plan and keeps everything about it: the run directory around the execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drivelab import __version__
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.host import HostFacts
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.run.engine import StopRequest, probe_engine
from drivelab.run.execute import Execution, Instruments, Outcome
from drivelab.run.progress import RunProgress
from drivelab.state.journal import begin_journal, journal_directory
from drivelab.state.undo import signals_held
from drivelab.store.write import RunWriter, create_run


def record_run(
    plan: Plan,
    experiment: Experiment,
    targets: Mapping[str, TargetFacts],
    parent: Path,
    *,
    instruments: Instruments,
    progress: RunProgress,
    stop: StopRequest,
    host: HostFacts,
    erase: Sequence[str] = (),
    command_line: str = "",
) -> tuple[Path, Outcome]:
    """The run directory of a plan that was carried out, and what became of it.

    Parameters
    ----------
    plan, experiment, targets
        What to do, what it came from, and the targets by their label.
    parent : Path
        Where the run directory is made.
    instruments, progress, stop, erase
        As for `drivelab.run.execute.Execution`.
    host : HostFacts
        The computer that measures.
    command_line : str
        What was typed, for the record.

    Raises
    ------
    DrivelabError
        C201 to C209, R401, R406, R409, S501 to S503. What was measured until
        then is in the run directory all the same.
    """
    label = plan.targets[0].label if len(plan.targets) == 1 else f"{len(plan.targets)}-targets"
    writer = create_run(parent, plan.experiment, label, datetime.now(UTC))
    writer.write_run_json(_facts_before(plan, experiment, host, command_line))
    journal = begin_journal(journal_directory(), command=command_line, run=str(writer.directory.absolute()))
    try:
        execution = Execution(
            plan, targets, writer, journal, instruments=instruments, progress=progress, stop=stop, erase=erase
        )
        status = "failed"
        try:
            with progress:
                outcome = execution.run()
            status = "interrupted" if outcome.is_interrupted else "complete"
        finally:
            with signals_held():
                _finish(writer, execution, targets, status)
    finally:
        journal.close()
    return writer.directory, outcome


def _facts_before(plan: Plan, experiment: Experiment, host: HostFacts, command_line: str) -> dict[str, Any]:
    return {
        "status": "running",
        "started_utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "command_line": command_line,
        "drivelab_version": __version__,
        "experiment": experiment.model_dump(mode="json"),
        "plan": plan.to_json(),
        "host": host.to_json(),
        "engine": probe_engine(),
    }


def _finish(writer: RunWriter, execution: Execution, targets: Mapping[str, TargetFacts], status: str) -> None:
    outcome = execution.outcome
    writer.finish(
        outcome.findings,
        status=status,
        targets=[
            {"label": label, "facts_before": before.to_json(), "facts_after": _facts_after(targets[label])}
            for label, before in execution.target_facts().items()
        ],
        failures={trial: str(error) for trial, error in outcome.failures.items()},
        restored=outcome.restored,
    )


def _facts_after(facts: TargetFacts) -> dict[str, Any] | None:
    """The target as it is now: temperature and wear have changed; a scratch drive is gone."""
    if facts.kind == "scratch":
        return None
    try:
        return resolve_target(facts.text).to_json()
    except DrivelabError:
        # it vanished during the run, which its steps have told
        return None
