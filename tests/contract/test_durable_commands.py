"""Durability really reaches the device: the flushes that the kernel counts, for each way to ask for it.

The expected numbers are those of a device with a volatile write cache and
without FUA, which a loop device is: a synchronous direct ``O_DSYNC`` write on
the bare device costs two flushes (one before it returns from the block layer,
one from ``generic_write_sync``), an asynchronous one a single flush.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mounted import device_on

from .conftest import DIRECT_BACKENDS

WRITES = 40
FLUSHES = 15
EACH_ONE = WRITES
TWICE = 2 * WRITES

pytestmark = pytest.mark.needs_root


@pytest.fixture
def caching_device(make_loop_device) -> Iterator[Path]:
    """A loop device with a volatile write cache; the setting outlives the device, so it is put back."""
    device = make_loop_device(16 * 2**20)
    setting = Path("/sys/block") / device.name / "queue" / "write_cache"
    before = setting.read_text()
    setting.write_text("write back")
    assert setting.read_text().strip() == "write back"
    yield device
    setting.write_text(before)


def flush_count(device: Path) -> int:
    return int((Path("/sys/block") / device.name / "stat").read_text().split()[FLUSHES])


def flushes_of(run_engine: Any, backend: str, path: Path, device: Path, **changes: Any) -> int:
    before = flush_count(device)
    answer = run_engine(backend, path, operation="write", limits={"count": WRITES}, **changes)
    assert answer.count("write") == WRITES
    return flush_count(device) - before


@pytest.mark.parametrize("method", ["fdatasync", "fsync"])
def test_each_sync_call_flushes_the_device_once(method, direct_backend, caching_device, run_engine):
    check_sync_calls(run_engine, direct_backend, caching_device, method, direct=True)


@pytest.mark.parametrize("method", ["fdatasync", "fsync"])
def test_so_does_each_sync_call_after_writes_to_the_page_cache(method, data_backend, caching_device, run_engine):
    check_sync_calls(run_engine, data_backend, caching_device, method, direct=False)


def check_sync_calls(run_engine: Any, backend: str, device: Path, method: str, *, direct: bool) -> None:
    for every, expected in ((1, WRITES), (8, WRITES // 8)):
        durability = {"method": method, "every_writes": every}
        flushes = flushes_of(run_engine, backend, device, device, durability=durability, direct=direct)
        assert flushes == expected, f"every {every} writes"
    at_end = {"method": method, "at_end": True}
    assert flushes_of(run_engine, backend, device, device, durability=at_end, direct=direct) == 1


@pytest.mark.parametrize("method", ["o_dsync", "o_sync", "rwf_dsync"])
def test_synchronous_writes_flush_the_device_each(method, direct_backend, caching_device, run_engine):
    if (direct_backend, method) == ("posixaio", "rwf_dsync"):
        return
    expected = TWICE if direct_backend in ("sync", "posixaio") else EACH_ONE
    flushes = flushes_of(
        run_engine, direct_backend, caching_device, caching_device, durability={"method": method}, direct=True
    )
    assert flushes == expected


@pytest.mark.parametrize("method", ["o_dsync", "o_sync", "rwf_dsync"])
def test_so_do_synchronous_writes_through_the_page_cache(method, data_backend, caching_device, run_engine):
    if data_backend == "mmap" or (data_backend in ("stdio", "posixaio", "splice") and method == "rwf_dsync"):
        return
    flushes = flushes_of(run_engine, data_backend, caching_device, caching_device, durability={"method": method})
    assert flushes == EACH_ONE


@pytest.mark.parametrize("method", ["none", "sync_file_range"])
def test_what_makes_nothing_durable_flushes_nothing(method, data_backend, caching_device, run_engine):
    if data_backend in ("aio", "posixaio") and method == "sync_file_range":
        return
    flushes = flushes_of(
        run_engine,
        data_backend,
        caching_device,
        caching_device,
        durability={"method": method},
        direct=data_backend in DIRECT_BACKENDS,
    )
    assert flushes == 0


@pytest.mark.needs_tool("mkfs.ext4")
@pytest.mark.parametrize("method", ["o_dsync", "rwf_dsync", "fdatasync"])
def test_overwriting_a_file_flushes_the_device_below_it(method, direct_backend, mount_filesystem, run_engine):
    if (direct_backend, method) == ("posixaio", "rwf_dsync"):
        return
    directory = mount_filesystem("ext4", size_bytes=64 * 2**20)
    device = device_on(directory)
    path = directory / "data"
    setting = Path("/sys/block") / device.name / "queue" / "write_cache"
    before = setting.read_text()
    try:
        setting.write_text("write back")
        common: dict[str, Any] = {"target": {"create": True, "size_bytes": 2**20}, "direct": True}
        flushes_of(run_engine, direct_backend, path, device, **common)
        flushes = flushes_of(run_engine, direct_backend, path, device, durability={"method": method}, **common)
    finally:
        setting.write_text(before)
    # the journal may flush now and then on its own
    assert WRITES <= flushes <= WRITES + 4


def test_a_durable_write_takes_longer_than_its_sync_call(data_backend, caching_device, run_engine):
    answer = run_engine(
        data_backend,
        caching_device,
        operation="write",
        durability={"method": "fdatasync"},
        limits={"count": WRITES},
        direct=data_backend in DIRECT_BACKENDS,
    )
    write, sync, durable = (answer.histogram(name) for name in ("write", "sync", "durable_write"))
    assert durable.total_count == sync.total_count == WRITES
    assert durable.minimum_ns > sync.minimum_ns
    assert write.sum_ns + sync.sum_ns <= durable.sum_ns < 1.2 * (write.sum_ns + sync.sum_ns)
