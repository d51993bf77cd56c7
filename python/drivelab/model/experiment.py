"""An experiment: a question, the factors it varies, and the I/O it issues.

The built-in experiments and a user's own are TOML files of this format; the
names of the fields are the keys of the file. Sizes and times are written with
their unit (``"512"``, ``"128MiB"``, ``"5s"``) and held in bytes and ns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from drivelab.model.errors import DrivelabError
from drivelab.model.units import parse_bytes, parse_duration_ns
from drivelab.model.workload import (
    Access,
    BackendName,
    BlockSizeShare,
    Contents,
    Durability,
    DurabilityMethod,
    FileState,
    Limits,
    OperationName,
    OperationShare,
    Pacing,
    TargetRange,
    Workload,
)

FileSystemType = Literal["raw", "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,39}$")]


def _bytes(value: object) -> object:
    return _with_unit(value, parse_bytes)


def _nanoseconds(value: object) -> object:
    if isinstance(value, int):
        raise ValueError('write a duration with its unit, in quotes: "5s"')
    return _with_unit(value, parse_duration_ns)


def _with_unit(value: object, parse: Any) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except DrivelabError as error:
        raise ValueError(f"{error.what}; {error.do}") from error


def _table_of(key: str) -> BeforeValidator:
    """Let a bare string stand for a table with one key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


