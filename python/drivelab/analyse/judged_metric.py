"""Which of a workload's numbers is the one that levels are compared by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, RATE, RESPONSE, THROUGHPUT, are_waited_for


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
    has_mean, has_throughput : bool
        Whether it has a mean of the total latency, and a throughput.
    is_mean_alone : bool
        Whether the mean is all that the program told that measured it.
    is_on_files : bool
        Whether operations are on the files of a tree, which move no bytes or few.
    is_phase : bool
        Whether it goes through a file as a whole, and its experiment asks how fast that is.
    """

    block_size_bytes: int | None
    outstanding: int
    is_durable: bool
    has_latency: bool = True
    has_response: bool = False
    has_mean: bool = True
    has_throughput: bool = True
    is_mean_alone: bool = False
    is_on_files: bool = False
    is_phase: bool = False


def judged_metric(trials: Iterable[TrialKind]) -> str:
    """The metric that all trials of a workload are compared by.

    Parameters
    ----------
    trials : iterable of TrialKind
        All trials of one workload; at least one.

    Returns
    -------
    str
        The median response latency where I/Os arrive by a schedule. The rate of
        operations on files, which is how all the world tells of them. The throughput of
        phases that go through a file as a whole. The median
        latency where a program waits for each I/O (`are_waited_for`); the mean
        where some trial was imported and has nothing but that. Otherwise, and where
        some trial has no median latency, the throughput; the rate where none has any.
    """
    kinds = list(trials)
    if all(kind.has_response for kind in kinds):
        return RESPONSE
    if all(kind.is_on_files for kind in kinds):
        return RATE
    if all(kind.is_phase and kind.has_throughput for kind in kinds):
        return THROUGHPUT
    waited = are_waited_for((kind.block_size_bytes, kind.is_durable, kind.outstanding) for kind in kinds)
    if waited and all(kind.has_latency for kind in kinds):
        return LATENCY
    if waited and any(kind.is_mean_alone for kind in kinds) and all(kind.has_mean for kind in kinds):
        return MEAN_LATENCY
    return THROUGHPUT if any(kind.has_throughput for kind in kinds) else RATE
