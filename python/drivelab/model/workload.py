"""What I/O is issued: the workload, as a user asks for it and the engine reads it.

The engine crate reads the same structure from JSON (`Workload.to_engine_json`),
so the field names here are the field names there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

BlockOperationName = Literal["read", "write", "trim"]
TreeOperationName = Literal[
    "create",
    "stat",
    "read_file",
    "delete",
    "rename",
    "replace",
    "make_directory",
    "remove_directory",
    "link",
    "symlink",
    "list",
    "update",
]
OperationName = Literal[BlockOperationName, TreeOperationName]
BackendName = Literal["auto", "sync", "uring", "aio", "posixaio", "mmap", "stdio", "null"]
# of a sample where a call can send and wait at once, else of all; or of all, by calls that only send
SubmissionLatency = Literal["sampled", "all"]
DurabilityMethod = Literal["none", "o_dsync", "o_sync", "rwf_dsync", "fdatasync", "fsync", "sync_file_range"]
FileState = Literal["overwrite", "append", "preallocated", "sparse"]
# whether a sync call follows the last write, where there are calls between writes
LastSync = Literal["due", "never", "always"]
CacheAdvice = Literal["none", "sequential", "random"]
AccessKind = Literal["sequential", "reverse", "random", "strided", "same", "zipf", "pareto", "normal", "hot_cold"]
# methods with a call of its own after the writes
SYNC_CALLS: tuple[DurabilityMethod, ...] = ("fdatasync", "fsync", "sync_file_range")
# each block is followed by its neighbour, or the next at a fixed distance
ORDERED_ACCESSES: tuple[AccessKind, ...] = ("sequential", "reverse", "strided")
# operations on the files of a tree, not on the blocks of one file
TREE_OPERATIONS: tuple[TreeOperationName, ...] = get_args(TreeOperationName)
OPERATIONS: tuple[OperationName, ...] = get_args(OperationName)
# what changes nothing
READING_OPERATIONS: tuple[OperationName, ...] = ("read", "stat", "read_file", "list")
# what makes a file durable, as the workload's durability asks
FILE_WRITING_OPERATIONS: tuple[TreeOperationName, ...] = ("create", "replace", "update")
# sync_file_range is none of them: it sends no flush and commits no metadata
DURABLE_METHODS: tuple[DurabilityMethod, ...] = ("fdatasync", "fsync", "o_dsync", "o_sync", "rwf_dsync")
_WITH_SYNC = ("durable_write", "sync")
_WRITING = (*_WITH_SYNC, "write", "rewrite", *FILE_WRITING_OPERATIONS)


def ends_durable(operation: str | None, asked: Mapping[str, Any]) -> bool:
    """Whether the latency of an operation ends when what it changed is durable: the one place that decides it.

    Parameters
    ----------
    operation : str or None
        What is issued (``write``, ``create``), or what a trial is about (``durable_write``).
    asked : mapping
        Fields of a workload's `Durability`; empty where it is not known.

    Notes
    -----
    One sync call after the last write makes none of them durable by itself; one for every few is part of some of
    their latencies. An import may know the operation and no method: a durable write is one whatever made it so.
    """
    if operation in TREE_OPERATIONS and operation not in READING_OPERATIONS and asked.get("directory"):
        return True
    method = asked.get("method") or "none"
    if method not in DURABLE_METHODS:
        return method == "none" and operation in _WITH_SYNC
    return operation in _WRITING and not (asked.get("at_end") and method in SYNC_CALLS)


def any_ends_durable(operations: Iterable[str], rewrite_fraction: float, asked: Durability) -> bool:
    """Whether some operation of a workload does, what is written back after a read among them."""
    written_back = ["write"] if rewrite_fraction else []
    return any(ends_durable(one, asked.model_dump()) for one in (*operations, *written_back))


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BlockSizeShare(_Frozen):
    """A block size and its share of the mix."""

    bytes: int = Field(ge=1, le=2**30)
    weight: float = Field(default=1.0, gt=0)


class Access(_Frozen):
    """Order of addresses.

    ``zipf_theta`` is used by ``zipf`` (0 < theta < 1 skews mildly, above 1
    strongly), ``pareto_h`` by ``pareto``, ``normal_deviation`` (as a share of the
    range) by ``normal``, ``stride_bytes`` by ``strided``, the two fractions by
    ``hot_cold``. A random place is followed by ``run_blocks`` - 1 sequential
    blocks. ``random_fraction`` below 1 mixes random places into a sequential
    order. With ``covers_once`` a random order has every block once before any
    comes again.
    """

    kind: AccessKind = "random"
    stride_bytes: int = Field(default=0, ge=0)
    zipf_theta: float = Field(default=0.99, gt=0, lt=5)
    hot_range_fraction: float = Field(default=0.1, gt=0, lt=1)
    hot_access_fraction: float = Field(default=0.9, gt=0, lt=1)
    pareto_h: float = Field(default=0.2, gt=0, lt=1)
    normal_deviation: float = Field(default=0.1, gt=0, le=1)
    run_blocks: int = Field(default=1, ge=1, lt=2**32)
    random_fraction: float = Field(default=1.0, gt=0, le=1)
    covers_once: bool = False


class OperationShare(_Frozen):
    """An operation and its share of the mix.

    It has the workload's block sizes and order of addresses unless it has its
    own. An order of its own goes on from the operation's own last place.
    """

    operation: OperationName
    weight: float = Field(default=1.0, gt=0)
    block_sizes: tuple[BlockSizeShare, ...] = ()
    access: Access | None = None


class Durability(_Frozen):
    """How a write is made durable, and after how many writes the sync call comes.

    ``at_end`` leaves out the calls between writes and makes one after the last
    of each job. Where there are calls between writes, ``last`` says whether one
    follows the last write of a job: where one is ``due`` after it, ``never``, or
    ``always`` and apart from it. With ``blocking`` a job that issues Linux
    asynchronous I/O waits for each of its calls. ``directory`` is for operations on a tree: the directory is made
    durable, too, after each of them.
    """

    method: DurabilityMethod = "none"
    every_writes: int = Field(default=1, ge=1)
    at_end: bool = False
    last: LastSync = "due"
    blocking: bool = False
    directory: bool = False

    @property
    def covers_several_writes(self) -> bool:
        """Whether one sync call stands for more than one write."""
        return self.at_end or self.every_writes > 1


class Contents(_Frozen):
    """What is written: random data unless asked otherwise."""

    kind: Literal["random", "zeros"] = "random"
    compressible_fraction: float = Field(default=0.0, ge=0, le=1)
    duplicate_fraction: float = Field(default=0.0, ge=0, le=1)


class Pacing(_Frozen):
    """Closed loop (next I/O waits for a completion) or open loop (arrivals by schedule).

    In a closed loop each job pauses for ``think_ns`` after every ``think_every``
    of its I/Os, once all of them have completed; no latency includes a pause.
    """

    kind: Literal["closed", "fixed", "poisson"] = "closed"
    rate_per_s: float = Field(default=0.0, ge=0)
    think_ns: int = Field(default=0, ge=0, lt=2**63)
    think_every: int = Field(default=1, ge=1)


class Limits(_Frozen):
    """When the measured window ends: whichever limit is met first; 0 is no limit."""

    runtime_ns: int = Field(default=0, ge=0, lt=2**63)
    bytes: int = Field(default=0, ge=0, lt=2**63)
    count: int = Field(default=0, ge=0, lt=2**63)


class HeldTarget(_Frozen):
    """A file or directory that is held open, by its descriptor; device and inode say which one that must be."""

    descriptor: int
    device: int
    inode: int

    @property
    def opened_by(self) -> str:
        """A path to exactly this file or directory."""
        return f"/proc/self/fd/{self.descriptor}"


class TargetRange(_Frozen):
    """Where I/O is sent.

    ``size_bytes`` is the size of the range used; 0 is the whole target. A
    missing file is created only when ``create`` is set. ``exclusive`` opens a
    block device so that it cannot be mounted meanwhile. What is ``held`` is
    used instead of whatever the path leads to by now; it is not stored, nor are
    `others`: files that are held for the jobs after the first, one for each.
    """

    path: str
    offset_bytes: int = Field(default=0, ge=0)
    size_bytes: int = Field(default=0, ge=0)
    create: bool = False
    exclusive: bool = False
    held: HeldTarget | None = Field(default=None, exclude=True)
    others: tuple[HeldTarget, ...] = Field(default=(), exclude=True)

    @property
    def opened_by(self) -> str:
        """What is to be opened: the path, or exactly what is held."""
        return self.path if self.held is None else self.held.opened_by

    def of_job(self, job: int) -> TargetRange:
        """The target of a job, from 0: its own file, or the one of all."""
        if not self.others:
            return self
        return self.model_copy(update={"held": (self.held, *self.others)[job], "others": ()})

    @property
    def all_opened_by(self) -> tuple[str, ...]:
        """What is to be opened for each job, where each has a file of its own; else the one target."""
        return (self.opened_by, *(held.opened_by for held in self.others))


class Tree(_Frozen):
    """Files that operations on a tree work on, below the directory that is the target's path.

    ``directory_count`` directories hold equally many files each; 0 is the
    target's directory itself. They lie ``depth`` levels deep. Sizes are evenly
    distributed between the two bounds. Each job has its own part of the files,
    in directories of its own unless the workload's ``share_range`` is set.
    """

    file_count: int = Field(ge=1, lt=2**31)
    directory_count: int = Field(default=0, ge=0, lt=2**24)
    depth: int = Field(default=1, ge=1, le=64)
    file_bytes_min: int = Field(default=0, ge=0, le=2**30)
    file_bytes_max: int = Field(default=0, ge=0, le=2**30)


class Workload(_Frozen):
    """One workload: what is issued to one target.

    Notes
    -----
    ``queue_depth`` is the number of I/Os kept outstanding by each job, and
    ``submission_batch`` how many are sent with one call at most (0: as many as there are); ``submission_latency``
    of which I/Os the submission is timed, where one call can send and wait;
    ``job_count`` jobs run side by side, each in its own part of the range
    unless ``share_range`` is set; with ``own_files`` each has all of a file of
    its own. ``shift_bytes`` is added to every aligned offset. The kernel is told
    of the order of addresses by ``cache_advice``, and with ``drop_cache_each_pass``
    the page cache gives up what it holds of the range whenever an order begins
    again: it stays cold. Of workloads that run at the same time one begins
    ``start_delay_ns`` later, and with ``ends_others`` its end is that of all.
    ``ramp_ns`` of I/O precede the measured window and are not counted.
    ``rewrite_fraction`` of the reads are written back, changed, to the same place
    right after. ``tree`` is there if the operations are on a tree of files, and
    then the address of an operation is the number of a file.

    ``verify`` checks that the stamps of what is read name the place it was read
    from: one at the beginning of each block, and at every 4 KiB of it. They say nothing
    of seed or run, so whatever drivelab wrote with random contents can be verified
    later, by blocks of the same size, or of any multiples of 4 KiB if all were.
    """

    target: TargetRange
    backend: BackendName = "auto"
    operations: tuple[OperationShare, ...] = (OperationShare(operation="read"),)
    block_sizes: tuple[BlockSizeShare, ...] = (BlockSizeShare(bytes=4096),)
    access: Access = Access()
    shift_bytes: int = Field(default=0, ge=0)
    queue_depth: int = Field(default=1, ge=1, le=4096)
    submission_batch: int = Field(default=0, ge=0, le=4096)
    submission_latency: SubmissionLatency = "sampled"
    job_count: int = Field(default=1, ge=1, le=1024)
    share_range: bool = False
    own_files: bool = False
    direct: bool = False
    cache_advice: CacheAdvice = "none"
    drop_cache_each_pass: bool = False
    durability: Durability = Durability()
    file_state: FileState = "overwrite"
    contents: Contents = Contents()
    pacing: Pacing = Pacing()
    limits: Limits = Limits()
    start_delay_ns: int = Field(default=0, ge=0)
    ends_others: bool = False
    ramp_ns: int = Field(default=0, ge=0)
    interval_ns: int = Field(default=100_000_000, ge=1_000_000)
    seed: int = Field(default=1, ge=0, lt=2**64)
    record_ios: bool = False
    pin_cpus: tuple[int, ...] = ()
    polled_completion: bool = False
    polled_submission: bool = False
    rewrite_fraction: float = Field(default=0.0, ge=0, le=1)
    tree: Tree | None = None
    verify: bool = False

    def to_engine_json(self) -> str:
        """The workload as the engine reads it."""
        if self.target.held is None:
            return self.model_dump_json()
        asked = self.model_dump(mode="json")
        held = {"held": self.target.held.model_dump(), "others": [each.model_dump() for each in self.target.others]}
        return json.dumps(asked | {"target": asked["target"] | held})

    def held_by(self, held: HeldTarget) -> Workload:
        """The same on what is held open."""
        return self.model_copy(update={"target": self.target.model_copy(update={"held": held})})

    @property
    def changing_operations(self) -> tuple[OperationName, ...]:
        """Operations that change the target's contents, and whose commands at the drive are counted."""
        on_files = tuple(name for name in TREE_OPERATIONS if name not in READING_OPERATIONS)
        return ("write",) if self.tree is None else on_files

    @property
    def is_durable(self) -> bool:
        """Whether the latency of some operation ends when what it changed is durable (`ends_durable`)."""
        names = (share.operation for share in self.operations)
        return any_ends_durable(names, self.rewrite_fraction, self.durability)

    @property
    def writes_contents(self) -> bool:
        """Whether there is something for a sync call to make durable: what is written to the target, or to files."""
        written = {share.operation for share in self.operations} & {"write", *FILE_WRITING_OPERATIONS}
        return bool(written or self.rewrite_fraction)

    @property
    def writes(self) -> bool:
        """Whether the workload changes the target's contents."""
        return self.rewrite_fraction > 0 or any(share.operation not in READING_OPERATIONS for share in self.operations)
