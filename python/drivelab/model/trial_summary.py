"""What one trial came to: its numbers, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from drivelab.model.estimate import Estimate


@dataclass(frozen=True, slots=True)
class TrialSummary:
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

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "label": self.label,
            "operation": self.operation,
            "estimates": {metric: estimate.to_json() for metric, estimate in self.estimates.items()},
        }
