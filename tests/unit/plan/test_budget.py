"""Guesses of time and bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.model.drive import DriveFacts
from drivelab.model.factor import FileSystemLevel
from drivelab.model.target import TargetFacts
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.budget import CALL_NS, bytes_written, expected_step_ns
from drivelab.plan.targets import planned_targets

from .conftest import layer

RAW = FileSystemLevel(type="raw", name="raw")
EXT4 = FileSystemLevel(type="ext4", name="ext4")


def pattern(**keys: object) -> WorkloadPattern:
    return WorkloadPattern.model_validate(keys)


def test_bytes_are_exact_where_the_workload_says_how_many() -> None:
    assert bytes_written(pattern(count=10, block_size="4KiB"), RAW, pace="flash") == 40960
    assert bytes_written(pattern(count=10, bytes="8KiB"), RAW, pace="flash") == 8192


def test_reads_write_nothing_and_mixes_write_their_share() -> None:
    assert bytes_written(pattern(operation="read", count=10), RAW, pace="flash") == 0
    assert bytes_written(pattern(read_fraction=0.75, count=100), RAW, pace="flash") == 100 * 4096 / 4


def test_a_runtime_bounds_the_time() -> None:
    step = expected_step_ns(pattern(runtime="2s", ramp="1s", count=10**9), RAW, pace="flash")
    assert step == pytest.approx(3e9, rel=0.1)


def test_a_journal_makes_durable_writes_slower() -> None:
    durable = pattern(durability="o_sync", count=1000, block_size="512")
    raw, ext4 = (expected_step_ns(durable, level, pace="flash") for level in (RAW, EXT4))
    assert raw < ext4 < 4 * raw


def test_a_byte_a_call_through_the_page_cache_is_no_command_a_byte() -> None:
    bytewise = {"operation": "read", "block_size": 1, "bytes": 2**20}
    streamed = expected_step_ns(pattern(**bytewise, access="sequential"), None, pace="disk")
    assert streamed < 2 * 2**20 * CALL_NS
    assert expected_step_ns(pattern(**bytewise, access="random"), None, pace="disk") > 1000 * streamed


def test_a_virtual_drive_that_claims_to_turn_is_taken_for_an_ssd(directory: TargetFacts, drive: DriveFacts) -> None:
    turning = replace(directory, devices=(layer("vda", "disk", is_rotational=True),))
    of_virtio = replace(drive, is_rotational=True, virtual="virtio drive of a virtual machine")
    paces = [
        planned_targets([replace(turning, drives=(one,))], overwrites_devices=False)[0].pace
        for one in (replace(drive, is_rotational=True), of_virtio)
    ]
    assert paces == ["disk", "virtual"]
    synced = pattern(count=300, durability="fdatasync")
    assert 10 * expected_step_ns(synced, None, pace="virtual") < 1.1 * expected_step_ns(synced, None, pace="disk")
