"""A model of a drive that is simulated: what it is made of, as its file says it and as the engine takes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from drivelab.model.quantities import ByteCount, DurationNs, Share
from drivelab.model.units import parse_bytes


def _per_second(value: object) -> object:
    """Bytes a second, written ``3.5GB/s``."""
    return parse_bytes(value.strip().removesuffix("/s")) if isinstance(value, str) else value


BytesPerSecond = Annotated[int, BeforeValidator(_per_second), Field(gt=0)]
_Count = Annotated[int, Field(ge=1)]


class _Part(BaseModel):
    """A table of the file; each key has its name in the engine beside it where that is another."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Cache(_Part):
    """Memory that takes writes before the medium has them."""

    size: ByteCount = Field(default=0, serialization_alias="size_bytes")
    volatile: bool = Field(default=True, serialization_alias="is_volatile")
    flush: DurationNs = Field(default=0, serialization_alias="flush_ns")


class IoLimit(_Part):
    """A bucket of I/Os, full at first."""

    rate: _Count = Field(serialization_alias="per_s")
    burst: int = Field(default=0, ge=0)


class ByteLimit(_Part):
    """A bucket of bytes, full at first."""

    rate: BytesPerSecond = Field(serialization_alias="per_s")
    burst: ByteCount = 0


class Throttling(_Part):
    """When the medium is slower, again and again."""

    every: DurationNs = Field(serialization_alias="every_ns")
    lasts: DurationNs = Field(serialization_alias="for_ns")
    factor: float = Field(ge=1)


class Errors(_Part):
    """I/Os that fail."""

    reads_per_error: int = Field(default=0, ge=0)
    writes_per_error: int = Field(default=0, ge=0)
    unreadable: tuple[tuple[ByteCount, ByteCount], ...] = ()


class Flash(_Part):
    """The medium of an SSD."""

    raw: ByteCount = Field(serialization_alias="raw_bytes")
    page: ByteCount = Field(4096, serialization_alias="page_bytes")
    block: ByteCount = Field(serialization_alias="block_bytes")
    collection: Literal["greedy", "two-regions"] = "greedy"
    units: _Count
    read: DurationNs = Field(serialization_alias="read_ns")
    program: DurationNs = Field(serialization_alias="program_ns")
    erase: DurationNs = Field(serialization_alias="erase_ns")
    reads_first: bool = False
    metadata: Share | Literal[0] = Field(default=0, serialization_alias="metadata_share")
    merging: ByteCount = Field(default=0, serialization_alias="merging_bytes")
    slc: ByteCount = Field(default=0, serialization_alias="slc_bytes")
    slc_program: DurationNs = Field(default=0, serialization_alias="slc_program_ns")
    idle_after: DurationNs = Field(default=0, serialization_alias="idle_after_ns")
    idle_writable: Share | Literal[0] = Field(default=0, serialization_alias="idle_writable_share")
    compresses: bool = False


class Disk(_Part):
    """The medium of a disk."""

    turn: DurationNs = Field(serialization_alias="turn_ns")
    outer_track: ByteCount = Field(serialization_alias="outer_track_bytes")
    inner_track: ByteCount = Field(serialization_alias="inner_track_bytes")
    zones: _Count
    shortest_seek: DurationNs = Field(serialization_alias="shortest_seek_ns")
    longest_seek: DurationNs = Field(serialization_alias="longest_seek_ns")


class SimulatedModel(_Part):
    """A whole drive.

    Attributes
    ----------
    title : str
        What it is, in a few words.
    command, read_latency, write_latency, jitter : int
        Time of the controller for each command, what is added to reads and to
        all others, and the mean of a random delay, in ns.
    link : int or None
        What the link moves, in bytes a second.
    cache, io_limit, byte_limit, throttling, errors, flash, disk
        Its parts; flash or disk, not both.
    """

    title: str = Field(min_length=1)
    source: str = ""
    size: ByteCount = Field(serialization_alias="size_bytes")
    command: DurationNs = Field(serialization_alias="command_ns")
    read_latency: DurationNs = Field(serialization_alias="read_latency_ns")
    write_latency: DurationNs = Field(serialization_alias="write_latency_ns")
    jitter: DurationNs = Field(default=0, serialization_alias="jitter_ns")
    link: BytesPerSecond | None = Field(default=None, serialization_alias="link_bytes_per_s")
    cache: Cache = Cache()
    io_limit: IoLimit | None = None
    byte_limit: ByteLimit | None = None
    throttling: Throttling | None = None
    errors: Errors = Errors()
    flash: Flash | None = None
    disk: Disk | None = None

    def to_engine(self) -> dict[str, Any]:
        """The model as the engine takes it, in bytes and ns."""
        return self.model_dump(mode="json", by_alias=True, exclude={"title", "source"}, exclude_none=True)
