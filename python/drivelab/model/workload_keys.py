"""The keys of a workload, each with everything that is told of it: in files, on pages and as a flag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError

from drivelab.model.contents import Contents
from drivelab.model.frozen import FrozenModel
from drivelab.model.job_files import JobFiles
from drivelab.model.quantities import BlockSize, ByteCount, DurationNs, Share
from drivelab.model.told import FILES, HOW, HOW_LONG, WHAT, WHERE, WRITTEN, key
from drivelab.model.workload import (
    Access,
    AccessKind,
    BackendName,
    CacheAdvice,
    DurabilityMethod,
    FileState,
    LastSync,
    OperationName,
    Pacing,
    SubmissionLatency,
    SyncOrder,
    TreeOperationName,
)
from drivelab.model.zoned_drive import ZonedDrive


def _names(literal: Any) -> str:
    return f"{', '.join(get_args(literal))}."


def _table_of(key: str) -> BeforeValidator:
    """Let a bare string stand for a table with one key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


@dataclass(frozen=True)
class _OrText:
    """What an editor accepts beside a table: one of its kinds alone."""

    texts: tuple[str, ...]

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(self.texts)}, handler(core)]}


def broken_rule(
    what: str, *place: str | int, below: tuple[str | int, ...] = (), code: str = "", do: str = ""
) -> PydanticCustomError:
    """A mistake with the key that is best changed: its place in the file, or below the value that is validated.

    Its code and advice are those of any mistake in a file, unless it brings its own.
    """
    context: dict[str, Any] = {"what": what, "below": below, "code": code, "do": do}
    context |= {"place": place} if place else {}
    return PydanticCustomError("rule", "{what}", context)


class SizeShare(FrozenModel):
    """A block size of a mix, and its share: the weights are those of I/Os, not of bytes."""

    bytes: BlockSize
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)


class OperationMix(FrozenModel):
    """An operation of a mix, with its share, and block sizes and an order of addresses of its own if it has any.

    One that is ``drawn_only`` has its turn and its place, and is not issued.
    """

    operation: OperationName
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    block_sizes: tuple[SizeShare, ...] = ()
    access: Annotated[Access | None, _table_of("kind"), _OrText(get_args(AccessKind))] = None
    drawn_only: bool = False


