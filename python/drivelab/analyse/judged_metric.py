"""Which of a workload's numbers is the one that levels are compared by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from drivelab.model.judged_metric import LATENCY, RESPONSE, THROUGHPUT, are_waited_for


@dataclass(frozen=True, slots=True)
class TrialKind:
    """What decides it, of one trial.

    Attributes
    ----------
    block_size_bytes : int or None
        Size of one I/O; None when sizes are mixed.
    outstanding : int
        I/Os that are outstanding at a time, in all jobs together.
    is_durable : bool
        Whether every write, or every few, is to be on the drive before the next.
    has_latency, has_response : bool
        Whether it has a median of the total latency, and of the response latency.
    """

    block_size_bytes: int | None
    outstanding: int
    is_durable: bool
    has_latency: bool = True
    has_response: bool = False


def judged_metric(trials: Iterable[TrialKind]) -> str:
    """The metric that all trials of a workload are compared by.

    Parameters
    ----------
    trials : iterable of TrialKind
        All trials of one workload; at least one.

    Returns
    -------
    str
        The median response latency where I/Os arrive by a schedule. The median
        latency where a program waits for each I/O (`are_waited_for`). Otherwise, and where
        some trial has no median latency, the throughput.
    """
    kinds = list(trials)
    if all(kind.has_response for kind in kinds):
        return RESPONSE
    waited = are_waited_for((kind.block_size_bytes, kind.is_durable, kind.outstanding) for kind in kinds)
    return LATENCY if waited and all(kind.has_latency for kind in kinds) else THROUGHPUT
