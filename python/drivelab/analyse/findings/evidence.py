"""What every kind of finding judges from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drivelab.analyse.commands import drive_counts, given_counts, issued_bytes, issued_count
from drivelab.model.host import HostFacts
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import FILE_WRITING_OPERATIONS


@dataclass(frozen=True, slots=True)
class TrialEvidence:
    """One trial with its numbers, and what it ran on."""

    measured: Measurement
    summary: TrialSummary
    target: TargetFacts
    host: HostFacts | None = None

    @property
    def name(self) -> str:
        """Name of the trial."""
        return self.measured.name

    @property
    def counts(self) -> DeviceCounts | None:
        """What the drives executed; None when the kernel counted nothing."""
        return drive_counts(self.measured, self.target)

    @property
    def given(self) -> DeviceCounts | None:
        """What left memory for the drives; None when the kernel counted nothing."""
        return given_counts(self.measured, self.target)

    @property
    def is_null(self) -> bool:
        """Whether no I/O was issued at all: the backend that measures our own cost."""
        return self.backend == "null"

    @property
    def replays_calls(self) -> bool:
        """Whether it issues the system calls of a program again, which used the page cache as they did."""
        recording = self.measured.workload.recording
        return recording is not None and recording.span_bytes > 0

    @property
    def backend(self) -> str:
        """The backend that issued the I/O."""
        return str(self.measured.engine.get("backend", {}).get("name", self.measured.workload.backend))

    @property
    def is_direct(self) -> bool:
        """Whether the page cache was bypassed, as far as the kernel said."""
        return bool(self.achieved.get("direct", self.measured.workload.direct))

    @property
    def achieved(self) -> dict[str, Any]:
        """What the engine achieved of what was asked."""
        found: dict[str, Any] = self.measured.engine.get("achieved", {})
        return found

    @property
    def page_cache(self) -> dict[str, Any]:
        """Residency of the range before and after; empty when it was not looked at."""
        found: dict[str, Any] = self.measured.context.get("page_cache") or {}
        return found

    @property
    def is_durable(self) -> bool:
        """Whether each write, or every few, was to be on the drive before the next."""
        return self.measured.workload.is_durable

    @property
    def durable_operations(self) -> int:
        """Writes, or sync calls where one call covers several writes, in all phases; of a tree the files written."""
        workload = self.measured.workload
        if workload.tree is not None and not workload.durability.at_end:
            files = sum(issued_count(self.measured, name) for name in FILE_WRITING_OPERATIONS)
            return files // workload.durability.every_writes
        calls = issued_count(self.measured, "sync")
        return calls or issued_count(self.measured, "write")

    def issued(self, operation: str) -> int:
        """Bytes of one operation in all phases."""
        return issued_bytes(self.measured, operation)

    def direct_bytes(self, operation: str) -> int:
        """Bytes of one operation of a program's calls that bypass the page cache."""
        direct = int(self.measured.context.get("direct_bytes", {}).get(operation, 0))
        # it may have been stopped before all of them
        return min(direct, self.issued(operation))

    def own_reads(self, counted_bytes: int, *, asked_above: int | None = None) -> int:
        """Bytes that a drive read for this trial: of those that it counted no more than we had it read.

        Parameters
        ----------
        asked_above : int, optional
            For the drive beneath a loop device: what of our own total was asked of that device, and not of the drive.
        """
        own = self.measured.context.get("own_reads") or {}
        ours, workers = own.get("process_bytes"), own.get("worker_bytes")
        if asked_above is not None:
            ours = None if ours is None or workers is None else workers + max(0, ours - asked_above)
        return counted_bytes if ours is None else min(counted_bytes, ours)

    def operations(self, operation: str) -> int:
        """Operations of one kind in all phases."""
        return issued_count(self.measured, operation)
