"""What I/O is issued: the workload, as a user asks for it and the engine reads it.

The engine crate reads the same structure from JSON (`Workload.to_engine_json`),
so the field names here are the field names there.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

OperationName = Literal["read", "write", "trim"]
BackendName = Literal["auto", "sync", "uring", "aio", "null"]
DurabilityMethod = Literal["none", "o_dsync", "o_sync", "rwf_dsync", "fdatasync", "fsync", "sync_file_range"]
FileState = Literal["overwrite", "append", "preallocated", "sparse"]
AccessKind = Literal["sequential", "reverse", "random", "strided", "zipf", "hot_cold"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OperationShare(_Frozen):
    """An operation and its share of the mix."""

    operation: OperationName
    weight: float = Field(default=1.0, gt=0)


class BlockSizeShare(_Frozen):
    """A block size and its share of the mix."""

    bytes: int = Field(ge=1, le=2**30)
    weight: float = Field(default=1.0, gt=0)


class Access(_Frozen):
    """Order of addresses.

    ``zipf_theta`` is used by ``zipf`` (0 < theta < 1 skews mildly, above 1
    strongly), ``stride_bytes`` by ``strided``, the two fractions by ``hot_cold``.
    """

    kind: AccessKind = "random"
    stride_bytes: int = Field(default=0, ge=0)
    zipf_theta: float = Field(default=0.99, gt=0, lt=5)
    hot_range_fraction: float = Field(default=0.1, gt=0, lt=1)
    hot_access_fraction: float = Field(default=0.9, gt=0, lt=1)


class Durability(_Frozen):
    """How a write is made durable, and after how many writes the sync call comes."""

    method: DurabilityMethod = "none"
    every_writes: int = Field(default=1, ge=1)


class Contents(_Frozen):
    """What is written: random data unless asked otherwise."""

    kind: Literal["random", "zeros"] = "random"
    compressible_fraction: float = Field(default=0.0, ge=0, le=1)
    duplicate_fraction: float = Field(default=0.0, ge=0, le=1)


class Pacing(_Frozen):
    """Closed loop (next I/O waits for a completion) or open loop (arrivals by schedule)."""

    kind: Literal["closed", "fixed", "poisson"] = "closed"
    rate_per_s: float = Field(default=0.0, ge=0)


class Limits(_Frozen):
    """When the measured window ends: whichever limit is met first; 0 is no limit."""

    runtime_ns: int = Field(default=0, ge=0, lt=2**63)
    bytes: int = Field(default=0, ge=0, lt=2**63)
    count: int = Field(default=0, ge=0, lt=2**63)


class TargetRange(_Frozen):
    """Where I/O is sent.

    ``size_bytes`` is the size of the range used; 0 is the whole target. A
    missing file is created only when ``create`` is set. ``exclusive`` opens a
    block device so that it cannot be mounted meanwhile.
    """

    path: str
    offset_bytes: int = Field(default=0, ge=0)
    size_bytes: int = Field(default=0, ge=0)
    create: bool = False
    exclusive: bool = False


class Workload(_Frozen):
    """One workload: what is issued to one target.

    Notes
    -----
    ``queue_depth`` is the number of I/Os kept outstanding by each job;
    ``job_count`` jobs run side by side, each in its own part of the range
    unless ``share_range`` is set. ``shift_bytes`` is added to every aligned
    offset. ``ramp_ns`` of I/O precede the measured window and are not counted.
    """

    target: TargetRange
    backend: BackendName = "auto"
    operations: tuple[OperationShare, ...] = (OperationShare(operation="read"),)
    block_sizes: tuple[BlockSizeShare, ...] = (BlockSizeShare(bytes=4096),)
    access: Access = Access()
    shift_bytes: int = Field(default=0, ge=0)
    queue_depth: int = Field(default=1, ge=1, le=4096)
    job_count: int = Field(default=1, ge=1, le=1024)
    share_range: bool = False
    direct: bool = False
    durability: Durability = Durability()
    file_state: FileState = "overwrite"
    contents: Contents = Contents()
    pacing: Pacing = Pacing()
    limits: Limits = Limits()
    ramp_ns: int = Field(default=0, ge=0)
    interval_ns: int = Field(default=100_000_000, ge=1_000_000)
    seed: int = Field(default=1, ge=0, lt=2**64)
    record_ios: bool = False
    pin_cpus: tuple[int, ...] = ()
    polled_completion: bool = False
    polled_submission: bool = False

    def to_engine_json(self) -> str:
        """The workload as the engine reads it."""
        return self.model_dump_json()

    @property
    def writes(self) -> bool:
        """Whether the workload changes the target's contents."""
        return any(share.operation != "read" for share in self.operations)
