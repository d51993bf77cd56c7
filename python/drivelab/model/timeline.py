"""How a run went from its first trial to its last, as one line of time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrialTimeline:
    """One trial's part of it.

    Attributes
    ----------
    target, trial, workload, title : str
        Where, which, and what for people.
    capacity_bytes : int
        Size of the target.
    middle_s : tuple of float
        Middle of each stretch, in seconds of measurement since the first trial of the target began.
    written_bytes : tuple of float
        Bytes that all trials of the target had written until then.
    iops, bytes_per_s : tuple of float
        In each stretch.
    """

    target: str
    trial: str
    workload: str
    title: str
    capacity_bytes: int
    middle_s: tuple[float, ...]
    written_bytes: tuple[float, ...]
    iops: tuple[float, ...]
    bytes_per_s: tuple[float, ...]
