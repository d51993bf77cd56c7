"""What is told of operations on the files of a tree: their numbers, and when memory answered them."""

from __future__ import annotations

from typing import Any

import pytest
from simulated_trials import counted, evidence, filesystem, latencies, measured, target, workload

from drivelab.analyse.commands import commands_per_operation
from drivelab.analyse.findings import (
    flush_count_unexpected,
    flushes_missing,
    generator_saturated,
    names_in_memory,
    operations_failed,
)
from drivelab.analyse.summary import summarise
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.tree import Tree
from drivelab.model.workload import Durability, OperationShare

DROPPED = {"dropped_page_cache": {"method": "drop_caches", "reason": "", "resident_bytes": None}}


def trial(operation: str, counts: DeviceCounts | None, bytes_each: int = 0, **changes: Any) -> Measurement:
    """2000 operations on as many files."""
    context = changes.pop("context", None)
    tree = Tree(file_count=2000, file_bytes_min=bytes_each, file_bytes_max=bytes_each)
    asked = workload(operation, direct=False, tree=tree, backend="sync", **changes)
    found = measured(asked, {operation: latencies()}, devices=[counts] if counts else [], context=context)
    for part in ("operations", "all_phases"):
        found.engine[part][operation]["bytes"] = 2000 * bytes_each
    return found


class TestNamesInMemory:
    def test_a_drive_that_read_nothing_was_not_asked(self) -> None:
        (found,) = names_in_memory.find(evidence(trial("stat", counted())))
        assert (found.severity, found.evidence["device_reads"]) == ("note", 0)
        assert "page-cache" in found.advice

    def test_it_makes_numbers_invalid_that_were_to_begin_with_empty_caches(self) -> None:
        (found,) = names_in_memory.find(evidence(trial("stat", counted(), context=DROPPED)))
        assert found.severity == "invalid"

    def test_a_few_reads_are_enough_for_many_names(self) -> None:
        assert names_in_memory.find(evidence(trial("stat", counted(reads=20)))) == []
        assert names_in_memory.find(evidence(trial("stat", counted(reads=1)))) != []

    def test_contents_have_to_come_from_the_drive_themselves(self) -> None:
        assert names_in_memory.find(evidence(trial("read_file", counted(reads=2100), 4096))) == []
        (found,) = names_in_memory.find(evidence(trial("read_file", counted(reads=300), 4096)))
        assert "1.17 MiB" in found.text

    def test_small_files_are_read_in_whole_pages(self) -> None:
        # 3 of 4 were in memory, and yet the drive read 1.6 times the bytes of all
        assert names_in_memory.find(evidence(trial("read_file", counted(reads=2000), 600))) == []
        assert names_in_memory.find(evidence(trial("read_file", counted(reads=480), 600))) != []

    def test_small_files_that_may_lie_with_their_inodes_are_counted_in_bytes(self) -> None:
        read = trial("read_file", counted(reads=480), 600)
        assert names_in_memory.find(evidence(read, target(filesystem("btrfs")))) == []
        assert names_in_memory.find(evidence(read, target(filesystem("f2fs")))) == []

    def test_what_changes_files_and_what_nobody_counted_is_not_judged(self) -> None:
        assert names_in_memory.find(evidence(trial("delete", counted()))) == []
        assert names_in_memory.find(evidence(trial("stat", None))) == []
        assert names_in_memory.find(evidence(measured())) == []


def test_rates_and_latencies_are_those_of_the_operation() -> None:
    summary = summarise(trial("create", counted(writes=4000, flushes=4000, low=4000), 4096), target(filesystem()))
    assert summary.operation == "create"
    assert summary.estimates["iops"].value == pytest.approx(2000 / 2.0)
    assert summary.estimates["cpu_share"].value == pytest.approx(0.3)
    assert summary.estimates["total_latency_ns_p50"].value == pytest.approx(500_000, rel=0.05)


def test_commands_are_charged_to_the_operations_that_cause_them() -> None:
    created = commands_per_operation(trial("create", counted(writes=6000, flushes=4000, low=6000), 4096))
    assert created["device_flushes_per_operation"].value == 2
    assert created["device_writes_per_operation"].value == 3
    assert "device_reads_per_operation" not in created
    looked_up = commands_per_operation(trial("stat", counted(reads=100, writes=50)))
    assert looked_up["device_reads_per_operation"].value == pytest.approx(0.05)
    assert not {"device_writes_per_operation", "device_bytes_per_issued_byte"} & set(looked_up)


def test_every_operation_of_a_mix_has_its_numbers() -> None:
    mix = (OperationShare(operation="create", weight=3), OperationShare(operation="stat", weight=1))
    asked = workload(direct=False, tree=Tree(file_count=2000), operations=mix)
    values = {"create": latencies(1500), "stat": latencies(500, 20_000.0)}
    estimates = summarise(measured(asked, values)).estimates
    assert estimates["create_iops"].value == pytest.approx(750)
    assert estimates["stat_iops"].value == pytest.approx(250)
    assert estimates["iops"].value == pytest.approx(1000)
    assert estimates["stat_total_latency_ns_p50"].value == pytest.approx(20_000, rel=0.1)


def test_flushes_are_missed_of_files_that_were_to_be_durable_only() -> None:
    durable = Durability(method="fsync")
    (found,) = flushes_missing.find(evidence(trial("create", counted(writes=6000), 4096, durability=durable)))
    assert found.severity == "invalid"
    assert flushes_missing.find(evidence(trial("delete", counted(), durability=durable))) == []
    assert flushes_missing.find(evidence(trial("create", counted(writes=6000), 4096))) == []
    flushed = counted(writes=6000, flushes=4000)
    assert flushes_missing.find(evidence(trial("create", flushed, 4096, durability=durable))) == []
    assert flush_count_unexpected.find(evidence(trial("create", flushed, 4096, durability=durable))) == []


def test_a_busy_processor_and_an_error_are_told_as_what_they_are() -> None:
    busy = trial("stat", counted(reads=100))
    busy.engine["cpu"] = {"user_ns": 10**9, "system_ns": 10**9, "total_ns": 2 * 10**9}
    assert generator_saturated.find(evidence(busy)) == []
    error = {"operation": "stat", "errno": 2, "name": "ENOENT", "count": 1, "first_offset_bytes": 7}
    busy.engine["errors"] = [error]
    (found,) = operations_failed.find(evidence(busy))
    assert "at file 7" in found.text
