"""Counts the commands behind an operation once for every combination of factors, not for every repeat."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.plan import PlannedStep
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Workload
from drivelab.run.counting_pass import changed_count, timed_flushes_per_operation
from drivelab.run.device_counters import counted_device
from drivelab.run.engine import StopRequest, prepare_target
from drivelab.run.prepared_trial import PreparedTrial

# larger writes are split by the kernel, and a pass that counts their commands would write a great deal
_COUNTED_BLOCK_BYTES_MAX = 2**20
# work of others on the drive moves the counters a little
_ALIKE_SHARE = 0.05


class CommandsOfCells:
    """What one operation costs the drive, by combination of factors.

    A pass that counts writes as much as 200 operations do and takes as long;
    the commands belong to the combination, not to the repeat. Whether that
    holds is seen from the kernel's counters, which are read in every trial:
    where writes, flushes or bytes of an operation differ from those of the
    trial that was counted, the commands are counted again.

    Parameters
    ----------
    count : callable
        Counts the commands of one workload: `drivelab.run.counting_pass.command_counts`.
    """

    def __init__(self, count: Callable[..., dict[str, Any]]) -> None:
        self._count = count
        self._known: dict[Hashable, tuple[dict[str, Any], _PerOperation | None]] = {}

    def of(self, step: PlannedStep, trial: PreparedTrial, measured: Measurement, stop: StopRequest) -> dict[str, Any]:
        """What is added to the context of a trial that was just measured.

        Raises
        ------
        DrivelabError
            E301 to E315: the pass failed.
        """
        # the trials of a check are of no workload
        cell = (step.target, step.workload or step.trial, tuple(step.levels.items()))
        operations = changed_count(trial.workload, measured.engine)
        timed = _PerOperation.of(trial.facts, operations, measured.devices)
        counted, timed_then = self._known.get(cell, ({}, None))
        if counted and _is_alike(timed, timed_then):
            return _of_this_trial(counted, operations, measured, trial.facts)
        renew_file(trial, stop)
        counted = self._count(
            trial.workload, trial.facts, timed_operations=operations, timed_devices=measured.devices, stop=stop
        ) | {"command_counts_trial": step.trial}
        if not stop.is_set():
            self._known[cell] = counted, timed
        return counted


@dataclass(frozen=True, slots=True)
class _PerOperation:
    """What the kernel counted at the drive for one operation of a timed pass."""

    writes: float
    flushes: float
    bytes_written: float

    @classmethod
    def of(cls, facts: TargetFacts, operations: int, devices: tuple[DeviceCounts, ...]) -> _PerOperation | None:
        drive = counted_device(facts.devices)
        counts = next((counts for counts in devices if counts.device == drive), None)
        if counts is None or not operations:
            return None
        return cls(counts.writes / operations, counts.flushes / operations, counts.bytes_written / operations)


def _is_alike(now: _PerOperation | None, then: _PerOperation | None) -> bool:
    if now is None or then is None:
        return now is then
    pairs = ((now.writes, then.writes), (now.flushes, then.flushes), (now.bytes_written, then.bytes_written))
    return all(math.isclose(one, other, rel_tol=_ALIKE_SHARE, abs_tol=_ALIKE_SHARE) for one, other in pairs)


def _of_this_trial(
    counted: dict[str, Any], operations: int, measured: Measurement, facts: TargetFacts
) -> dict[str, Any]:
    """The counts of the combination, with the flushes that the kernel counted in this trial."""
    if counted["command_counts"] is None:
        return counted
    timed = timed_flushes_per_operation(facts, operations, measured.devices)
    return counted | {"command_counts": counted["command_counts"] | {"flushes_per_operation_timed": timed}}


def renew_file(trial: PreparedTrial, stop: StopRequest) -> None:
    """Bring the file of a trial back to what it was before: in space that is written already, writes cost less.

    Raises
    ------
    DrivelabError
        E301 to E315: it could not be prepared again.
    """
    if trial.workload.tree is not None:
        prepare_target(trial.workload, stop=stop)
        return
    is_ours = trial.facts.kind == "missing_file"
    if not is_ours or trial.workload.file_state == "overwrite":
        return
    # a file that cannot be emptied is reported by the pass itself
    for opened in trial.workload.target.all_opened_by:
        with suppress(OSError):
            os.truncate(opened, 0)
    prepare_target(trial.workload, stop=stop)


def counts_commands(workload: Workload) -> bool:
    """Whether the commands behind each operation decide what its latency means."""
    largest = workload.tree.file_bytes_max if workload.tree else max(share.bytes for share in workload.block_sizes)
    return workload.is_durable and largest <= _COUNTED_BLOCK_BYTES_MAX


def no_second_pass(workload: Workload, reason: str, *, is_traced: bool) -> dict[str, Any]:
    """Why there are neither commands nor a trace of a trial, for its context."""
    counts = {"command_counts": None, "command_counts_reason": reason} if counts_commands(workload) else {}
    return counts | ({"trace": None, "trace_reason": reason} if is_traced else {})
