"""A plan is the same for the same input, complete, balanced, and honest about what it destroys."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from drivelab.experiments.load import load_experiment
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.plan import Plan
from drivelab.model.setting import SettingFacts
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan

from .conftest import MakeExperiment

NO_WRITE_CACHE: Mapping[str, SettingFacts] = {"write-cache": SettingFacts("write-cache", reason="it has none")}
FILE_SYSTEMS = {"setting": "filesystem", "levels": ["raw", "ext4", "xfs"]}
SMALL_AND_LARGE = [
    {"name": "small", "block_size": "512", "count": 100, "direct": True, "file_state": "append"},
    {"name": "large", "block_size": "1MiB", "count": 8, "direct": True, "file_state": "append"},
]


@pytest.fixture
def three_file_systems(experiment: MakeExperiment) -> Experiment:
    """Two workloads on three file systems, twice."""
    return experiment(factors=[FILE_SYSTEMS], workloads=SMALL_AND_LARGE, repeats={"full": 3, "quick": 2})


def ssd_latency(target: TargetFacts, *, quick: bool = True) -> Plan:
    return make_plan(load_experiment("ssd-latency"), [target], seed=1, quick=quick, settings=[NO_WRITE_CACHE])


def test_the_same_input_gives_the_same_plan(three_file_systems: Experiment, scratch: TargetFacts) -> None:
    one, other = (make_plan(three_file_systems, [scratch], seed=7) for _ in range(2))
    assert one == other


def test_another_seed_gives_another_order_of_the_same_trials(
    three_file_systems: Experiment, scratch: TargetFacts
) -> None:
    orders = [
        [(step.workload, step.levels["filesystem"]) for step in make_plan(three_file_systems, [scratch], seed=n).steps]
        for n in (7, 8)
    ]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])


def test_every_block_holds_every_cell_once(three_file_systems: Experiment, scratch: TargetFacts) -> None:
    plan = make_plan(three_file_systems, [scratch], seed=1)
    for block in (1, 2, 3):
        cells = [(s.workload, s.levels["filesystem"], s.repeat) for s in plan.steps if s.block == block]
        assert Counter(cells) == Counter(
            (workload, filesystem, block) for workload in ("small", "large") for filesystem in ("raw", "ext4", "xfs")
        )


def test_a_file_system_is_made_once_in_a_block(three_file_systems: Experiment, scratch: TargetFacts) -> None:
    plan = make_plan(three_file_systems, [scratch], seed=1)
    levels = [(step.block, step.levels["filesystem"]) for step in plan.steps]
    episodes = [level for level, before in zip(levels, [None, *levels], strict=False) if level != before]
    assert len(episodes) == len(set(episodes)) == 9


def test_steps_are_numbered_and_named_without_doubles(three_file_systems: Experiment, scratch: TargetFacts) -> None:
    steps = make_plan(three_file_systems, [scratch], seed=1).steps
    assert [step.number for step in steps] == list(range(1, 19))
    assert len({step.trial for step in steps}) == 18
    assert [step.trial for step in steps] == sorted(step.trial for step in steps)
    assert len({step.seed for step in steps}) == 18


def test_quick_is_smaller_and_says_so(scratch: TargetFacts) -> None:
    plan = ssd_latency(scratch)
    assert plan.quick
    sizes = {step.workload: (step.pattern.block_size, step.pattern.count) for step in plan.steps}
    assert sizes == {"small-write": (512, 1000), "bandwidth": (32 * 2**20, 4)}
    # in each of 3 blocks 5 small writes and 3 large ones; the reference before each and once more at the end
    assert Counter(step.workload for step in plan.steps) == {"small-write": 3 * 5 + 4, "bandwidth": 3 * 3}
    workloads = 19 * 512_000 + 9 * 128 * 2**20
    # in each block ext4 and xfs are made; small writes are counted once in each of 5 combinations
    assert plan.preparation == {"scratch": 2**30, "filesystem": 3 * (48 + 64) * 2**20, "counting": 5 * 200 * 512}
    assert plan.bytes_written == workloads + plan.preparation_bytes


def test_several_targets_get_labels_of_their_own(experiment: MakeExperiment, scratch: TargetFacts) -> None:
    plan = make_plan(experiment(), [scratch, scratch], seed=1)
    assert [target.label for target in plan.targets] == ["scratch-1GiB", "scratch-1GiB-2"]
    assert Counter(step.target for step in plan.steps) == {"scratch-1GiB": 4, "scratch-1GiB-2": 4}
    assert {step.block for step in plan.steps} == set(range(1, 9))


def test_labels_are_the_users_and_completed(experiment: MakeExperiment, scratch: TargetFacts) -> None:
    plan = make_plan(experiment(), [scratch, scratch], seed=1, labels=["scratch-1GiB"])
    assert [target.label for target in plan.targets] == ["scratch-1GiB", "scratch-1GiB-2"]


@pytest.mark.provokes("P709")
@pytest.mark.parametrize("labels", [["a", "b", "c"], ["a", "a"], [" "]], ids=["too-many", "doubles", "empty"])
def test_labels_that_do_not_fit_are_refused(
    experiment: MakeExperiment, scratch: TargetFacts, labels: list[str]
) -> None:
    with pytest.raises(DrivelabError) as refusal:
        make_plan(experiment(), [scratch, scratch], seed=1, labels=labels)
    assert refusal.value.code == "P709"


def test_workload_factors_multiply(experiment: MakeExperiment, scratch: TargetFacts) -> None:
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


def test_a_factor_touches_only_the_workloads_that_it_names(
    experiment: MakeExperiment, write: dict[str, Any], scratch: TargetFacts
) -> None:
    factors = [{"setting": "workload", "key": "queue_depth", "levels": [1, 4], "workloads": ["w"]}]
    workloads = [write, write | {"name": "other"}]
    plan = make_plan(experiment(factors=factors, workloads=workloads), [scratch], seed=1, quick=True)
    assert Counter(step.workload for step in plan.steps) == {"w": 4, "other": 2}
    assert all(not step.levels for step in plan.steps if step.workload == "other")


def test_nothing_is_destroyed_on_a_scratch_drive_or_in_a_directory(
    experiment: MakeExperiment, scratch: TargetFacts, directory: TargetFacts
) -> None:
    assert ssd_latency(scratch).destroys == ()
    assert make_plan(experiment(), [directory], seed=1).destroys == ()


def test_what_a_drive_would_lose_is_named(experiment: MakeExperiment, disk: TargetFacts) -> None:
    plan = make_plan(experiment(), [disk], seed=1)
    (sentence,) = plan.destroys
    assert "/dev/sdb" in sentence
    assert "S250NXAG123456" in sentence
    assert "gpt on sdb, ext4 on sdb1 (data)" in sentence
    assert plan.targets[0].erase_argument == "S250NXAG123456+contents"
    assert plan.targets[0].purge_argument == ""
    assert plan.targets[0].label == "Samsung 850 PRO 3456"


def test_a_partition_is_named_as_such(experiment: MakeExperiment, partition: TargetFacts) -> None:
    plan = make_plan(experiment(), [partition], seed=1)
    assert plan.targets[0].erase_argument == "S250NXAG123456-part1+contents"


READS = {"name": "r", "operation": "read", "access": "random", "count": 10}


def test_a_drive_that_is_only_read_loses_nothing(experiment: MakeExperiment, disk: TargetFacts) -> None:
    for factors in ([], [{"setting": "filesystem", "levels": ["raw"]}]):
        plan = make_plan(experiment(workloads=[READS], factors=factors), [disk], seed=1)
        assert plan.destroys == ()
        assert plan.targets[0].erase_argument == ""
        assert plan.bytes_written == 0


@pytest.mark.parametrize(
    ("factor", "purge_argument"),
    [
        ({"setting": "trim", "levels": ["none", "device"]}, ""),
        ({"setting": "purge", "levels": ["none", "ata-secure-erase"]}, "S250NXAG123456+contents"),
        ({"setting": "filesystem", "levels": ["ext4"]}, ""),
    ],
    ids=["trim", "purge", "filesystem"],
)
def test_a_drive_that_is_read_after_it_was_cleared_loses_everything(
    experiment: MakeExperiment, disk: TargetFacts, factor: dict[str, Any], purge_argument: str
) -> None:
    asked = experiment(workloads=[READS | {"file_size": "1MiB"}], factors=[factor])
    known = {"purge": SettingFacts("purge", levels=("none", "ata-secure-erase"))}
    plan = make_plan(asked, [disk], seed=1, settings=[known])
    assert plan.destroys
    assert plan.targets[0].erase_argument == "S250NXAG123456+contents"
    assert plan.targets[0].purge_argument == purge_argument


def test_a_turning_disk_is_expected_to_take_longer(experiment: MakeExperiment, disk: TargetFacts) -> None:
    turning = replace(disk, devices=(replace(disk.devices[0], is_rotational=True),))
    still_ns, turning_ns = (make_plan(experiment(), [each], seed=1).expected_ns for each in (disk, turning))
    assert turning_ns > 3 * still_ns


def test_ten_thousand_trials_are_planned_in_two_seconds(experiment: MakeExperiment, directory: TargetFacts) -> None:
    factors = [{"setting": "workload", "key": "block_size", "levels": [f"{512 * n}" for n in range(1, 101)]}]
    begin = time.process_time()
    plan = make_plan(experiment(factors=factors, repeats={"full": 100}), [directory], seed=1)
    assert len(plan.steps) == 10_000
    plan.to_json()
    assert time.process_time() - begin < 2
