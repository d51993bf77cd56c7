"""What I/O is issued: the workload, as a user asks for it and the engine reads it.

The engine crate reads the same structure from JSON (`Workload.to_engine_json`),
so the field names here are the field names there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self, get_args

from pydantic import Field, model_validator

from drivelab.model.contents import Contents
from drivelab.model.frozen import FrozenModel
from drivelab.model.held_target import HeldTarget
from drivelab.model.job_files import JobFiles
from drivelab.model.recording import Recorded
from drivelab.model.told import HOW, WHERE, key
from drivelab.model.tree import Tree
from drivelab.model.zone import Zone
from drivelab.model.zoned_drive import ZonedDrive

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
BackendName = Literal[
    "auto", "sync", "uring", "uring-cmd", "aio", "posixaio", "mmap", "stdio", "splice", "falloc", "null"
]
# of a sample where a call can send and wait at once, else of all; or of all, by calls that only send
SubmissionLatency = Literal["sampled", "all"]
DurabilityMethod = Literal["none", "o_dsync", "o_sync", "rwf_dsync", "fdatasync", "fsync", "sync_file_range"]
FileState = Literal["overwrite", "append", "preallocated", "sparse"]
# whether a sync call follows the last write, where there are calls between writes
LastSync = Literal["due", "always"]
# when these are due: when so many writes have ended, or before another I/O once so many were issued
SyncOrder = Literal["after_write", "before_next"]
# what is done, before I/O begins, with what is cached of its target
CacheState = Literal["drop", "keep", "warm"]
CacheAdvice = Literal["none", "sequential", "random"]
AccessKind = Literal[
    "sequential", "reverse", "random", "strided", "same", "zipf", "pareto", "normal", "hot_cold", "zoned"
]
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


class BlockSizeShare(FrozenModel):
    """A block size and its share of the mix."""

    bytes: int = Field(ge=1, le=2**30)
    weight: float = Field(default=1.0, gt=0)


class Access(FrozenModel):
    """Order of addresses; each of its numbers belongs to a kind."""

    # fmt: off
    kind: AccessKind = key("random", "order of the addresses", takes="as `access`", written="")
    stride_bytes: int = key(
        0, "`strided`: distance from one I/O to the next; 0: every other block is left out", WHERE,
        "Bytes from one strided I/O to the next.", flag="stride", takes="a number", unit="size", ge=0)
    zipf_theta: float = key(
        0.99, "`zipf`: skew; the larger, the fewer addresses get most I/Os", WHERE,
        "Skew of zipf access, above 0 and below 5.", gt=0, lt=5)
    hot_range_fraction: float = key(
        0.1, "`hot_cold`: part of the range that is hot", WHERE, "Hot part of the range for hot_cold, 0 to 1.",
        flag="hot_range", gt=0, lt=1)
    hot_access_fraction: float = key(
        0.9, "`hot_cold`: part of the I/Os that go there", WHERE, "Part of the I/Os that go there, 0 to 1.",
        flag="hot_access", gt=0, lt=1)
    pareto_h: float = key(0.2, "`pareto`: skew; the smaller, the fewer addresses get most I/Os", gt=0, lt=1)
    normal_deviation: float = key(
        0.1, "`normal`: standard deviation about the middle, as a share of the range", gt=0, le=1)
    run_blocks: int = key(1, "blocks in a row from each random place on", WHERE, ge=1, lt=2**32)
    random_fraction: float = key(
        1.0, "share of random places in an order that is else sequential", WHERE,
        "Share of random places; the other I/Os follow the one before.", typed="1", takes="above 0, at most 1",
        unit="share", gt=0, le=1)
    covers_once: bool = key(
        False, "`random`: every block once before any comes again; of several sizes each ends where another lies",
        WHERE, "Random: each block once before any comes again.")
    zones: tuple[Zone, ...] = key(
        (), "`zoned`: parts of the range from its start on, each `{ range_fraction = 0.05, access_fraction = 0.5 }`; "
        "both add up to the whole", takes="a list of tables", written="[]")
    zone_bytes: int = key(0, "size of the zones that the order goes through one after the other; 0: the range is one",
        written="0", takes="a number", unit="size", ge=0)
    zone_io_bytes: int = key(0, "bytes that are moved in a zone before the next has its turn; 0: the size of a zone",
        written="0", takes="a number", unit="size", ge=0)
    zone_skip_bytes: int = key(
        0, "bytes that are left out between two zones", written="0", takes="a number", unit="size", ge=0)
    # fmt: on

    @model_validator(mode="after")
    def _zones_are_there(self) -> Self:
        if (self.kind == "zoned") != bool(self.zones):
            raise ValueError("zoned and zones belong together: zones say how large each is and how often it is used")
        return self


class OperationShare(FrozenModel):
    """An operation and its share of the mix.

    It has the workload's block sizes and order of addresses unless it has its
    own. An order of its own goes on from the operation's own last place. One
    that is ``drawn_only`` has its turn and its place, and is not issued.
    """

    operation: OperationName
    weight: float = Field(default=1.0, gt=0)
    block_sizes: tuple[BlockSizeShare, ...] = ()
    access: Access | None = None
    drawn_only: bool = False


class Durability(FrozenModel):
    """How a write is made durable, and after how many writes the sync call comes.

    ``at_end`` leaves out the calls between writes and makes one after the last
    of each job. Where there are calls between writes, ``last`` says whether one
    follows the last write of a job: where one is ``due`` after it, or ``always``
    and apart from it. In the ``order`` ``before_next`` they come as in fio until
    3.37: before another I/O once so many writes were issued, and again until what
    ended last is a sync call. ``directory`` is for operations on a tree: the
    directory is made durable, too, after each of them.
    """

    method: DurabilityMethod = "none"
    every_writes: int = Field(default=1, ge=1)
    at_end: bool = False
    last: LastSync = "due"
    order: SyncOrder = "after_write"
    directory: bool = False

    @property
    def covers_several_writes(self) -> bool:
        """Whether one sync call stands for more than one write."""
        return self.at_end or self.every_writes > 1


class Pacing(FrozenModel):
    """Closed loop (next I/O waits for a completion) or open loop (arrivals by schedule).

    In a closed loop each job pauses for ``think_ns`` after every ``think_every``
    of its I/Os, or after ``think_after_ns`` of them, once all have completed; no latency includes a pause. Jobs of
    trials that run together may share a flow, in which each keeps to its weight.
    """

    # fmt: off
    kind: Literal["closed", "fixed", "poisson"] = key(
        "closed", "after a completion, at equal distances, or at random ones", HOW,
        "Of an open loop: fixed, poisson. Default: fixed.", flag="arrivals", typed=None)
    rate_per_s: float = key(
        0.0, "`fixed`, `poisson`: arrivals per second over all jobs", HOW,
        "I/Os per second of an open loop; 0 is a closed loop.", flag="rate", ge=0)
    think_ns: int = key(
        0, "`closed`: pause in ns that a job makes ...", HOW, "Pause of a closed loop, not part of any latency: 10ms.",
        flag="think", takes="a number", written="0", unit="time", ge=0, lt=2**63)
    think_every: int = key(1, "... after so many I/Os", HOW, "I/Os of a job before each pause.", ge=1)
    think_after_ns: int = key(
        0, "... or, where it is not 0, after so long of I/O, in ns", takes="a number", written="0", ge=0, lt=2**63)
    flow_weight: int = key(
        0, "weight of each job among all at the same time that share a flow, and so the ratio of their I/Os; 0: none",
        takes="a number", written="0", ge=0, lt=2**32)
    flow_number: int = key(0, "number of the flow that is shared", takes="a number", written="0", ge=0, lt=2**63)
    flow_sleep_ns: int = key(
        0, "how long a job sleeps that is ahead of its share of the flow, in ns; 0: it looks again at once",
        takes="a number", written="0", ge=0, lt=2**63)
    # fmt: on


class Limits(FrozenModel):
    """When the window ends: by the limit met first, or once half the interval is so small a share; 0 is none."""

    runtime_ns: int = Field(default=0, ge=0, lt=2**63)
    bytes: int = Field(default=0, ge=0, lt=2**63)
    count: int = Field(default=0, ge=0, lt=2**63)
    precision: float = Field(default=0.0, ge=0, lt=1)


class TargetRange(FrozenModel):
    """Where I/O is sent.

    ``size_bytes`` is the size of the range used; 0 is the whole target. A
    missing file is created only when ``create`` is set. ``exclusive`` opens a
    block device so that it cannot be mounted meanwhile. What is ``held`` is
    used instead of whatever the path leads to by now; it is not stored, nor are
    `others`: the files after the first, by jobs where these have their own.
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

    def of_file(self, number: int) -> TargetRange:
        """One of the files, from 0."""
        return self.model_copy(update={"held": (self.held, *self.others)[number], "others": ()})

    @property
    def all_opened_by(self) -> tuple[str, ...]:
        """What is to be opened: every file, or the one target."""
        return (self.opened_by, *(held.opened_by for held in self.others))


