"""What is known of a run before it measures anything, whatever command makes it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from drivelab import __version__
from drivelab.model.host import HostFacts
from drivelab.run.engine import probe_engine
from drivelab.store.run_record import Facts, RunRecord


def begun(experiment: Facts, targets: Sequence[Facts], host: HostFacts, command_line: str) -> RunRecord:
    """The record of a run that begins now."""
    return RunRecord(
        status="running",
        started_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
        command_line=command_line,
        drivelab_version=__version__,
        experiment=experiment,
        host=host.to_json(),
        engine=probe_engine(),
        targets=targets,
    )
