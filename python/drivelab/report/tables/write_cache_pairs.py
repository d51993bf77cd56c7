"""What a drive does with its write cache on, and with it off, everything else being equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.result_set import Observation
from drivelab.report.tables.drive_rows import DriveRow
from drivelab.report.tables.number import Number, number_of
from drivelab.report.tables.small_writes import (
    FILESYSTEM,
    LARGE_WRITE_BYTES,
    WRITE_CACHE,
    SmallWrite,
    other_levels,
)

_RAW = "raw"


@dataclass(frozen=True, slots=True)
class CachePair:
    """A number with the write cache on and off.

    Attributes
    ----------
    filesystem : str
        Where both were measured; ``raw`` wherever it was.
    """

    on: Number
    off: Number
    filesystem: str


def latency_pair(row: DriveRow, write: SmallWrite) -> CachePair | None:
    """The latency of a small durable write on a row's drive; None unless both states were measured alike."""
    return _pair(write.of(row).values())


def bandwidth_pair(row: DriveRow) -> CachePair | None:
    """The most that a row's drive wrote in any workload of large writes, and the same workload in the other state."""
    workloads: dict[tuple[str, int | None], list[Observation]] = {}
    for one in row.observations:
        is_large = one.block_size_bytes is not None and one.block_size_bytes >= LARGE_WRITE_BYTES
        if is_large and one.metric == THROUGHPUT and "write" in one.operation:
            workloads.setdefault((one.workload, one.block_size_bytes), []).append(one)
    pairs = [pair for found in workloads.values() if (pair := _pair(found)) is not None]
    return max(pairs, key=lambda pair: max(pair.on.value or 0.0, pair.off.value or 0.0), default=None)


def _pair(observations: Iterable[Observation]) -> CachePair | None:
    """On and off with the same file system and the same levels of all other factors; TRIM on and off are averaged."""
    members: dict[tuple[object, ...], dict[str, list[Observation]]] = {}
    for one in observations:
        alike = (one.levels.get(FILESYSTEM, ""), other_levels(one.levels))
        members.setdefault(alike, {}).setdefault(one.levels.get(WRITE_CACHE, ""), []).append(one)
    both = [place for place, found in members.items() if {"on", "off"} <= found.keys()]
    if not both:
        return None
    place = min(both, key=lambda each: each[0] != _RAW)
    on, off = number_of(members[place]["on"]), number_of(members[place]["off"])
    return CachePair(on, off, str(place[0])) if on is not None and off is not None else None


def write_of_rows(rows: Sequence[DriveRow], writes: Sequence[SmallWrite]) -> dict[str, SmallWrite]:
    """By the name of a row, the workload whose latency it tells with the write cache on and off.

    It is the one that most rows have, so that as many as can be are compared; rows that have none are left out.
    """
    counts = [sum(latency_pair(row, write) is not None for row in rows) for write in writes]
    ordered = [write for _, write in sorted(zip(counts, writes, strict=True), key=lambda pair: -pair[0])]
    found = {row.name: next((write for write in ordered if latency_pair(row, write)), None) for row in rows}
    return {name: write for name, write in found.items() if write is not None}
