"""How workloads are fitted to a target: sizes, blocks, shares, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.fit import LARGER_THAN_FILE
from drivelab.plan.make import make_plan

from .conftest import GIB, MakeExperiment

MIB = 2**20
EXT4 = {"setting": "filesystem", "levels": ["ext4"]}


def patterns(plan: Plan) -> list[WorkloadPattern]:
    """What the steps issue, each once, in the order of the experiment."""
    return list(dict.fromkeys(step.pattern for step in sorted(plan.steps, key=lambda step: str(step.levels))))


def test_small_direct_writes_grow_to_a_logical_block_and_say_so(
    experiment: MakeExperiment, write: dict[str, Any], scratch: TargetFacts
) -> None:
    small = experiment(workloads=[write | {"block_size": "512", "direct": True}])
    plan = make_plan(small, [replace(scratch, logical_block_size_bytes=4096)], seed=1)
    assert {step.pattern.block_size for step in plan.steps} == {4096}
    assert any("4 KiB instead of 512 B" in note for note in plan.notes)


def test_sizes_that_direct_io_cannot_have_are_dropped_from_a_sweep_with_a_note(
    experiment: MakeExperiment, write: dict[str, Any], scratch: TargetFacts
) -> None:
    factors = [
        {"setting": "workload", "key": "block_size", "levels": ["1", "512", "700", "4KiB"]},
        {"setting": "workload", "key": "direct", "levels": [False, True]},
    ]
    plan = make_plan(experiment(factors=factors), [scratch], seed=1, quick=True)
    found = {(step.pattern.block_size, step.pattern.direct) for step in plan.steps}
    assert found == {(1, False), (512, False), (700, False), (4096, False), (512, True), (4096, True)}
    (note,) = (note for note in plan.notes if "whole blocks" in note)
    assert "levels of block_size that are not whole blocks of 512 B" in note


def test_shifts_that_direct_io_cannot_have_are_dropped_too(
    experiment: MakeExperiment, write: dict[str, Any], scratch: TargetFacts
) -> None:
    shifts = {"setting": "workload", "key": "shift", "levels": ["0", "512", "4096"]}
    asked = experiment(factors=[shifts], workloads=[write | {"direct": True}])
    plan = make_plan(asked, [replace(scratch, logical_block_size_bytes=4096)], seed=1)
    assert {step.pattern.shift for step in plan.steps} == {0, 4096}


@pytest.mark.provokes("P706")
def test_a_block_that_is_no_multiple_of_the_logical_block_is_refused(
    experiment: MakeExperiment, write: dict[str, Any], scratch: TargetFacts
) -> None:
    odd = experiment(workloads=[write | {"block_size": "6144", "direct": True}])
    with pytest.raises(DrivelabError) as refusal:
        make_plan(odd, [replace(scratch, logical_block_size_bytes=4096)], seed=1)
    assert refusal.value.code == "P706"


def test_on_the_device_itself_nothing_is_appended(
    experiment: MakeExperiment, write: dict[str, Any], scratch: TargetFacts
) -> None:
    factors = [{"setting": "filesystem", "levels": ["raw", "ext4"]}]
    for state in ("append", "preallocated", "sparse"):
        asked = experiment(factors=factors, workloads=[write | {"file_state": state}])
        plan = make_plan(asked, [scratch], seed=1)
        assert {(step.levels["filesystem"], step.pattern.file_state) for step in plan.steps} == {
            ("raw", "overwrite"),
            ("ext4", state),
        }
        assert any("there is nothing to append to" in note for note in plan.notes)


@pytest.mark.parametrize("state", ["preallocated", "sparse"])
def test_reserved_space_is_as_large_as_what_is_written_to_it(
    experiment: MakeExperiment, write: dict[str, Any], directory: TargetFacts, state: str
) -> None:
    workload = write | {"file_state": state, "block_size": "1000", "count": 7, "shift": "512"}
    (pattern,) = patterns(make_plan(experiment(workloads=[workload]), [directory], seed=1))
    assert pattern.file_size == 512 + 7 * 1000
    (told,) = patterns(make_plan(experiment(workloads=[workload | {"file_size": "1MiB"}]), [directory], seed=1))
    assert told.file_size == MIB


@pytest.mark.parametrize(
    "changed",
    [
        {"file_state": "overwrite"},
        {"file_state": "preallocated", "access": "random"},
        {"file_state": "preallocated", "ramp": "1s"},
        {"file_state": "append", "count": 0, "capacities": 2},
        {"file_state": "append", "fill_level": "20%"},
    ],
    ids=["overwrite", "random", "ramp", "capacities", "fill-level"],
)
def test_a_file_whose_size_nobody_knows_needs_one(
    experiment: MakeExperiment, write: dict[str, Any], directory: TargetFacts, changed: dict[str, Any]
) -> None:
    with pytest.raises(DrivelabError, match="how large") as refusal:
        make_plan(experiment(workloads=[write | changed]), [directory], seed=1)
    assert refusal.value.code == "P706"
    assert "file_size" in refusal.value.do


@pytest.mark.parametrize(("kind", "code"), [("file", "P706"), ("missing_file", "T101")])
def test_files_of_the_user_are_not_written(
    experiment: MakeExperiment, directory: TargetFacts, kind: str, code: str
) -> None:
    with pytest.raises(DrivelabError) as refusal:
        make_plan(experiment(), [replace(directory, kind=kind)], seed=1)
    assert refusal.value.code == code


def test_a_file_of_the_user_is_read_as_large_as_it_is(experiment: MakeExperiment, directory: TargetFacts) -> None:
    file = replace(directory, kind="file", path="/srv/data/file", size_bytes=3 * MIB)
    assert file.filesystem is not None
    reads = {"name": "r", "operation": "read", "access": "random", "file_size": "8GiB", "capacities": 2}
    (pattern,) = patterns(make_plan(experiment(workloads=[reads]), [file], seed=1))
    assert (pattern.file_size, pattern.bytes) == (3 * MIB, 6 * MIB)


FILL = {"name": "f", "access": "random", "block_size": "8MiB", "direct": True, "file_size": "512MiB", "capacities": 2}
FILL_LEVELS = {"setting": "workload", "key": "fill_level", "levels": ["20%", "40%", "60%", "80%", "100%"]}


def test_capacities_are_those_of_the_whole_target_whatever_share_is_filled(
    experiment: MakeExperiment, scratch: TargetFacts
) -> None:
    plan = make_plan(experiment(workloads=[FILL], factors=[FILL_LEVELS]), [scratch], seed=1, quick=True)
    assert {(step.levels["fill_level"], step.pattern.fill_level, step.pattern.bytes) for step in plan.steps} == {
        (f"{percent}%", percent / 100, 2 * GIB) for percent in (20, 40, 60, 80, 100)
    }
    assert {step.bytes_written for step in plan.steps} == {2 * GIB}


def test_capacities_of_a_file_are_those_of_the_file(experiment: MakeExperiment, scratch: TargetFacts) -> None:
    plan = make_plan(experiment(workloads=[FILL], factors=[EXT4]), [scratch], seed=1)
    assert {step.pattern.bytes for step in plan.steps} == {GIB}


def test_capacities_are_whole_blocks_and_the_smaller_limit_holds(
    experiment: MakeExperiment, scratch: TargetFacts
) -> None:
    odd = replace(scratch, size_bytes=GIB + 5 * MIB)
    (pattern,) = patterns(make_plan(experiment(workloads=[FILL]), [odd], seed=1))
    assert pattern.bytes == 2 * GIB + 8 * MIB
    (limited,) = patterns(make_plan(experiment(workloads=[FILL | {"bytes": "64MiB"}]), [odd], seed=1))
    assert limited.bytes == 64 * MIB


def test_going_round_a_target_needs_no_room_beyond_it(experiment: MakeExperiment, scratch: TargetFacts) -> None:
    rounds = FILL | {"access": "sequential", "capacities": 5}
    (pattern,) = patterns(make_plan(experiment(workloads=[rounds]), [scratch], seed=1))
    assert pattern.bytes == 5 * GIB


@pytest.mark.provokes("P705")
@pytest.mark.parametrize(
    ("size_bytes", "changed", "filesystem", "needs"),
    [
        (200 * MIB, {}, "xfs", "xfs needs 300 MiB"),
        (GIB, {"block_size": "1MiB", "count": 1000}, "ext4", "needs 1000 MiB, the target has room for 870 MiB"),
        (GIB, {"block_size": "1MiB", "count": 1025}, "raw", "needs 1 GiB"),
        (GIB, {"file_state": "overwrite", "file_size": "900MiB"}, "ext4", "needs 900 MiB"),
        (64 * MIB, {"block_size": "128MiB", "count": 1}, "raw", "needs 128 MiB"),
        (GIB, {"block_size": "256MiB", "access": "random", "file_state": "overwrite", "fill_level": "20%"}, "raw", ""),
    ],
    ids=["file-system", "append", "sequential", "file", "block", "fill-level"],
)
def test_a_target_that_is_too_small_is_refused(
    experiment: MakeExperiment,
    write: dict[str, Any],
    scratch: TargetFacts,
    size_bytes: int,
    changed: dict[str, Any],
    filesystem: str,
    needs: str,
) -> None:
    factors = [{"setting": "filesystem", "levels": [filesystem]}]
    asked = experiment(workloads=[write | changed], factors=factors)
    with pytest.raises(DrivelabError) as refusal:
        make_plan(asked, [replace(scratch, size_bytes=size_bytes)], seed=1)
    assert refusal.value.code == "P705"
    assert needs in refusal.value.what


def test_blocks_that_are_larger_than_the_file_are_left_out_with_one_note(
    experiment: MakeExperiment, write: dict[str, Any], scratch: TargetFacts
) -> None:
    factors = [
        EXT4,
        {"setting": "workload", "key": "file_size", "levels": ["64KiB", "1MiB"]},
        {"setting": "workload", "key": "block_size", "levels": ["4KiB", "64KiB", "128KiB", "1MiB"]},
    ]
    workload = {key: value for key, value in write.items() if key not in ("count", "file_size")}
    plan = make_plan(experiment(factors=factors, workloads=[workload | {"capacities": 1.0}]), [scratch], seed=1)
    found = {(step.pattern.file_size, step.pattern.block_size) for step in plan.steps}
    small, large, kib = 64 * 1024, MIB, 1024
    assert found == {(small, 4 * kib), (small, small), *((large, size * kib) for size in (4, 64, 128, 1024))}
    assert plan.notes == (LARGER_THAN_FILE,)
    # each file once
    assert {step.pattern.bytes == step.pattern.file_size for step in plan.steps} == {True}


def test_a_single_block_size_that_is_too_large_is_an_error_as_before(
    experiment: MakeExperiment, write: dict[str, Any], scratch: TargetFacts
) -> None:
    factors = [EXT4, {"setting": "workload", "key": "file_size", "levels": ["64KiB"]}]
    plan = make_plan(experiment(factors=factors, workloads=[write | {"block_size": "4KiB"}]), [scratch], seed=1)
    assert LARGER_THAN_FILE not in plan.notes
