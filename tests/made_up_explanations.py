"""Explanations of made-up operations, for the tests of words, terminals and pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from drivelab.analyse.command_check import Stack
from drivelab.analyse.explanation import TracedPass, explanation_of
from drivelab.analyse.explanation_difference import explanation_difference
from drivelab.analyse.operation_parts import operation_parts
from drivelab.model.estimate import Estimate
from drivelab.model.trace import Explanation, ExplanationDifference
from drivelab.model.workload import Durability, OperationShare, TargetRange, Workload
from made_up_operations import (
    APPEND_NS,
    APPEND_WORK,
    CONDUCT,
    OVERWRITE_NS,
    OVERWRITE_WORK,
    READ_NS,
    READ_WORK,
    operations,
)

UNTRACED = Estimate(320_000.0, 315_000.0, 325_000.0, "ns", 1000, 900.0, "made up")
KINDS: Mapping[str, tuple[Mapping[str, float], Mapping[str, int], str, str]] = {
    "overwrite": (OVERWRITE_NS, OVERWRITE_WORK, "durable_write", "1 B overwrite + fdatasync"),
    "append": (APPEND_NS, APPEND_WORK, "durable_write", "1 B append + fdatasync"),
    "read": (READ_NS, READ_WORK, "read", "4 KiB random read"),
}


def explanation(
    kind: str = "overwrite",
    count: int = 1000,
    *,
    untraced_ns: float | None = None,
    work: Mapping[str, int] | None = None,
    parts_ns: Mapping[str, float] | None = None,
    q2c_ns: int = 51_000,
    conduct: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Explanation:
    """An explanation of one traced pass, which took a little longer than it does untraced."""
    parts, does, operation, label = KINDS[kind]
    size = 4096 if operation == "read" else 1
    table = operations(count, parts_ns or parts, {**does, **(work or {})}, operation=operation, size_bytes=size)
    plain_ns = untraced_ns or 0.96 * sum((parts_ns or parts).values())
    untraced = replace(UNTRACED, value=plain_ns, low=0.98 * plain_ns, high=1.02 * plain_ns)
    taken = replace(CONDUCT, **(conduct or {}))
    one = TracedPass("t1", operation_parts(table, operation), taken, untraced, (q2c_ns * count, count))
    found = explanation_of([one], operation, label=label, stack=stack(kind))
    return replace(found, **{"target": "sdb", **changes})


def stack(kind: str) -> Stack:
    """What the operations went through: ext4 on a drive with a volatile cache."""
    is_read = kind == "read"
    asked = Workload(
        target=TargetRange(path="/data/file"),
        operations=(OperationShare(operation="read" if is_read else "write"),),
        durability=Durability(method="none" if is_read else "fdatasync"),
        file_state="append" if kind == "append" else "overwrite",
    )
    return Stack(asked, "sync", is_read, "ext4", "write_back")


def difference(
    base_ns: Mapping[str, float] = APPEND_NS,
    new_ns: Mapping[str, float] = APPEND_NS,
    *,
    new_work: Mapping[str, int] | None = None,
    repeats: int = 1,
    count: int = 1000,
    names: tuple[str, str] = ("write-cache on", "write-cache off"),
) -> ExplanationDifference:
    """The difference of two sides of so many repeats."""
    sides = [
        [
            operation_parts(operations(count, parts, {**APPEND_WORK, **work}, seed=seed + number), "durable_write")
            for number in range(repeats)
        ]
        for seed, parts, work in ((1, base_ns, {}), (101, new_ns, new_work or {}))
    ]
    found = explanation_difference(sides[0], sides[1], names=names)
    return replace(found, operation="durable_write", label="1 B append + fdatasync")
