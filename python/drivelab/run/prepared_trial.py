"""A trial that is ready to be measured, and where it gets ready."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.model.plan import PlannedStep
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Workload


class StoppedError(Exception):
    """The user asked for the end while something was being made."""


@dataclass(frozen=True, slots=True)
class PreparedTrial:
    """Where a trial's I/O goes."""

    workload: Workload
    facts: TargetFacts
    achieved: dict[str, str]
    context: dict[str, Any] = field(default_factory=dict)
    drops_page_cache: bool = False
    measure: Callable[..., Measurement] | None = None


class Stage(ABC):
    """Where the trials of one target get ready: a target of a plan, or the files of a check.

    Attributes
    ----------
    facts : TargetFacts
        As resolved; for what is made as soon as it was made.
    notes : tuple of str
        What its numbers mean.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, facts: TargetFacts) -> None:
        self.facts = facts

    @abstractmethod
    def prepare(self, step: PlannedStep) -> PreparedTrial:
        """Make everything that a step needs."""

    def changed_settings(self, _step: PlannedStep, _ask_drive: bool, /) -> dict[str, str]:
        """Settings that are not any more what the step was given; an error where the target is another one."""
        return {}

    @abstractmethod
    def tidy(self, trial: PreparedTrial, measured: Measurement | None, /) -> None:
        """Take away what the trial alone needed; what it measured is None where it failed."""

    def failure(self, error: DrivelabError | FileNotFoundError) -> DrivelabError:
        """Why a step failed."""
        if isinstance(error, DrivelabError):
            return error
        return DrivelabError("E302", f"a working file vanished: {error.filename}", do="let nothing remove files there")
