"""The table of expected commands says what was counted, and nothing where nothing was."""

from __future__ import annotations

import pytest
from simulated_trials import drive, durable_workload, filesystem, target

from drivelab.analyse.expected_commands import Commands, cache_kind, expected_commands
from drivelab.model.drive import WriteCacheFacts
from drivelab.model.target import TargetFacts
from drivelab.model.workload import BlockSizeShare, Durability

WITH_FUA = WriteCacheFacts(True, "nvme", "write back", True)
WRITE_THROUGH = WriteCacheFacts(False, "hdparm", "write through", False)


def expect(
    on: TargetFacts, method: str, state: str = "append", backend: str = "sync", direct: bool = True
) -> Commands | None:
    known = expected_commands(durable_workload(method, file_state=state, queue_depth=1), backend, direct, on)
    return known[0] if known else None


def raw(cache: WriteCacheFacts | None = None) -> TargetFacts:
    return target(drives=[drive(write_cache=cache)] if cache else None)


def on(kind: str, cache: WriteCacheFacts | None = None) -> TargetFacts:
    return target(filesystem(kind), drives=[drive(write_cache=cache)] if cache else None)


def test_a_synchronous_write_to_a_raw_device_is_flushed_twice() -> None:
    assert expect(raw(), "o_sync", "overwrite") == Commands((1, 1), (2, 2))
    assert expect(raw(), "o_dsync", "overwrite", backend="uring") == Commands((1, 1), (1, 1))


def test_a_drive_with_fua_is_given_one_fua_write_by_asynchronous_calls() -> None:
    assert expect(raw(WITH_FUA), "o_dsync", "overwrite", backend="aio") == Commands((1, 1), (0, 0), (1, 1))
    assert expect(raw(WITH_FUA), "o_dsync", "overwrite") == Commands((1, 1), (1, 1), (1, 1))


@pytest.mark.parametrize("method", ["fdatasync", "fsync", "o_dsync", "o_sync"])
def test_xfs_commits_appends_with_one_log_write(method: str) -> None:
    assert expect(on("xfs"), method) == Commands((2, 2), (2, 2))
    assert expect(on("xfs", WITH_FUA), method) == Commands((2, 2), (1, 1), (1, 1))


def test_a_write_through_drive_is_never_flushed() -> None:
    for kind in ("ext4", "xfs", "btrfs"):
        commands = expect(on(kind, WRITE_THROUGH), "fdatasync")
        assert commands is not None
        assert (commands.flushes, commands.fua_writes) == ((0, 0), (0, 0))


def test_fdatasync_of_an_overwrite_costs_a_flush_only() -> None:
    assert expect(on("ext4"), "fdatasync", "overwrite") == Commands((1, 1), (1, 1))
    fsync = expect(on("ext4"), "fsync", "overwrite")
    assert fsync is not None
    assert fsync.flushes == (1, 2)


def test_small_writes_into_preallocated_blocks_share_a_commit() -> None:
    asked = durable_workload(file_state="preallocated", block_sizes=(BlockSizeShare(bytes=512),))
    known = expected_commands(asked, "sync", False, on("xfs"))
    assert known is not None
    assert known[0] == Commands((1, 2), (1, 2), (0, 0))


def test_nothing_is_said_of_what_was_not_counted() -> None:
    assert expect(on("zfs"), "fdatasync") is None
    assert expect(on("ext4"), "fdatasync", "sparse") is None
    assert expect(on("ext4"), "none") is None
    assert expect(target(filesystem(), drives=[drive(), drive(name="sdb")]), "fdatasync") is None
    large = durable_workload(block_sizes=(BlockSizeShare(bytes=1 << 20),))
    assert expected_commands(large, "sync", True, on("ext4")) is None
    several = durable_workload(durability=Durability(method="fdatasync", every_writes=4))
    assert expected_commands(several, "sync", True, on("ext4")) is None
    assert expected_commands(durable_workload(queue_depth=8), "uring", True, on("ext4")) is None


def test_a_drive_that_says_nothing_of_its_cache_is_of_no_kind() -> None:
    assert cache_kind(raw(WriteCacheFacts(None, "", None, None))) is None
    assert cache_kind(raw()) == "write_back"
