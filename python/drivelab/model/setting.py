"""A setting: one switchable piece of state of a drive, of its queue in the kernel, or of the computer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

SettingName = Literal[
    "write-cache",
    "kernel-write-cache",
    "scheduler",
    "nr-requests",
    "device-queue-depth",
    "read-ahead",
    "max-sectors",
    "write-back-throttling",
    "apm",
    "link-power",
    "apst",
    "governor",
    "cpu-dma-latency",
]
SETTING_NAMES: tuple[str, ...] = get_args(SettingName)
# the level that leaves a setting as it was before the run
AS_FOUND = "as-found"


@dataclass(frozen=True, slots=True)
class SettingFacts:
    """One setting of one drive, as it is now, and what it can be.

    Attributes
    ----------
    name : str
        A name of `SETTING_NAMES`.
    value : str or None
        Level in effect; None when nobody could tell.
    views : dict of str to str
        Every layer that was asked, and its answer: the drive, the kernel's
        view of the drive, the kernel's queue.
    levels : tuple of str
        Levels that it can take; empty when it takes numbers, or when nobody knows.
    minimum, maximum : int or None
        Bounds of a setting that takes numbers, in the unit of its levels.
    reason : str
        Why it cannot be set here; empty when it can.
    """

    name: str
    value: str | None = None
    views: dict[str, str] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    reason: str = ""

    def refusal(self, level: str) -> str:
        """Why the setting cannot have that level; empty when it can as far as is known."""
        if level == AS_FOUND:
            return ""
        if self.reason:
            return self.reason
        if self.levels and level not in self.levels:
            return f"it can be {', '.join(self.levels)}"
        if level.isdigit():
            return self._out_of_bounds(int(level))
        return "" if self.levels or self.minimum is None else "it takes a whole number"

    def _out_of_bounds(self, number: int) -> str:
        if self.minimum is not None and number < self.minimum:
            return f"the least it takes is {self.minimum}"
        if self.maximum is not None and number > self.maximum:
            return f"the most it takes is {self.maximum}"
        return ""

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)
