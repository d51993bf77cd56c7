"""The windows of trials that are not complete yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from drivelab.model.measurement import Measurement
from drivelab.model.plan import PlannedStep
from drivelab.run.joined_windows import joined_windows
from drivelab.run.prepared_trial import PreparedTrial


@dataclass(frozen=True, slots=True)
class MeasuredTrial:
    """A trial with what it measured, and when it was begun."""

    step: PlannedStep
    trial: PreparedTrial
    measured: Measurement
    started_utc: str


class WindowsUnderWay:
    """Holds what was measured until a trial has all of its windows."""

    def __init__(self) -> None:
        self._windows: dict[str, list[MeasuredTrial]] = {}

    def take(self, window: MeasuredTrial) -> None:
        """Take one window of a trial."""
        self._windows.setdefault(window.step.trial, []).append(window)

    def joined(self, trial: str) -> MeasuredTrial:
        """All windows of a trial as one, with the step that began it, and not held any more."""
        windows = self._windows.pop(trial)
        return replace(windows[0], measured=joined_windows([one.measured for one in windows]))

    @contextmanager
    def kept_by(self, keep: Callable[[MeasuredTrial], None]) -> Iterator[None]:
        """While the context lasts windows are taken; however it ends, what trials have of theirs is kept."""
        try:
            yield
        finally:
            for trial in list(self._windows):
                keep(self.joined(trial))