class WorkloadKeys(FrozenModel):
    """The keys themselves; what they mean together is told by `drivelab.model.workload_pattern.WorkloadPattern`."""

    # fmt: off
    operation: OperationName = key(
        "write", "what is done: the first three to blocks, the others to files of a tree (with `file_count`)", WHAT,
        "read, write, trim, or a mix: read:70,write:30. With --files: see below.", typed="read")
    operations: tuple[OperationMix, ...] = key(
        (), "a mix of operations; takes the place of `operation` and `read_fraction`", takes="a list of tables",
        written="[]")
    read_fraction: float | None = key(
        None, "share of reads in a mix with writes; takes the place of `operation`", takes="0 to 1", written="", ge=0,
        le=1)
    access: Annotated[Access, _table_of("kind"), _OrText(get_args(AccessKind))] = key(
        Access(kind="sequential"), "order of the addresses; of files `sequential` is that of their names and `random` "
        "a random one", WHAT,
        f"{_names(AccessKind)} pareto:0.2, normal:10%, zoned:50/5:30/15:20/80. Default: random; "
        "sequential for append and --files.", typed=None,
        takes="`sequential`, `reverse`, `random`, `strided`, `same`, `zipf`, `pareto`, `normal`, `hot_cold`, `zoned`, "
        "or a table",
        written='"sequential"')
    block_size: BlockSize = key(
        4096, "bytes of one I/O, at most 1 GiB", WHAT, "Bytes of one I/O, or a mix: 4KiB:80,64KiB:20.", typed="4KiB",
        unit="size", written='"4KiB"')
    block_sizes: tuple[SizeShare, ...] = key(
        (), "a mix of sizes; takes the place of `block_size`", takes="a list of tables", written="[]")
    queue_depth: int = key(1, "I/Os that each job keeps outstanding", WHAT, ge=1, le=4096)
    submission_batch: int = key(
        0, "I/Os that are sent with one call at most, up to `queue_depth`; 0: as many as there are", ge=0, le=4096)
    completion_batch: int = key(
        0, "completions that one look takes at most, up to `queue_depth`; 0: all", ge=0, le=4096)
    completion_batch_min: int = key(
        0, "completions that a look waits for, where so many are outstanding; 0: one", ge=0, le=4096)
    refill_depth: int = key(
        0, "I/Os still outstanding when slots that were all in use are filled again; 0: at once", ge=0, le=4096)
    job_count: int = key(1, "jobs side by side, each in its own part of the range", WHAT, flag="jobs", ge=1, le=1024)
    backend: BackendName = key(
        "auto", "how I/O is issued; `sync` is one thread that waits for `pread` and `pwrite`, as most programs do; "
        "`uring-cmd` sends NVMe commands past the block layer, to a whole drive; "
        "`posixaio` is `aio_read` and `aio_write`, which a thread of the C library does one after the other for each "
        "job; `mmap` copies from and to a mapping; `stdio` is `fread` and `fwrite` with the buffer of the C library; "
        "`splice` moves pages through a pipe, `falloc` reserves space and moves nothing",
        HOW, _names(BackendName))
    direct: bool = key(False, "whether the page cache is bypassed (O_DIRECT)", HOW, "Bypass the page cache (O_DIRECT).")
    cache_advice: CacheAdvice = key(
        "none", "what the kernel is told of the order of addresses; it reads farther ahead, or nothing ahead")
    drop_cache_each_pass: bool = key(
        False, "whether the page cache gives up the range whenever an order of addresses begins again, or, where none "
        "does, after as many bytes as the range has")
    stat_before_write: bool = key(
        False, "whether the file's attributes are asked for before each write, as programs do that look how much room "
        "is left")
    durability: DurabilityMethod = key(
        "none", "how writes are made durable; the last makes nothing durable, it only starts the writing", HOW,
        _names(DurabilityMethod))
    sync_every_writes: Annotated[int, Field(ge=1)] | Literal["end"] = key(
        1, "writes before each sync call; `end`: one after the last write", HOW, "Writes per sync call.",
        flag="sync_every", typed=1, takes='a number, or `"end"`', written="1")
    last_sync: LastSync = key(
        "due", "whether a sync call follows the last write of a job: where one is due after it, or always and apart "
        "from it")
    sync_order: SyncOrder = key(
        "after_write", "when a sync call is due: when so many writes have ended; or, as in fio until 3.37, before "
        "another I/O once so many were issued, and again until what ended last is a sync call")
    zoned_drive: ZonedDrive = key(
        ZonedDrive(), "how the zones of a drive are used that takes writes only at write pointers", takes="a table",
        written="{ is_used = false }")
    file_state: FileState = key(
        "overwrite", "what the file is like before: written, empty and growing, with space that is only reserved, with "
        "a length and no space; on a bare device there is no such difference, and everything overwrites", WRITTEN,
        f"Before the writes: {_names(FileState)}")
    file_size: ByteCount = key(
        0, "size of the file where the target is a file system; not needed to append, nor for one pass over space that "
        "is reserved or sparse: then it is as large as what is written", FILES,
        "Bytes of a file, or of the largest one.", unit="size")
    fill_level: Share = key(
        1.0, "part of the device or file that is used: its start", takes="a share: `20%`, 0.2", written="1.0")
    range_size: ByteCount = key(
        0, "bytes of the device or file that are used, in place of `fill_level`; 0: all", WHERE,
        "Bytes of the range used; 0 is the whole target.", flag="size", unit="size")
    offset: ByteCount = key(
        0, "where in the device or file that part begins; nothing before it is used", WHERE, "Bytes before the range.",
        unit="size")
    shift: ByteCount = key(
        0, "added to every address: the first write begins there, and all later ones are moved by as much; an appended "
        "file begins with a hole of that size", WHERE, "Bytes added to every aligned offset.", unit="size")
    contents: Annotated[Contents, _table_of("kind"), _OrText(("random", "zeros"))] = key(
        Contents(), "what is written; zeros and repeats are compressed away by many drives and file systems",
        takes="`random`, `zeros`, or a table", written='"random"')
    pacing: Pacing = key(
        Pacing(), "when the next I/O is issued: after a completion, or by a schedule", takes="a table",
        written='{ kind = "closed" }')
    count: int = key(0, "I/Os after which it ends; 0 is no limit", HOW_LONG, "I/Os over all jobs; 0 is no limit.", ge=0)
    bytes: ByteCount = key(
        0, "bytes after which it ends; 0 is no limit", HOW_LONG, "Bytes over all jobs; 0 is no limit.", unit="size")
    capacities: float = key(
        0.0, "bytes after which it ends, as a multiple of the size of the device or file; 0 is no limit", written="0",
        ge=0, le=1000)
    runtime: DurationNs = key(
        0, "time after which it ends", HOW_LONG, "Time measured: 5s, 2min. Default: 5s, without --count and --bytes.",
        typed=None, unit="time")
    precision: Share | None = key(
        None, "ends it before its `runtime`, as soon as the number that it is judged by is known so well: half of its "
        "95 % interval, as a share of the number", HOW_LONG,
        "End when the result is known to within 2%, 1min at most or --runtime.", typed=None, unit="share",
        takes='a share: `"2 %"`, 0.02', written="")
    enough_bytes: ByteCount = key(
        0, "bytes that are enough: once they are moved it ends before its `runtime`", unit="size")
    enough_after: DurationNs = key(
        0, "time that it measures at least although it has moved `enough_bytes`", unit="time")
    watches_burst: bool = key(
        False, "whether it goes on until a burst has ended, its `runtime` at most, and then rests twice to see what "
        "comes back: see the experiment burst")
    start_delay: DurationNs = key(
        0, "wait before its first I/O, when those of the same `together` have begun", unit="time")
    ends_others: bool = key(False, "whether those of the same `together` end when it has ended")
    ramp: DurationNs = key(0, "time of I/O before, which is not counted", HOW_LONG, unit="time")
    interval: DurationNs = key(
        100_000_000, "length of an interval of the time series; a trial should last 20 or more", HOW_LONG,
        "Length of one interval of the series.", typed="100ms", unit="time", written='"100ms"', ge=1_000_000)
    rewrite_fraction: float = key(
        0.0, "share of the reads that are written back, changed, to the same place right after", WHAT,
        "Share of the reads that are written back at once, changed: 10%.", flag="rewrite", unit="share", ge=0, le=1)
    share_range: bool = key(
        False, "whether all jobs work on the whole range, or on the same directories", WHAT,
        "Let every job use the whole range.")
    own_files: bool = key(False, "whether each job has a file of its own, of `file_size`, in place of a part of one")
    job_files: JobFiles = key(
        JobFiles(), "several files for each job (`sync`, `uring`, `aio`): `file_size`, `offset` and `range_size` are "
        "those of each file; a call after writes is for the file written last, or the one whose turn it is",
        takes="a table", written="{ count = 1 }")
    pin_cpus: tuple[int, ...] = key(
        (), "processors that the jobs run on, in turn", HOW,
        "Processors for the jobs, in turn: 0,2-3. Default: not pinned.", flag="pin", typed="",
        takes="a list of numbers", written="[]")
    polled_completion: bool = key(
        False, "whether completions are polled for at the device (`uring`)", HOW,
        "Poll instead of waiting for interrupts.")
    polled_submission: bool = key(
        False, "whether a thread of the kernel takes submissions (`uring`)", HOW,
        "Let a kernel thread submit (io_uring).")
    submission_latency: SubmissionLatency = key(
        "sampled", "of which I/Os the submission is timed where one call can send and wait; `all` takes a call more "
        "for each batch", HOW, _names(SubmissionLatency))
    verify: bool = key(
        False, "whether what is read is checked against what was written there", WHAT,
        "Check that each block read is the one of its place.")
    file_count: int = key(
        0, "operations on files: how many files there are, over all jobs", FILES,
        f"Files of all jobs; --operation is then {_names(TreeOperationName)}", flag="files", ge=0, lt=2**31)
    file_size_min: ByteCount | None = key(
        None, "operations on files: sizes are evenly spread from here to `file_size`; left out: all of `file_size`",
        FILES, "Bytes of the smallest one. Default: all are alike.", typed=None, unit="size", written="")
    directory_count: int = key(
        0, "operations on files: directories they lie in; 0: all in one", FILES,
        "Directories that hold equally many each; 0: all in one.", flag="directories", ge=0, lt=2**24)
    directory_depth: int = key(
        1, "operations on files: how many levels deep the directories lie", FILES, "Levels of directories.",
        flag="depth", ge=1, le=64)
    sync_directory: bool = key(
        False, "operations on files: whether the directory is made durable after each of them, too", FILES,
        "Make the directory durable after each operation.")
    record_ios: bool = key(False, "whether every single I/O is kept (`ios/TRIAL.parquet`)")
    record_jobs: bool = key(False, "whether the numbers of each job are kept beside those of all (`jobs`)")
    # fmt: on
