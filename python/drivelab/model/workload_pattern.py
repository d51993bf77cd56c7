"""A workload pattern: what I/O is issued, before it is known where to.

Sizes and times are written with their unit (``"512"``, ``"128MiB"``, ``"5s"``)
and held in bytes and ns; shares are written as ``"20%"`` and held as 0.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from drivelab.model.quantities import BlockSize, ByteCount, DurationNs, Share
from drivelab.model.workload import (
    READING_OPERATIONS,
    TREE_OPERATIONS,
    Access,
    AccessKind,
    BackendName,
    BlockSizeShare,
    CacheAdvice,
    Contents,
    Durability,
    DurabilityMethod,
    FileState,
    LastSync,
    Limits,
    OperationName,
    OperationShare,
    Pacing,
    TargetRange,
    Tree,
    Workload,
    any_ends_durable,
)


def _table_of(key: str) -> BeforeValidator:
    """Let a bare string stand for a table with one key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


@dataclass(frozen=True)
class _OrText:
    """What an editor accepts beside a table: one of its kinds alone."""

    texts: tuple[str, ...]

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(self.texts)}, handler(core)]}


_DURATIONS = ("runtime", "ramp", "interval", "start_delay")


class FrozenModel(BaseModel):
    """Base of what an experiment's file is made of: it cannot be changed, and knows no other keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
    """An operation of a mix, with its share, and block sizes and an order of addresses of its own if it has any."""

    operation: OperationName
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    block_sizes: tuple[SizeShare, ...] = ()
    access: Annotated[Access | None, _table_of("kind"), _OrText(get_args(AccessKind))] = None


class WorkloadPattern(FrozenModel):
    """What I/O is issued, before it is known where to.

    The keys mean what they mean in `drivelab.model.workload.Workload`; a
    workload ends at the first of `count`, `bytes` and `runtime` that it meets,
    and must have one. `file_size` is the size of the file that is read or
    overwritten where the target is a file system. `fill_level` is the share of
    the target, or of that file, that is used: its start, or what follows `offset`.
    `capacities` is a limit of bytes, as a multiple of the target's size.
    `sync_every_writes` is a number of writes, or ``"end"``: one sync call after
    the last write; where there are others, `last_sync` says whether the last write
    has one. `block_sizes` is a mix of sizes and takes the place of `block_size`;
    so does `operations`, a mix of operations, of `operation` and `read_fraction`.
    With `own_files` each job has a file of its own of `file_size`, where files are made; jobs of a device have
    parts of `range_size` each there. `range_size` is how much of the target or
    file is used, in bytes, in place of `fill_level`.

    Operations on files (`drivelab.model.workload.TREE_OPERATIONS`) need a
    `file_count`. Their files are of `file_size`, or of sizes from `file_size_min`
    to `file_size`, in `directory_count` directories of a `directory_depth`; without
    another limit each file has its turn once. `sync_directory` makes directories
    durable, too.
    """

    operation: OperationName = "write"
    operations: tuple[OperationMix, ...] = ()
    read_fraction: float | None = Field(default=None, ge=0, le=1)
    access: Annotated[Access, _table_of("kind"), _OrText(get_args(AccessKind))] = Access(kind="sequential")
    block_size: BlockSize = 4096
    block_sizes: tuple[SizeShare, ...] = ()
    queue_depth: int = Field(default=1, ge=1, le=4096)
    submission_batch: int = Field(default=0, ge=0, le=4096)
    job_count: int = Field(default=1, ge=1, le=1024)
    backend: BackendName = "auto"
    direct: bool = False
    cache_advice: CacheAdvice = "none"
    drop_cache_each_pass: bool = False
    durability: DurabilityMethod = "none"
    sync_every_writes: Annotated[int, Field(ge=1)] | Literal["end"] = 1
    last_sync: LastSync = "due"
    blocking_sync: bool = False
    file_state: FileState = "overwrite"
    file_size: ByteCount = 0
    fill_level: Share = 1.0
    offset: ByteCount = 0
    shift: ByteCount = 0
    contents: Annotated[Contents, _table_of("kind"), _OrText(("random", "zeros"))] = Contents()
    pacing: Pacing = Pacing()
    count: int = Field(default=0, ge=0)
    bytes: ByteCount = 0
    capacities: float = Field(default=0.0, ge=0, le=1000)
    runtime: DurationNs = 0
    start_delay: DurationNs = 0
    ends_others: bool = False
    ramp: DurationNs = 0
    interval: DurationNs = 100_000_000
    record_ios: bool = False
    rewrite_fraction: float = Field(default=0.0, ge=0, le=1)
    share_range: bool = False
    own_files: bool = False
    range_size: ByteCount = 0
    pin_cpus: tuple[int, ...] = ()
    polled_completion: bool = False
    polled_submission: bool = False
    verify: bool = False
    file_count: int = Field(default=0, ge=0, lt=2**31)
    file_size_min: ByteCount | None = None
    directory_count: int = Field(default=0, ge=0, lt=2**24)
    directory_depth: int = Field(default=1, ge=1, le=64)
    sync_directory: bool = False

    @model_validator(mode="after")
    def _ends(self) -> Self:
        # a tree ends with its last file
        if not (self.count or self.bytes or self.capacities or self.runtime or self.uses_tree):
            raise ValueError("the workload would never end: give it a count, bytes, capacities or a runtime")
        return self

    @model_validator(mode="after")
    def _has_one_kind_of_size(self) -> Self:
        if self.block_sizes and "block_size" in self.model_fields_set:
            raise broken_rule("there is block_size and block_sizes: leave one of them out", below=("block_sizes",))
        sizes = [share.bytes for share in self.block_sizes]
        for place, size in enumerate(sizes):
            if size in sizes[:place]:
                raise broken_rule(
                    f"there are two of the size {size} B: add their weights", below=("block_sizes", place)
                )
        return self

    @model_validator(mode="after")
    def _begins_where_it_can(self) -> Self:
        if self.offset and self.file_state == "append":
            raise broken_rule("what is appended begins at the end of the file: leave offset out", below=("offset",))
        return self

    @model_validator(mode="after")
    def _has_one_kind_of_operation(self) -> Self:
        if self.operations and ({"operation", "read_fraction"} & self.model_fields_set):
            what = "there is operations beside operation or read_fraction: leave one of them out"
            raise broken_rule(what, below=("operations",))
        names = [mix.operation for mix in self.operations]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise broken_rule(f"there are two of {name}: add their weights", below=("operations", place))
        return self

    @model_validator(mode="after")
    def _is_of_blocks_or_of_files(self) -> Self:
        of_files = [name in TREE_OPERATIONS for name in self.operation_names]
        if any(of_files) and not all(of_files):
            raise ValueError("operations on files and on blocks cannot be mixed: make two workloads of them")
        if any(of_files) and any(mix.access for mix in self.operations):
            raise broken_rule("only operations on blocks have an access of their own", below=("operations",))
        if any(of_files) and not self.file_count:
            raise ValueError(f"{self.operation_names[0]} works on a tree of files: give it a file_count")
        if self.file_count and not any(of_files):
            raise ValueError(f"file_count is for operations on files: {', '.join(TREE_OPERATIONS)}")
        if self.file_size_min is not None and self.file_size_min > self.file_size:
            raise broken_rule("file_size_min is above file_size", below=("file_size_min",))
        return self

    @property
    def operation_names(self) -> tuple[OperationName, ...]:
        """The operations that are issued: one, or those of the mix."""
        return tuple(share.operation for share in self._operations())

    @property
    def uses_tree(self) -> bool:
        """Whether the operations are on a tree of files."""
        return self.operation_names[0] in TREE_OPERATIONS

    @property
    def own_file_count(self) -> int:
        """How many files its jobs have, of `file_size` each."""
        return self.job_count if self.own_files else 1

    @property
    def writes(self) -> bool:
        """Whether the workload changes the contents of its target."""
        return self.rewrite_fraction > 0 or any(name not in READING_OPERATIONS for name in self.operation_names)

    @property
    def is_durable(self) -> bool:
        """Whether the latency of some operation ends when what it changed is durable."""
        return any_ends_durable(self.operation_names, self.rewrite_fraction, self._durability())

    def used_bytes(self, size_bytes: int, logical_block_size_bytes: int) -> int:
        """Bytes of a target or file of `size_bytes` that are used: those from `offset` on, in whole blocks."""
        if self.range_size:
            return max(0, min(self.range_size, size_bytes - self.offset))
        if self.fill_level == 1:
            return max(0, size_bytes - self.offset)
        unit = max(self.largest_block_bytes, logical_block_size_bytes)
        return max(unit, min(int(size_bytes * self.fill_level), size_bytes - self.offset) // unit * unit)

    def changed(self, **values: object) -> WorkloadPattern:
        """The pattern with some keys set to other values, validated again."""
        given = {name: getattr(self, name) for name in WorkloadPattern.model_fields if name in self.model_fields_set}
        # one size takes the place of a mix, and the other way round
        for name, other in (("block_size", "block_sizes"), ("block_sizes", "block_size")):
            if values.get(name):
                given.pop(other, None)
        # a bare number is refused as a duration, because nobody can tell its unit
        durations = {name: f"{given[name]}ns" for name in _DURATIONS if name in given}
        return WorkloadPattern.model_validate(given | durations | values)

    def to_json(self) -> dict[str, Any]:
        """The keys that differ from their defaults, as `from_json` reads them."""
        given = self.model_dump(mode="json", include=set(WorkloadPattern.model_fields), exclude_defaults=True)
        return given | {name: f"{given[name]}ns" for name in _DURATIONS if name in given}

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> WorkloadPattern:
        """The pattern that `to_json` wrote."""
        return WorkloadPattern.model_validate(dict(document))

    @property
    def sizes(self) -> tuple[SizeShare, ...]:
        """The block sizes with their shares: one, or those of the mix."""
        return self.block_sizes or (SizeShare(bytes=self.block_size),)

    @property
    def largest_block_bytes(self) -> int:
        """The block size, or the largest one of the mix."""
        return max((share.bytes for share in self.block_sizes), default=self.block_size)

    @property
    def mean_block_bytes(self) -> float:
        """The block size, or the mean over the I/Os of the mix."""
        if not self.block_sizes:
            return self.block_size
        weights = sum(share.weight for share in self.block_sizes)
        return sum(share.bytes * share.weight for share in self.block_sizes) / weights

    @property
    def count_limit(self) -> int:
        """I/Os after which the workload ends, by count or bytes; 0 when only time ends it.

        With several block sizes those that `bytes` come to are a mean.
        """
        by_bytes = (
            math.ceil(self.bytes / self.mean_block_bytes) if self.block_sizes else -(-self.bytes // self.block_size)
        )
        return min((limit for limit in (self.count, by_bytes) if limit), default=0)

    @property
    def most_bytes(self) -> int:
        """Bytes that it moves at most, by count or bytes; 0 when only time ends it."""
        if not self.block_sizes:
            return self.count_limit * self.block_size
        # the last I/O may reach beyond the limit
        limits = [self.count * self.largest_block_bytes, self.bytes and self.bytes + self.largest_block_bytes - 1]
        return min((limit for limit in limits if limit), default=0)

    def on(self, target: TargetRange, *, seed: int) -> Workload:
        """The workload that issues this pattern to `target`, from its own offset on."""
        return Workload(
            target=target.model_copy(update={"offset_bytes": target.offset_bytes + self.offset}),
            backend=self.backend,
            operations=self._operations(),
            block_sizes=tuple(BlockSizeShare(bytes=each.bytes, weight=each.weight) for each in self.sizes),
            access=_with_stride(self.access, self.largest_block_bytes),
            shift_bytes=self.shift,
            queue_depth=self.queue_depth,
            submission_batch=self.submission_batch,
            job_count=self.job_count,
            share_range=self.share_range,
            own_files=self.own_files,
            direct=self.direct,
            cache_advice=self.cache_advice,
            drop_cache_each_pass=self.drop_cache_each_pass,
            durability=self._durability(),
            file_state=self.file_state,
            contents=self.contents,
            pacing=self.pacing,
            limits=Limits(runtime_ns=self.runtime, bytes=self.bytes, count=self.count),
            start_delay_ns=self.start_delay,
            ends_others=self.ends_others,
            ramp_ns=self.ramp,
            interval_ns=self.interval,
            seed=seed,
            record_ios=self.record_ios,
            pin_cpus=self.pin_cpus,
            polled_completion=self.polled_completion,
            polled_submission=self.polled_submission,
            rewrite_fraction=self.rewrite_fraction,
            tree=self._tree(),
            verify=self.verify,
        )

    def _durability(self) -> Durability:
        at_end = self.sync_every_writes == "end"
        every_writes = 1 if self.sync_every_writes == "end" else self.sync_every_writes
        return Durability(
            method=self.durability,
            every_writes=every_writes,
            at_end=at_end,
            last=self.last_sync,
            blocking=self.blocking_sync,
            directory=self.sync_directory,
        )

    def _tree(self) -> Tree | None:
        if not self.uses_tree:
            return None
        return Tree(
            file_count=self.file_count,
            directory_count=self.directory_count,
            depth=self.directory_depth,
            file_bytes_min=self.file_size if self.file_size_min is None else self.file_size_min,
            file_bytes_max=self.file_size,
        )

    def _share(self, mix: OperationMix) -> OperationShare:
        largest = max((size.bytes for size in mix.block_sizes), default=self.largest_block_bytes)
        access = mix.access and _with_stride(mix.access, largest)
        return OperationShare.model_validate(mix.model_dump() | {"access": access})

    def _operations(self) -> tuple[OperationShare, ...]:
        if self.operations:
            return tuple(self._share(mix) for mix in self.operations)
        if self.read_fraction is None or self.read_fraction in (0, 1):
            whole: OperationName = self.operation if self.read_fraction is None else _of_fraction(self.read_fraction)
            return (OperationShare(operation=whole),)
        writes = OperationShare(operation="write", weight=1 - self.read_fraction)
        return (OperationShare(operation="read", weight=self.read_fraction), writes)


def _with_stride(access: Access, largest_block_bytes: int) -> Access:
    """The order of the addresses; without a stride every other block is left out."""
    if access.kind != "strided" or access.stride_bytes:
        return access
    return access.model_copy(update={"stride_bytes": 2 * largest_block_bytes})


def _of_fraction(read_fraction: float) -> OperationName:
    return "read" if read_fraction == 1 else "write"
