"""Discards of every backend, counted by the kernel on a drive and seen in what is left of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.model.workload import BackendName, BlockSizeShare, Limits, OperationShare, TargetRange, Workload
from drivelab.run.device_counters import counts_between, read_counters
from drivelab.run.engine import run_workload

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]
BLOCK, COUNT = 65536, 64


@pytest.mark.parametrize("backend", ["auto", "sync", "uring", "aio", "posixaio", "mmap"])
@pytest.mark.parametrize("beside", ["", "read"])
def test_each_discard_is_one_command_of_the_drive(
    backend: BackendName, beside: str, make_loop_device: Callable[..., Path]
) -> None:
    device = make_loop_device(BLOCK * COUNT)
    device.write_bytes(b"\xa5" * (BLOCK * COUNT))
    operations = [OperationShare(operation="trim")] + ([OperationShare(operation="read")] if beside else [])
    workload = Workload(
        target=TargetRange(path=str(device), size_bytes=BLOCK * COUNT),
        backend=backend,
        operations=tuple(operations),
        block_sizes=(BlockSizeShare(bytes=BLOCK),),
        queue_depth=8 if backend not in ("sync", "mmap") else 1,
        direct=backend != "mmap",
        limits=Limits(count=COUNT),
    )
    before = read_counters([device.name])
    run = run_workload(workload)
    (counted,) = counts_between(before, read_counters([device.name]), sync_calls=None)
    trims = run.summary["operations"]["trim"]["count"]
    assert run.summary["errors"] == []
    assert counted.discards == trims
    assert trims == COUNT if not beside else 0 < trims < COUNT
    assert bytes(4096) in device.read_bytes(), "what was given up reads as zeros"
