"""A plan is the same for the same input, complete, balanced, and honest about what it destroys."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import pytest

from drivelab.experiments.load import load_experiment
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan

WRITE = {"name": "w", "block_size": "4KiB", "count": 10, "durability": "fdatasync", "file_state": "append"}


def experiment(**changed: object) -> Experiment:
    """A small experiment with some keys changed."""
    keys = {"format": 1, "name": "x", "question": "?", "workloads": [WRITE], "repeats": {"full": 4, "quick": 2}}
    return Experiment.model_validate(keys | changed)


def ssd_latency(target: TargetFacts, *, seed: int = 1, quick: bool = True) -> Plan:
    return make_plan(load_experiment("ssd-latency"), [target], seed=seed, quick=quick)


def test_the_same_input_gives_the_same_plan(scratch: TargetFacts) -> None:
    assert ssd_latency(scratch, seed=7) == ssd_latency(scratch, seed=7)


def test_another_seed_gives_another_order_of_the_same_trials(scratch: TargetFacts) -> None:
    one, other = ssd_latency(scratch, seed=7), ssd_latency(scratch, seed=8)
    order = [(step.workload, step.levels["filesystem"]) for step in one.steps]
    other_order = [(step.workload, step.levels["filesystem"]) for step in other.steps]
    assert order != other_order
    assert sorted(order) == sorted(other_order)


def test_every_block_holds_every_cell_once(scratch: TargetFacts) -> None:
    plan = ssd_latency(scratch)
    for block in (1, 2, 3):
        cells = [(s.workload, s.levels["filesystem"], s.repeat) for s in plan.steps if s.block == block]
        assert Counter(cells) == Counter(
            (workload, filesystem, block)
            for workload in ("small-write", "bandwidth")
            for filesystem in ("raw", "ext4", "xfs")
        )


def test_a_file_system_is_made_once_in_a_block(scratch: TargetFacts) -> None:
    plan = ssd_latency(scratch)
    levels = [(step.block, step.levels["filesystem"]) for step in plan.steps]
    episodes = [level for level, before in zip(levels, [None, *levels], strict=False) if level != before]
    assert len(episodes) == len(set(episodes)) == 9


def test_steps_are_numbered_and_named_without_doubles(scratch: TargetFacts) -> None:
    steps = ssd_latency(scratch).steps
    assert [step.number for step in steps] == list(range(1, 19))
    assert len({step.trial for step in steps}) == 18
    assert [step.trial for step in steps] == sorted(step.trial for step in steps)
    assert len({step.seed for step in steps}) == 18


def test_quick_is_smaller_and_says_so(scratch: TargetFacts) -> None:
    plan = ssd_latency(scratch)
    assert plan.quick
    sizes = {step.workload: (step.pattern.block_size, step.pattern.count) for step in plan.steps}
    assert sizes == {"small-write": (512, 1000), "bandwidth": (32 * 2**20, 4)}
    assert plan.bytes_written == 9 * 512_000 + 9 * 128 * 2**20 + 2**30


def test_several_targets_get_labels_of_their_own(scratch: TargetFacts) -> None:
    plan = make_plan(experiment(), [scratch, scratch], seed=1)
    assert [target.label for target in plan.targets] == ["scratch-1GiB", "scratch-1GiB-2"]
    assert Counter(step.target for step in plan.steps) == {"scratch-1GiB": 4, "scratch-1GiB-2": 4}
    assert {step.block for step in plan.steps} == set(range(1, 9))


def test_workload_factors_multiply(scratch: TargetFacts) -> None:
    factors = [
        {"setting": "workload", "key": "block_size", "levels": ["4KiB", "64KiB"]},
        {"setting": "workload", "key": "direct", "levels": [True, False]},
    ]
    plan = make_plan(experiment(factors=factors), [scratch], seed=1, quick=True)
    found = Counter((step.pattern.block_size, step.pattern.direct) for step in plan.steps)
    assert found == {(4096, True): 2, (4096, False): 2, (65536, True): 2, (65536, False): 2}
    assert {tuple(step.levels.values()) for step in plan.steps} == {
        (size, direct) for size in ("4KiB", "64KiB") for direct in ("true", "false")
    }


def test_a_factor_touches_only_the_workloads_that_it_names(scratch: TargetFacts) -> None:
    factors = [{"setting": "workload", "key": "queue_depth", "levels": [1, 4], "workloads": ["w"]}]
    workloads = [WRITE, WRITE | {"name": "other"}]
    plan = make_plan(experiment(factors=factors, workloads=workloads), [scratch], seed=1, quick=True)
    assert Counter(step.workload for step in plan.steps) == {"w": 4, "other": 2}
    assert all(not step.levels for step in plan.steps if step.workload == "other")


def test_nothing_is_destroyed_on_a_scratch_drive_or_in_a_directory(
    scratch: TargetFacts, directory: TargetFacts
) -> None:
    assert ssd_latency(scratch).destroys == ()
    assert make_plan(experiment(), [directory], seed=1).destroys == ()


def test_what_a_drive_would_lose_is_named(disk: TargetFacts) -> None:
    plan = ssd_latency(disk)
    (sentence,) = plan.destroys
    assert "/dev/sdb" in sentence
    assert "S250NXAG123456" in sentence
    assert "gpt on sdb, ext4 on sdb1 (data)" in sentence
    assert plan.targets[0].erase_argument == "S250NXAG123456+contents"
    assert plan.targets[0].label == "Samsung 850 PRO 3456"


def test_a_partition_is_named_as_such(partition: TargetFacts) -> None:
    assert ssd_latency(partition).targets[0].erase_argument == "S250NXAG123456-part1+contents"


def test_a_drive_that_is_only_read_loses_nothing(disk: TargetFacts) -> None:
    reads = [{"name": "r", "operation": "read", "access": "random", "count": 10}]
    plan = make_plan(experiment(workloads=reads), [disk], seed=1)
    assert plan.destroys == ()
    assert plan.bytes_written == 0


def test_small_direct_writes_grow_to_a_logical_block_and_say_so(scratch: TargetFacts) -> None:
    plan = ssd_latency(replace(scratch, logical_block_size_bytes=4096))
    assert {step.pattern.block_size for step in plan.steps if step.workload == "small-write"} == {4096}
    assert any("4 KiB instead of 512 B" in note for note in plan.notes)


def test_on_the_device_itself_nothing_is_appended(scratch: TargetFacts) -> None:
    plan = ssd_latency(scratch)
    states = {(step.levels["filesystem"], step.pattern.file_state) for step in plan.steps}
    assert states == {("raw", "overwrite"), ("ext4", "append"), ("xfs", "append")}


def test_a_turning_disk_is_expected_to_take_longer(disk: TargetFacts) -> None:
    turning = replace(disk, devices=(replace(disk.devices[0], is_rotational=True),))
    assert ssd_latency(turning).expected_ns > 3 * ssd_latency(disk).expected_ns


def test_ten_thousand_trials_are_planned_in_two_seconds(directory: TargetFacts) -> None:
    factors = [{"setting": "workload", "key": "block_size", "levels": [f"{512 * n}" for n in range(1, 101)]}]
    begin = time.monotonic()
    plan = make_plan(experiment(factors=factors, repeats={"full": 100}), [directory], seed=1)
    assert len(plan.steps) == 10_000
    plan.to_json()
    assert time.monotonic() - begin < 2


@pytest.mark.provokes("P704")
def test_a_directory_cannot_have_another_file_system(directory: TargetFacts) -> None:
    with pytest.raises(DrivelabError) as refusal:
        ssd_latency(directory)
    assert refusal.value.code == "P704"


@pytest.mark.provokes("P705")
@pytest.mark.parametrize(
    ("size_bytes", "quick"), [(2**30, False), (200 * 2**20, True)], ids=["too-little-room", "too-small-for-xfs"]
)
def test_a_target_that_is_too_small_is_refused(scratch: TargetFacts, size_bytes: int, quick: bool) -> None:
    with pytest.raises(DrivelabError) as refusal:
        ssd_latency(replace(scratch, size_bytes=size_bytes), quick=quick)
    assert refusal.value.code == "P705"


@pytest.mark.provokes("P706")
def test_a_block_that_is_no_multiple_of_the_logical_block_is_refused(scratch: TargetFacts) -> None:
    odd = [WRITE | {"block_size": "6144", "direct": True}]
    with pytest.raises(DrivelabError) as refusal:
        make_plan(experiment(workloads=odd), [replace(scratch, logical_block_size_bytes=4096)], seed=1)
    assert refusal.value.code == "P706"


def test_a_file_to_overwrite_needs_a_size(directory: TargetFacts) -> None:
    with pytest.raises(DrivelabError, match="how large") as refusal:
        make_plan(experiment(workloads=[WRITE | {"file_state": "overwrite"}]), [directory], seed=1)
    assert "file_size" in refusal.value.do


@pytest.mark.parametrize("kind", ["file", "missing_file"])
def test_files_of_the_user_are_not_written(directory: TargetFacts, kind: str) -> None:
    with pytest.raises(DrivelabError) as refusal:
        make_plan(experiment(), [replace(directory, kind=kind)], seed=1)
    assert refusal.value.code == "P706"
