"""Commands per synchronous operation on real loop devices, against what the kernel's source says they must be.

Counts, not times: how many writes, how many of the file system's own, and how
many flushes one operation costs. Where the tracing of commands and the
kernel's counters disagree, one of them is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from drivelab.inventory.target import resolve_target
from drivelab.model.workload import (
    Access,
    BlockSizeShare,
    Durability,
    Limits,
    OperationShare,
    TargetRange,
    Workload,
)
from drivelab.run.counting_pass import command_counts
from drivelab.state.held_device import held_if_device

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]

MIB = 2**20
RANGE_BYTES = 8 * MIB
OPERATIONS = 200
# counts differ from whole numbers by less than this
TOLERANCE = 0.05


def synchronous(path: Path, **fields: Any) -> Workload:
    """4 KiB writes, one after the other, each durable before the next."""
    asked: dict[str, Any] = {
        "target": TargetRange(path=str(path), size_bytes=RANGE_BYTES, create=True),
        "backend": "sync",
        "operations": (OperationShare(operation="write"),),
        "block_sizes": (BlockSizeShare(bytes=4096),),
        "access": Access(kind="sequential"),
        "limits": Limits(count=OPERATIONS),
    }
    return Workload(**asked | fields)


def counted(workload: Workload, target: Path) -> tuple[float, float, float]:
    """Data writes, journal writes and flushes per operation, as traced; the kernel's counters must agree."""
    facts = resolve_target(str(target))
    with held_if_device(facts, erase=[target.name]):
        found = command_counts(workload, facts, timed_operations=0, timed_devices=())
    counts = found["command_counts"]
    assert counts is not None, found["command_counts_reason"]
    # the pass ends after a time, which on a busy machine has room for fewer
    assert 20 <= counts["operations"] <= OPERATIONS
    assert counts["flushes_counted"] == counts["flushes"]
    assert counts["writes_counted"] >= counts["data_writes"]
    assert counts["fua_writes"] == 0
    journal = counts["metadata_writes_per_operation"]
    return counts["data_writes_per_operation"] - journal, journal, counts["flushes_per_operation"]


def about(*numbers: float) -> Any:
    return pytest.approx(numbers, abs=TOLERANCE)


@pytest.fixture
def write_through() -> Iterator[Callable[[Path], None]]:
    """Tells the kernel that a device has no volatile cache; the setting outlives a loop device, so it is put back."""
    changed: list[tuple[Path, str]] = []

    def change(device: Path) -> None:
        setting = Path("/sys/class/block") / device.name / "queue" / "write_cache"
        changed.append((setting, setting.read_text().strip()))
        setting.write_text("write through")

    yield change
    for setting, before in changed:
        setting.write_text(before)


DURABILITIES = {
    "fdatasync": (False, "fdatasync", (1, 0, 1)),
    "fsync": (False, "fsync", (1, 0, 1)),
    # FUA is emulated by a flush after the write, and then the synchronous call flushes once more
    "direct-o_dsync": (True, "o_dsync", (1, 0, 2)),
    "direct-o_sync": (True, "o_sync", (1, 0, 2)),
    "buffered-o_dsync": (False, "o_dsync", (1, 0, 1)),
    "direct-fdatasync": (True, "fdatasync", (1, 0, 1)),
}


@pytest.mark.parametrize(("direct", "method", "expected"), DURABILITIES.values(), ids=DURABILITIES)
def test_a_raw_device_without_fua_gets_a_flush_for_every_synchronous_write(
    make_loop_device: Callable[..., Path], direct: bool, method: str, expected: tuple[float, ...]
) -> None:
    device = make_loop_device()
    workload = synchronous(device, direct=direct, durability=Durability(method=method))
    assert counted(workload, device) == about(*expected)


def test_a_raw_device_written_asynchronously_is_flushed_once(make_loop_device: Callable[..., Path]) -> None:
    device = make_loop_device()
    for backend in ("uring", "aio"):
        workload = synchronous(device, direct=True, backend=backend, durability=Durability(method="o_dsync"))
        assert counted(workload, device) == about(1, 0, 1), backend


