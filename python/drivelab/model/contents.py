"""What is written, and by what a read can tell whether it is right."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from drivelab.model.frozen import FrozenModel
from drivelab.model.told import WRITTEN, key

Check = Literal["stamps", "header", "pattern_header", "md5", "crc32", "crc32c", "sha256", "xxhash"]


class Contents(FrozenModel):
    """What is written: random data unless asked otherwise."""

    # fmt: off
    kind: Literal["random", "zeros", "pattern"] = key(
        "random", "what is written", WRITTEN, "random, zeros, pattern.", flag="contents")
    compressible_fraction: float = key(
        0.0, "part of every 4 KiB that is zeros", WRITTEN, "Part of every block that compresses to nothing, 0 to 1.",
        flag="compressible", ge=0, le=1)
    duplicate_fraction: float = key(
        0.0, "part of the writes that repeat one block", WRITTEN, "Part of the writes that repeat one block, 0 to 1.",
        flag="duplicate", ge=0, le=1)
    pattern: str = key(
        "", "`pattern`: its bytes, two hexadecimal digits each; `%o` is the offset of the block, 8 bytes, the lowest "
        "first", WRITTEN, "Bytes that blocks repeat: deadbeef, or %o for the offset.", written='""',
        pattern="^(?:[0-9a-f]{2}|%o)*$", max_length=8192)
    check: Check = key(
        "stamps", "by what reads are checked: drivelab's stamps in random data, or the pattern itself; else headers as "
        "fio's `verify` writes them, with that sum of what follows")
    check_bytes: int = key(
        0, "distance between two such headers; 0: that of blocks", takes="a number", written="0", ge=0, lt=2**32)
    check_offset: int = key(
        0, "where in each such part its header lies", takes="a number", written="0", ge=0, lt=2**32)
    # fmt: on

    @model_validator(mode="after")
    def _has_its_pattern(self) -> Self:
        if (self.kind == "pattern") != bool(self.pattern):
            raise ValueError("a pattern has bytes, and nothing else has")
        return self
