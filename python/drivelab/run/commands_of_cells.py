"""Counts the commands behind an operation once for every combination of factors, not for every repeat."""

from __future__ import annotations

import os
from collections.abc import Hashable
from contextlib import suppress
from typing import Any, Protocol

from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.plan import PlannedStep
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Workload
from drivelab.run.counting_pass import timed_flushes_per_operation
from drivelab.run.engine import StopRequest, prepare_target
from drivelab.run.stage import PreparedTrial

# larger writes are split by the kernel, and a pass that counts their commands would write a great deal
_COUNTED_BLOCK_BYTES_MAX = 2**20


class CountCommands(Protocol):
    """Counts the commands of a synchronous workload: `drivelab.run.counting_pass.command_counts`."""

    def __call__(
        self,
        workload: Workload,
        target: TargetFacts,
        *,
        timed_operations: int,
        timed_devices: tuple[DeviceCounts, ...],
        stop: StopRequest | None = None,
    ) -> dict[str, Any]:
        """What is added to the measurement's context."""
        ...


class CommandsOfCells:
    """What one operation costs the drive, by combination of factors.

    A pass that counts writes as much as 200 operations do and takes as long;
    the commands are a property of the combination and not of the repeat. The
    kernel's own counters are read in every trial: where they differ from those
    of the pass, that is a finding.

    Parameters
    ----------
    count : CountCommands
        Counts the commands of one workload.
    """

    def __init__(self, count: CountCommands) -> None:
        self._count = count
        self._known: dict[Hashable, dict[str, Any]] = {}

    def of(self, step: PlannedStep, trial: PreparedTrial, measured: Measurement, stop: StopRequest) -> dict[str, Any]:
        """What is added to the context of a trial that was just measured.

        Raises
        ------
        DrivelabError
            E301 to E315: the pass failed.
        """
        cell = (step.target, step.workload, tuple(step.levels.items()))
        operations = int(measured.engine["all_phases"].get("write", {}).get("count", 0))
        if cell not in self._known:
            renew_file(trial, stop)
            counted = self._count(
                trial.workload,
                trial.facts,
                timed_operations=operations,
                timed_devices=measured.devices,
                stop=stop,
            )
            if not stop.is_set():
                self._known[cell] = counted | {"command_counts_trial": step.trial}
            return counted
        return self._of_this_trial(self._known[cell], operations, measured, trial.facts)

    @staticmethod
    def _of_this_trial(
        known: dict[str, Any], operations: int, measured: Measurement, facts: TargetFacts
    ) -> dict[str, Any]:
        """The counts of the combination, with the flushes that the kernel counted in this trial."""
        if known["command_counts"] is None:
            return known
        timed = timed_flushes_per_operation(facts, operations, measured.devices)
        return known | {"command_counts": known["command_counts"] | {"flushes_per_operation_timed": timed}}


def renew_file(trial: PreparedTrial, stop: StopRequest) -> None:
    """Bring the file of a trial back to what it was before: in space that is written already, writes cost less.

    Raises
    ------
    DrivelabError
        E301 to E315: it could not be prepared again.
    """
    is_ours = trial.facts.kind == "missing_file"
    if not is_ours or trial.workload.file_state == "overwrite":
        return
    # a file that cannot be emptied is told of by the pass itself
    with suppress(OSError):
        os.truncate(trial.workload.target.path, 0)
    prepare_target(trial.workload, stop=stop)


def counts_commands(workload: Workload) -> bool:
    """Whether the commands behind each operation decide what its latency means."""
    largest = max(share.bytes for share in workload.block_sizes)
    return workload.writes and workload.durability.method != "none" and largest <= _COUNTED_BLOCK_BYTES_MAX
