"""Commands per operation: exact where they can be, bounds where they cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_trials import counted, drive, durable_values, durable_workload, latencies, measured, target, workload

from drivelab.analyse.commands import commands_per_operation, drive_counts, given_counts
from drivelab.model.measurement import Measurement

TRACED = {
    "operations": 200,
    "data_writes_per_operation": 3.0,
    "metadata_writes_per_operation": 2.0,
    "fua_writes_per_operation": 0.0,
    "flushes_per_operation": 2.0,
    "flushes_per_operation_timed": 2.0,
}


def durable_trial(traced: dict[str, float] | None = None, **counts: int) -> Measurement:
    devices = [counted(writes=8000, flushes=4000, low=4000, **counts)]
    context = {"command_counts": traced}
    return measured(durable_workload(), durable_values(2000), devices=devices, context=context)


def test_flushes_are_exact_from_the_kernels_counter() -> None:
    flushes = commands_per_operation(durable_trial())["device_flushes_per_operation"]
    assert (flushes.low, flushes.value, flushes.high) == (2.0, 2.0, 2.0)


def test_writes_are_bounds_without_a_trace() -> None:
    writes = commands_per_operation(durable_trial())["device_writes_per_operation"]
    assert (writes.low, writes.value, writes.high) == (2.0, None, 4.0)
    assert str(writes) == "2 to 4"
    assert "bounds" in writes.method
    assert "fua_writes_per_operation" not in commands_per_operation(durable_trial())


def test_writes_are_exact_with_a_trace() -> None:
    found = commands_per_operation(durable_trial(dict(TRACED)))
    assert found["device_writes_per_operation"].value == 3.0
    assert found["fua_writes_per_operation"].value == 0.0
    assert found["metadata_writes_per_operation"].value == 2.0
    assert "trace" in found["device_writes_per_operation"].method


def test_a_trace_that_disagrees_with_the_timed_pass_is_left_out() -> None:
    found = commands_per_operation(durable_trial(TRACED | {"flushes_per_operation_timed": 1.1}))
    assert found["device_writes_per_operation"].value is None
    assert "fua_writes_per_operation" not in found


def test_a_trace_outside_the_counters_bounds_is_left_out() -> None:
    found = commands_per_operation(durable_trial(TRACED | {"data_writes_per_operation": 5.0}))
    assert found["device_writes_per_operation"].value is None


def test_a_trace_whose_data_writes_disagree_says_nothing_of_metadata_and_fua_either() -> None:
    # ext4, write-through, preallocated: 3 writes each with the journal's; the pass after it overwrites: 1 each
    timed = [counted(writes=6000)]
    overwriting = TRACED | {
        "data_writes_per_operation": 1.0,
        "metadata_writes_per_operation": 0.0,
        "flushes_per_operation": 0.0,
        "flushes_per_operation_timed": 0.0,
    }
    asked = durable_workload(file_state="preallocated")
    context = {"command_counts": overwriting}
    found = commands_per_operation(measured(asked, durable_values(2000), devices=timed, context=context))
    assert found["device_writes_per_operation"].value == 3.0
    assert "metadata_writes_per_operation" not in found
    assert "fua_writes_per_operation" not in found


def test_counts_of_the_timed_pass_itself_come_first() -> None:
    trial = durable_trial(dict(TRACED))
    exact = replace(trial.devices[0], data_writes=6000, fua_writes=2000, issued_flushes=4000)
    found = commands_per_operation(replace(trial, devices=(exact,)))
    assert found["device_writes_per_operation"].value == 3.0
    assert found["fua_writes_per_operation"].value == 1.0


def test_the_denominator_is_the_operations_of_all_phases() -> None:
    trial = measured(values={"read": latencies(1000)}, devices=[counted(reads=1500)])
    trial.engine["all_phases"]["read"] = {"count": 1500, "bytes": 1500 * 4096}
    found = commands_per_operation(trial)
    assert found["device_reads_per_operation"].value == 1.0
    assert found["device_bytes_per_operation"].value == 4096.0
    assert found["device_bytes_per_issued_byte"].value == 1.0


def test_a_mix_counts_both_directions() -> None:
    trial = measured(
        workload("read"),
        {"read": latencies(700), "write": latencies(300)},
        devices=[counted(reads=700, bytes_written=300 * 4096, writes=300)],
    )
    found = commands_per_operation(trial)
    assert found["device_bytes_per_issued_byte"].value == pytest.approx(1.0)
    assert found["device_writes_per_operation"].value == pytest.approx(1.0)


def test_drives_of_an_array_are_added_up() -> None:
    devices = [counted(writes=1000), replace(counted(writes=1000), device="sdb"), replace(counted(), device="md0")]
    trial = measured(workload("write"), {"write": latencies(1000)}, devices=devices)
    array = target(drives=[drive(), drive(name="sdb")])
    counts = drive_counts(trial, array)
    assert counts is not None
    assert (counts.device, counts.writes) == ("sda+sdb", 2000)
    assert commands_per_operation(trial, array)["device_writes_per_operation"].value == 2.0


def test_what_left_memory_is_told_by_the_array_and_not_by_its_copies() -> None:
    # a mirror: half of what was written never left memory, and both members together look like all of it
    issued = latencies(1000)
    devices = [
        counted(writes=500),
        replace(counted(writes=500), device="sdb"),
        replace(counted(writes=500), device="md0"),
    ]
    mirror = target(drives=[drive(), drive(name="sdb")])
    trial = measured(workload("write"), {"write": issued}, devices=devices, context={"counted_device": "md0"})
    given = given_counts(trial, mirror)
    assert given is not None
    assert given.device == "md0"
    assert commands_per_operation(trial, mirror)["reached_device_share"].value == pytest.approx(0.5)
    # a run of before, which does not say which device it counted
    older = given_counts(replace(trial, context={}), mirror)
    assert older is not None
    assert older.device == "sda+sdb"


def test_without_counters_nothing_is_said() -> None:
    assert commands_per_operation(measured()) == {}
