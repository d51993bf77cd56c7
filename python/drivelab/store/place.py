"""Where a trial stands in its run: its target, its step, its factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TrialPlace:
    """Where a trial stands in its run.

    Attributes
    ----------
    step, block, repeat : int
        Place in the plan's order, all from 1; 0 where there was no plan.
    started_utc : str
        When the trial was begun, ISO 8601.
    asked, achieved : mapping of str to str
        Level of every factor as asked for, and as read back from the system.
    is_reference : bool
        Whether the trial is measured only to see a drift of the drive.
    failure : str
        Why the trial failed; empty when it was completed. What it measured until
        then is kept apart from the completed trials.
    """

    target: str = ""
    workload: str = ""
    step: int = 0
    block: int = 0
    repeat: int = 1
    started_utc: str = ""
    asked: Mapping[str, str] = field(default_factory=dict)
    achieved: Mapping[str, str] = field(default_factory=dict)
    is_reference: bool = False
    failure: str = ""
