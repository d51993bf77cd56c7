"""What a plan is carried out with: whatever measures, counts, judges and traces; replaced in tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.model.smart import SmartFacts
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import Workload
from drivelab.run.commands_of_cells import CountCommands
from drivelab.run.engine import ProgressListener, RecordListener, StopRequest
from drivelab.run.measure_together import measure_together
from drivelab.run.together import Member
from drivelab.run.traced_pass import TraceTools
from drivelab.store.read import StoredRun

# of a drive its name, and what it said of itself before the run and after it
SmartReading = tuple[str, SmartFacts, SmartFacts]


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
        drops_page_cache: bool = False,
        idle_watch_s: float = 0.0,
    ) -> Measurement:
        """What the trial measured."""
        ...


class MeasureTogether(Protocol):
    """Measures trials that run at the same time: `drivelab.run.measure_together.measure_together`."""

    def __call__(
        self, members: Sequence[Member], *, stop: StopRequest, idle_watch_s: float = 0.0
    ) -> Sequence[Measurement | DrivelabError]:
        """What each trial measured, or why it failed."""
        ...


class Judge(Protocol):
    """Turns what was measured into numbers and findings."""

    def trial(self, measured: Measurement, facts: TargetFacts) -> tuple[TrialSummary, Sequence[Finding]]:
        """The trial's numbers, and what is to be known about it."""
        ...

    def run(
        self, targets: Sequence[TargetFacts], run: StoredRun, readings: Sequence[SmartReading]
    ) -> Sequence[Finding]:
        """What is to be known about the targets, about each trial, and what only several trials can tell."""
        ...


@dataclass(frozen=True, slots=True)
class Instruments:
    """What a plan is executed with: how trials are measured, commands counted, numbers judged, operations traced."""

    measure: Measure
    count_commands: CountCommands
    judge: Judge
    # a plan without traces needs none
    trace: TraceTools | None = None
    measure_together: MeasureTogether = measure_together
