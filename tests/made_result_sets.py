"""Result sets made by hand, with every number known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drivelab.model.estimate import Estimate
from drivelab.model.result_set import Machine, MeasuredDrive, Observation, ResultSet
from drivelab.report.tables.table import Table

# drive, file system, mount option, write cache, and the latency in ms with both ends of its interval
Cell = tuple[str, str, str, str, float, float | None, float | None]


def observation(
    drive: str, value: float | None, low: float | None = None, high: float | None = None, **parts: Any
) -> Observation:
    """A median latency, in ns, of 512 B that are durable; keywords replace any of its parts."""
    given: dict[str, Any] = {
        "machine": "pike",
        "workload": "small-write",
        "title": "512 B synchronous appends",
        "operation": "durable_write",
        "metric": "total_latency_ns_p50",
        "block_size_bytes": 512,
        "queue_depth": 1,
        "is_durable": True,
        "levels": {"filesystem": "raw", "write-cache": "on"},
    }
    unit = parts.pop("unit", "ns")
    return Observation(
        drive=drive, estimate=Estimate(value, low, high, unit, 1000, 500.0, "made up"), **(given | parts)
    )


def latencies(*cells: Cell, **parts: Any) -> tuple[Observation, ...]:
    """Observations of such cells."""
    found = []
    for drive, filesystem, mount, cache, value, low, high in cells:
        levels = {"filesystem": filesystem, "mount": mount, "write-cache": cache}
        ends = [None if end is None else end * 1e6 for end in (low, high)]
        known = {name: level for name, level in levels.items() if level}
        found.append(observation(drive, value * 1e6, *ends, levels=known, **parts))
    return tuple(found)


def bandwidth(drive: str, value: float, low: float | None, high: float | None, cache: str) -> Observation:
    """A throughput in MB/s of large writes to the bare drive."""
    ends = [None if end is None else end * 1e6 for end in (low, high)]
    return observation(
        drive,
        value * 1e6,
        *ends,
        unit="B/s",
        workload="bandwidth",
        title="large synchronous appends",
        operation="write",
        metric="throughput_bytes_per_s",
        block_size_bytes=128 << 20,
        levels={"filesystem": "raw", "write-cache": cache},
    )


def result_set(
    key: str, *observations: Observation, drives: Mapping[str, Any] | None = None, **parts: Any
) -> ResultSet:
    """A result set whose drives and machines are those of its observations.

    ``drives`` gives facts of a drive by its name.
    """
    names = dict.fromkeys(one.drive for one in observations)
    machines = dict.fromkeys(one.machine for one in observations)
    first_machine = {one.drive: one.machine for one in reversed(observations)}
    facts = drives or {}
    made = tuple(MeasuredDrive(name, **({"machine": first_machine[name]} | facts.get(name, {}))) for name in names)
    given = {"title": key, "question": "?", "source": f"run {key}", "machines": tuple(map(Machine, machines))}
    return ResultSet(key=key, drives=made, observations=tuple(observations), **(given | parts))


def column_texts(table: Table | None) -> Mapping[str, tuple[str, ...]]:
    """The shown texts of a table by the head of their column."""
    assert table is not None
    return {column.full: tuple(row[place].text for row in table.rows) for place, column in enumerate(table.columns)}
