"""The number that a trial is judged by, with what decides which others it is held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drivelab.analyse.command_changes import Bounds


@dataclass(frozen=True, slots=True)
class TrialValue:
    """One trial of a run, as far as effects are concerned.

    Attributes
    ----------
    value : float
        Its median latency in ns, or its throughput in B/s: above 0.
    commands : mapping of str to (float, float)
        Device commands per operation by metric, as bounds that are equal where the count is exact.
    session : int
        Session of the run in which it was measured, from 1.
    found : mapping of str to str
        What was read back of the settings that it left as they were found.
    refused : mapping of str to str
        What was read back of the settings that did not take the level asked for.
    is_invalid : bool
        Whether it does not describe the drive.
    """

    target: str
    workload: str
    block: int
    levels: Mapping[str, str]
    value: float
    commands: Mapping[str, Bounds] = field(default_factory=dict)
    session: int = 1
    found: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    is_invalid: bool = False

    def set_to(self, factor: str) -> str:
        """What a factor was at, as far as it was read back; otherwise its level."""
        return self.refused.get(factor) or self.found.get(factor) or self.levels.get(factor, "")