ByteCount = Annotated[int, BeforeValidator(_bytes), Field(ge=0)]
BlockSize = Annotated[int, BeforeValidator(_bytes), Field(ge=1, le=2**30)]
DurationNs = Annotated[int, BeforeValidator(_nanoseconds), Field(ge=0)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WorkloadPattern(_Frozen):
    """What I/O is issued, before it is known where to.

    The keys mean what they mean in `drivelab.model.workload.Workload`; a
    workload ends at the first of `count`, `bytes` and `runtime` that it meets,
    and must have one. `file_size` is the size of the file that is read or
    overwritten where the target is a file system.
    """

    operation: OperationName = "write"
    read_fraction: float | None = Field(default=None, ge=0, le=1)
    access: Annotated[Access, _table_of("kind")] = Access(kind="sequential")
    block_size: BlockSize = 4096
    queue_depth: int = Field(default=1, ge=1, le=4096)
    job_count: int = Field(default=1, ge=1, le=1024)
    backend: BackendName = "auto"
    direct: bool = False
    durability: DurabilityMethod = "none"
    sync_every_writes: int = Field(default=1, ge=1)
    file_state: FileState = "overwrite"
    file_size: ByteCount = 0
    shift: ByteCount = 0
    contents: Annotated[Contents, _table_of("kind")] = Contents()
    pacing: Pacing = Pacing()
    count: int = Field(default=0, ge=0)
    bytes: ByteCount = 0
    runtime: DurationNs = 0
    ramp: DurationNs = 0
    interval: DurationNs = 100_000_000
    record_ios: bool = False

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if not (self.count or self.bytes or self.runtime):
            raise ValueError("the workload would never end: give it a count, bytes or a runtime")
        return self

    @property
    def writes(self) -> bool:
        """Whether the workload changes the contents of its target."""
        return self.operation != "read" or (self.read_fraction is not None and self.read_fraction < 1)

    def changed(self, **values: object) -> WorkloadPattern:
        """The pattern with some keys set to other values, validated again."""
        given = {name: getattr(self, name) for name in WorkloadPattern.model_fields}
        # a bare number is refused as a duration, because nobody can tell its unit
        durations = {name: f"{given[name]}ns" for name in ("runtime", "ramp", "interval")}
        return WorkloadPattern.model_validate(given | durations | values)

    def on(self, target: TargetRange, *, seed: int) -> Workload:
        """The workload that issues this pattern to `target`."""
        return Workload(
            target=target,
            backend=self.backend,
            operations=self._operations(),
            block_sizes=(BlockSizeShare(bytes=self.block_size),),
            access=self.access,
            shift_bytes=self.shift,
            queue_depth=self.queue_depth,
            job_count=self.job_count,
            direct=self.direct,
            durability=Durability(method=self.durability, every_writes=self.sync_every_writes),
            file_state=self.file_state,
            contents=self.contents,
            pacing=self.pacing,
            limits=Limits(runtime_ns=self.runtime, bytes=self.bytes, count=self.count),
            ramp_ns=self.ramp,
            interval_ns=self.interval,
            seed=seed,
            record_ios=self.record_ios,
        )

    def _operations(self) -> tuple[OperationShare, ...]:
        if self.read_fraction is None or self.read_fraction in (0, 1):
            whole: OperationName = self.operation if self.read_fraction is None else _of_fraction(self.read_fraction)
            return (OperationShare(operation=whole),)
        writes = OperationShare(operation="write", weight=1 - self.read_fraction)
        return (OperationShare(operation="read", weight=self.read_fraction), writes)


def _of_fraction(read_fraction: float) -> OperationName:
    return "read" if read_fraction == 1 else "write"


class ExperimentWorkload(WorkloadPattern):
    """A named workload of an experiment; `quick` holds the keys that differ when it is scaled down."""

    name: Name
    title: str = ""
    quick: Mapping[str, Any] = Field(default_factory=dict)

    def pattern(self, *, quick: bool = False) -> WorkloadPattern:
        """The pattern at full size, or scaled down."""
        return self.changed(**(self.quick if quick else {}))


class FileSystemLevel(_Frozen):
    """A file system made on the target and mounted, or ``raw``: none at all."""

    type: FileSystemType
    name: Name
    mkfs_options: tuple[str, ...] = ()
    mount_options: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _named_after_its_type(cls, value: object) -> object:
        given = {"type": value} if isinstance(value, str) else value
        return {"name": given.get("type"), **given} if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _raw_has_no_options(self) -> Self:
        if self.type == "raw" and (self.mkfs_options or self.mount_options):
            raise ValueError("raw has neither mkfs_options nor mount_options")
        return self


class FileSystemFactor(_Frozen):
    """Varies the file system that lies between the workload and the drive."""

    setting: Literal["filesystem"]
    levels: tuple[FileSystemLevel, ...] = Field(min_length=1)

    @property
    def name(self) -> str:
        """Name of the factor in tables and figures."""
        return "filesystem"

    @property
    def level_names(self) -> tuple[str, ...]:
        """Names of the levels, in the order of the file."""
        return tuple(level.name for level in self.levels)


class WorkloadFactor(_Frozen):
    """Varies one key of the workloads: all of them, or those that are named."""

    setting: Literal["workload"]
    key: Literal[tuple(WorkloadPattern.model_fields)]  # type: ignore[valid-type]
    levels: tuple[bool | int | float | str, ...] = Field(min_length=1)
    workloads: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the factor in tables and figures: the key."""
        return str(self.key)

    @property
    def level_names(self) -> tuple[str, ...]:
        """The levels as written in the file."""
        return tuple(str(level).lower() if isinstance(level, bool) else str(level) for level in self.levels)


Factor = Annotated[FileSystemFactor | WorkloadFactor, Field(discriminator="setting")]


class Scale(_Frozen):
    """How often every combination of factors is measured, in each of two sizes."""

    full: int = Field(default=5, ge=1, le=1000)
    quick: int = Field(default=3, ge=1, le=1000)


class Experiment(_Frozen):
    """One experiment, as its file has it."""

    format: Literal[1]
    name: Name
    question: str = Field(min_length=1)
    description: str = ""
    source: str = ""
    repeats: Scale = Scale()
    factors: tuple[Factor, ...] = ()
    workloads: tuple[ExperimentWorkload, ...] = Field(min_length=1)
    tables: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        _refuse_doubles("workload", [workload.name for workload in self.workloads])
        _refuse_doubles("factor", [factor.name for factor in self.factors])
        for factor in self.factors:
            _refuse_doubles(f"level of {factor.name}", list(factor.level_names))
        return self

    @model_validator(mode="after")
    def _factors_name_workloads(self) -> Self:
        known = {workload.name for workload in self.workloads}
        for factor in self.factors:
            unknown = sorted(set(factor.workloads) - known) if isinstance(factor, WorkloadFactor) else []
            if unknown:
                raise ValueError(f"factor {factor.name} names a workload that is not there: {', '.join(unknown)}")
        return self

    @property
    def filesystem_factor(self) -> FileSystemFactor | None:
        """The factor that varies the file system, if there is one."""
        return next((factor for factor in self.factors if isinstance(factor, FileSystemFactor)), None)


def _refuse_doubles(what: str, names: list[str]) -> None:
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise ValueError(f"there are two of the {what} {', '.join(doubles)}")
