"""A workload pattern: what I/O is issued, before it is known where to.

Sizes and times are written with their unit (``"512"``, ``"128MiB"``, ``"5s"``)
and held in bytes and ns; shares are written as ``"20%"`` and held as 0.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

from pydantic import (
    model_validator,
)

from drivelab.model.tree import Tree
from drivelab.model.workload import (
    READING_OPERATIONS,
    TREE_OPERATIONS,
    Access,
    BlockSizeShare,
    Durability,
    Limits,
    OperationName,
    OperationShare,
    TargetRange,
    Workload,
    any_ends_durable,
)
from drivelab.model.workload_keys import OperationMix, SizeShare, WorkloadKeys, broken_rule

_DURATIONS = ("runtime", "enough_after", "ramp", "interval", "start_delay")


class WorkloadPattern(WorkloadKeys):
    """What I/O is issued, before it is known where to: the keys with the rules that they keep, and what follows.

    It ends at the first of `count`, `bytes` and `runtime` that it meets, and must have one. `block_sizes`
    takes the place of `block_size`; so does `operations`, a mix, of `operation` and `read_fraction`.
    Operations on files need a `file_count`; without another limit each file has its turn once.
    """

    @model_validator(mode="after")
    def _ends(self) -> Self:
        # a tree ends with its last file
        if not (self.count or self.bytes or self.capacities or self.runtime or self.uses_tree):
            raise ValueError("the workload would never end: give it a count, bytes, capacities or a runtime")
        return self

    @model_validator(mode="after")
    def _may_take_so_long(self) -> Self:
        if self.precision is not None and not self.runtime:
            what = "precision ends a workload early: say with runtime how long it may take"
            raise broken_rule(what, below=("precision",))
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
    def _can_have_several_files(self) -> Self:
        if self.job_files.count == 1:
            return self
        if self.uses_tree or self.file_state == "append" or self.access.kind == "same" or self.access.zone_bytes:
            what = "several files are for blocks, not appended to, and not for one place or for zones"
            raise broken_rule(what, below=("job_files",))
        if self.backend not in ("auto", "sync", "uring", "aio"):
            raise broken_rule(f"{self.backend} has one file: use sync, uring or aio", below=("job_files",))
        if self.job_count > 1 and not (self.own_files or self.share_range):
            raise broken_rule("jobs have own_files, or share_range of all files", below=("job_files",))
        if self.sync_every_writes not in (1, "end") and self.sync_order == "after_write":
            what = "a call after several writes would make those of one file durable, not of all"
            raise broken_rule(what, below=("sync_every_writes",))
        return self

    @model_validator(mode="after")
    def _has_one_kind_of_operation(self) -> Self:
        if self.operations and ({"operation", "read_fraction"} & self.model_fields_set):
            what = "there is operations beside operation or read_fraction: leave one of them out"
            raise broken_rule(what, below=("operations",))
        names = [mix.operation for mix in self.operations if not mix.drawn_only]
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
        if self.operations:
            return tuple(mix.operation for mix in self.operations if not mix.drawn_only)
        if self.read_fraction is None:
            return (self.operation,)
        return (_of_fraction(self.read_fraction),) if self.read_fraction in (0, 1) else ("read", "write")

    @property
    def uses_tree(self) -> bool:
        """Whether the operations are on a tree of files."""
        return self.operation_names[0] in TREE_OPERATIONS

    @property
    def own_file_count(self) -> int:
        """How many files its jobs have, of `file_size` each."""
        return self.job_files.count * (self.job_count if self.own_files else 1)

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
        # one size takes the place of a mix, and the other way round, as do several operations and one
        instead = {"block_size": "block_sizes", "block_sizes": "block_size"}
        gone = [other for name, other in instead.items() if values.get(name)]
        gone += ["operation", "read_fraction"] if values.get("operations") else []
        told = self.model_fields_set - set(gone)
        given = {name: getattr(self, name) for name in WorkloadPattern.model_fields if name in told}
        # a bare number is refused as a duration, because nobody can tell its unit
        durations = {name: f"{given[name]}ns" for name in _DURATIONS if name in given}
        return WorkloadPattern.model_validate(given | durations | values)

    def reading_back(self) -> WorkloadPattern:
        """The pattern that reads where this one writes, in the same order, and leaves out what this one reads."""
        shares = self._operations()
        if len(shares) == 1:
            return self.changed(operation="read")
        read = [
            share.model_dump() | {"operation": "read", "drawn_only": share.operation != "write"} for share in shares
        ]
        return self.changed(operations=read)

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
        # what both call the same crosses as it is, unless it is named here
        alike = {name: getattr(self, name) for name in Workload.model_fields if name in type(self).model_fields}
        own = {
            "target": target.model_copy(update={"offset_bytes": target.offset_bytes + self.offset}),
            "operations": self._operations(),
            "block_sizes": tuple(BlockSizeShare(bytes=each.bytes, weight=each.weight) for each in self.sizes),
            "access": _with_stride(self.access, self.largest_block_bytes),
            "shift_bytes": self.shift,
            "durability": self._durability(),
            "limits": Limits(
                runtime_ns=self.runtime, bytes=self.bytes, count=self.count, precision=self.precision or 0.0
            ),
            "start_delay_ns": self.start_delay,
            "ramp_ns": self.ramp,
            "interval_ns": self.interval,
            "seed": seed,
            "tree": self._tree(),
        }
        return Workload(**(alike | own))

    def _durability(self) -> Durability:
        at_end = self.sync_every_writes == "end"
        every_writes = 1 if self.sync_every_writes == "end" else self.sync_every_writes
        return Durability(
            method=self.durability,
            every_writes=every_writes,
            at_end=at_end,
            last=self.last_sync,
            order=self.sync_order,
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
            return (OperationShare(operation=self.operation_names[0]),)
        writes = OperationShare(operation="write", weight=1 - self.read_fraction)
        return (OperationShare(operation="read", weight=self.read_fraction), writes)


def _with_stride(access: Access, largest_block_bytes: int) -> Access:
    """The order of the addresses; without a stride every other block is left out."""
    if access.kind != "strided" or access.stride_bytes:
        return access
    return access.model_copy(update={"stride_bytes": 2 * largest_block_bytes})


def _of_fraction(read_fraction: float) -> OperationName:
    return "read" if read_fraction == 1 else "write"