@pytest.mark.parametrize(("direct", "method"), [(False, "fdatasync"), (True, "o_dsync"), (True, "o_sync")])
def test_a_device_without_a_volatile_cache_gets_no_flush(
    make_loop_device: Callable[..., Path],
    write_through: Callable[[Path], None],
    direct: bool,
    method: str,
) -> None:
    device = make_loop_device()
    write_through(device)
    workload = synchronous(device, direct=direct, durability=Durability(method=method))
    assert counted(workload, device) == about(1, 0, 0)


@pytest.mark.parametrize("method", ["fdatasync", "o_dsync", "o_sync"])
@pytest.mark.parametrize(
    ("filesystem", "journal_writes"),
    [
        pytest.param("ext4", 2, marks=pytest.mark.needs_tool("mkfs.ext4")),
        pytest.param("xfs", 1, marks=pytest.mark.needs_tool("mkfs.xfs")),
    ],
)
def test_appending_costs_a_journal_commit_and_two_flushes(
    mount_filesystem: Callable[..., Path], filesystem: str, journal_writes: int, method: str
) -> None:
    directory = mount_filesystem(filesystem)
    workload = synchronous(directory / "log", file_state="append", durability=Durability(method=method))
    assert counted(workload, directory) == about(1, journal_writes, 2)


@pytest.mark.parametrize(
    "filesystem",
    [
        pytest.param("ext4", marks=pytest.mark.needs_tool("mkfs.ext4")),
        pytest.param("xfs", marks=pytest.mark.needs_tool("mkfs.xfs")),
    ],
)
@pytest.mark.parametrize(("direct", "method"), [(False, "fdatasync"), (True, "fdatasync"), (True, "o_dsync")])
def test_overwriting_what_was_written_before_costs_one_flush(
    mount_filesystem: Callable[..., Path], filesystem: str, direct: bool, method: str
) -> None:
    directory = mount_filesystem(filesystem)
    workload = synchronous(directory / "data", direct=direct, durability=Durability(method=method))
    # the first pass lays the file out and commits its size
    counted(workload, directory)
    assert counted(workload, directory) == about(1, 0, 1)


@pytest.mark.needs_tool("mkfs.ext4", "mkfs.xfs")
@pytest.mark.parametrize(("filesystem", "journal_writes"), [("ext4", 2), ("xfs", 1)])
def test_writing_into_reserved_space_commits_every_time(
    mount_filesystem: Callable[..., Path], filesystem: str, journal_writes: int
) -> None:
    directory = mount_filesystem(filesystem)
    workload = synchronous(
        directory / "reserved", file_state="preallocated", direct=True, durability=Durability(method="fdatasync")
    )
    assert counted(workload, directory) == about(1, journal_writes, 2)


@pytest.mark.needs_tool("mkfs.ext4", "mkfs.xfs")
@pytest.mark.parametrize(("filesystem", "journal_writes"), [("ext4", 2), ("xfs", 1)])
def test_without_a_volatile_cache_a_file_system_still_writes_its_journal(
    mount_filesystem: Callable[..., Path],
    write_through: Callable[[Path], None],
    filesystem: str,
    journal_writes: int,
) -> None:
    directory = mount_filesystem(filesystem)
    write_through(Path(resolve_target(str(directory)).devices[-1].path))
    workload = synchronous(directory / "log", file_state="append", durability=Durability(method="fdatasync"))
    assert counted(workload, directory) == about(1, journal_writes, 0)


@pytest.mark.needs_tool("mkfs.ext4")
def test_sync_file_range_makes_nothing_durable_and_says_so_in_its_counts(
    mount_filesystem: Callable[..., Path],
) -> None:
    directory = mount_filesystem("ext4")
    workload = synchronous(directory / "data", durability=Durability(method="sync_file_range"))
    counted(workload, directory)
    assert counted(workload, directory) == about(1, 0, 0)
