"""Calls of a followed program as they are recorded, made up one by one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from drivelab.model.system_calls import call_numbers
from drivelab.run.following.seen_file import SeenFile
from drivelab.trace.operations_of_calls import FollowedCalls, operations_of_calls

NUMBERS = call_numbers("x86_64")
DISK = frozenset({"7:0"})
PROCESS, THREAD = 40, 41


def call(name: str, descriptor: int, start: int, result: int = 0, **more: Any) -> dict[str, Any]:
    """A call of 10 ns."""
    arguments = {f"argument_{place}": 0 for place in (0, 1, 2, 3, 5)} | {"argument_0": descriptor}
    row = {"thread": THREAD, "number": NUMBERS[name], "start_ns": start, "end_ns": start + 10, "result": result}
    return {**row, **arguments, "is_doubtful": False, **more}


def seen(descriptor: int, path: str, at: int, device: str = "7:0", *, is_durable: bool = False) -> SeenFile:
    return SeenFile(PROCESS, descriptor, path, device, is_durable, True, at, at)


def counted(calls: list[dict[str, Any]], *files: SeenFile) -> FollowedCalls:
    return operations_of_calls(pa.Table.from_pylist(calls), NUMBERS, files, DISK, {THREAD: PROCESS})
