"""What one trial came to: its numbers, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass, field

from drivelab.model.estimate import Estimate
from drivelab.model.plain import Plain


@dataclass(frozen=True, slots=True)
class TrialSummary(Plain):
    """The published numbers of one trial.

    Attributes
    ----------
    name : str
        Name of the trial, unique within its run (``sync-write-4096``).
    label : str
        The trial for people (``4 KiB appended + fdatasync``).
    operation : str
        The operation that the trial is about: read, write, trim, or
        durable_write when the latency ends with a sync call.
    estimates : dict of str to Estimate
        By metric; ``docs/metrics.md`` says from which event to which each one
        goes. Metrics without a prefix are about `operation`; where a trial has
        several operations, the others have theirs (``sync_total_latency_ns_p99``).
    """

    name: str
    label: str
    operation: str
    estimates: dict[str, Estimate] = field(default_factory=dict)