class Workload(FrozenModel):
    """One workload: what is issued to one target.

    Notes
    -----
    ``queue_depth`` is the number of I/Os kept outstanding by each job, and ``submission_batch`` how many are sent with
    one call at most (0: as many as there are), ``completion_batch`` how many are taken with one look, which waits for
    ``completion_batch_min``; slots that were all in use are filled again at ``refill_depth``;
    ``submission_latency`` of which I/Os the submission is timed, where one call can send and wait; ``job_count`` jobs
    run side by side, each in its own part of the range unless ``share_range`` is set; with ``own_files`` each has all
    of its own ``job_files``. ``shift_bytes`` is added to every aligned offset. The kernel is told of the order of
    addresses by ``cache_advice``, and with ``drop_cache_each_pass`` the page cache gives up what it holds of the range
    whenever an order begins again, or, where none does, after as many bytes: it stays cold.
    Of workloads that run at the same time one begins ``start_delay_ns``
    later, and with ``ends_others`` its end is that of all.
    ``ramp_ns`` of I/O precede the measured window and are not counted.
    With ``stat_before_write`` the file's attributes are asked for before each write, as programs do that look how
    much room is left: since Linux 6.13 the next write then changes the file's times, however soon it comes.
    ``rewrite_fraction`` of the reads are written back, changed, to the same place right after. ``tree`` is there if the
    operations are on a tree of files, and then the address of an operation is the number of a file.

    One that ``watches_burst`` is issued in slices with rests, until it is known whether there is burst credit.
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
    completion_batch: int = Field(default=0, ge=0, le=4096)
    completion_batch_min: int = Field(default=0, ge=0, le=4096)
    refill_depth: int = Field(default=0, ge=0, le=4096)
    submission_latency: SubmissionLatency = "sampled"
    job_count: int = Field(default=1, ge=1, le=1024)
    share_range: bool = False
    own_files: bool = False
    job_files: JobFiles = JobFiles()
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
    record_jobs: bool = False
    pin_cpus: tuple[int, ...] = ()
    polled_completion: bool = False
    polled_submission: bool = False
    stat_before_write: bool = False
    rewrite_fraction: float = Field(default=0.0, ge=0, le=1)
    tree: Tree | None = None
    verify: bool = False
    zoned_drive: ZonedDrive = ZonedDrive()
    recording: Recorded | None = None
    watches_burst: bool = False

    def to_engine_json(self, looks_ns: Sequence[int] = ()) -> str:
        """The workload as the engine reads it, with the moments at which it asks whether that was enough."""
        asked = self.model_dump(mode="json", exclude={"watches_burst"})
        asked["limits"]["looks_ns"] = list(looks_ns)
        if self.target.held is not None:
            held = {"held": self.target.held.model_dump(), "others": [each.model_dump() for each in self.target.others]}
            asked["target"] |= held
        if self.recording is not None:
            asked["recording"]["path"] = self.recording.path
            if self.is_open_loop:
                asked["pacing"] = {"kind": "recorded", "speed": self.recording.speed}
        return json.dumps(asked)

    @property
    def is_open_loop(self) -> bool:
        """Whether I/Os have a moment at which they should begin, whatever came of those before."""
        if self.recording is not None:
            return self.recording.speed > 0
        return self.pacing.kind != "closed"

    def files_of_job(self, job: int) -> tuple[TargetRange, ...]:
        """The files of a job, from 0: its own, or those of all jobs."""
        count = self.job_files.count
        first = job * count if self.own_files and self.target.others else 0
        return tuple(self.target.of_file(first + number) for number in range(count))

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
