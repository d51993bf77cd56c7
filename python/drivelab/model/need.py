"""What a program needs from the storage beneath it, in numbers that somebody published."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from drivelab.model.estimate import Unit

Direction = Literal["at_most", "at_least"]
Force = Literal["required", "recommended"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """One number that a need asks for.

    Attributes
    ----------
    trial : str
        Name of the trial that measures it (``sync-write-2300``).
    metric : str
        Key of `TrialSummary.estimates` (``total_latency_ns_p99``).
    direction : str
        ``at_most`` or ``at_least`` `limit`.
    limit : float
        In `unit`.
    unit : str
        ns, B/s, 1/s, B or 1.
    text : str
        What was measured, in words, with ``{value}`` where the number goes.
    force : str
        ``required`` decides between yes and no; missing a ``recommended`` one
        leaves a yes, and is told beside it.
    source : str
        Who says so, and where.
    asked_less : str
        What is really asked for where the trial is harder; then missing the
        limit proves nothing. Empty where the trial is what is asked.
    """

    trial: str
    metric: str
    direction: Direction
    limit: float
    unit: Unit
    text: str
    force: Force
    source: str
    asked_less: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Capability:
    """What a measured number means to a program that publishes no limit.

    Attributes
    ----------
    trials : tuple of str
        Names of the trials that measure it; the first that ran is taken.
    metric : str
        Key of `TrialSummary.estimates`.
    text : str
        The meaning in words, with ``{value}`` where the number goes.
    """

    trials: tuple[str, ...]
    metric: str
    text: str

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Need:
    """A program with what it asks of the storage.

    Attributes
    ----------
    name : str
        What ``--for`` takes (``etcd``).
    title : str
        The name as its makers write it.
    text : str
        What it does to the storage, in a sentence.
    thresholds : tuple of Threshold
        What it asks for; empty when no number is published.
    capability : Capability or None
        What to tell instead of a yes or no where there is no threshold.
    remark : str
        What a reader should know about the limits; may be empty.
    """

    name: str
    title: str
    text: str
    thresholds: tuple[Threshold, ...] = ()
    capability: Capability | None = None
    remark: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)
