"""What a run writes beside its workloads: as much as the run does, and not once more."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from drivelab.model.factor import FileSystemLevel
from drivelab.model.plan import PREPARATIONS, Plan
from drivelab.model.target import TargetFacts
from drivelab.plan.budget import COUNTED_BLOCK_BYTES_MAX, COUNTED_NS_MAX, COUNTED_OPERATIONS
from drivelab.plan.make import make_plan
from drivelab.plan.preparation import filesystem_bytes
from drivelab.run import commands_of_cells, counting_pass

from .conftest import GIB, MakeExperiment

MIB = 2**20
READ = {"name": "r", "operation": "read", "access": "random", "count": 10, "file_size": "64MiB"}
PLAIN = {"name": "w", "block_size": "4KiB", "count": 10, "file_state": "append"}


def kinds(plan: Plan) -> dict[str, int]:
    """What is written beside the workloads, scratch drives that are filled left out."""
    return {what: size for what, size in plan.preparation.items() if what != "scratch"}


# written sectors of a loop device over a sparse file, with e2fsprogs 1.47.0, xfsprogs 6.1, btrfs-progs 6.2, f2fs-tools
# 1.15; the 200 GiB by another computer
@pytest.mark.parametrize(
    ("level", "gib", "measured_mib"),
    [
        ("ext4", 1, 48),
        ("ext4", 8, 196),
        ("ext4", 64, 1540),
        ("ext4", 200, 4230),
        ("ext4", 256, 5126),
        ("ext3", 8, 194),
        ("ext3", 256, 5145),
        ("ext2", 1, 16),
        ("ext2", 64, 1032),
        ("xfs", 1, 64),
        ("xfs", 64, 64),
        ("xfs", 256, 128),
        ("btrfs", 64, 4),
        ("f2fs", 1, 6),
        ("f2fs", 8, 20),
        ("f2fs", 256, 120),
    ],
)
def test_a_file_system_costs_what_was_measured(level: str, gib: int, measured_mib: int) -> None:
    guessed = filesystem_bytes(FileSystemLevel(type=level, name=level), gib * GIB)  # type: ignore[arg-type]
    assert guessed == pytest.approx(measured_mib * MIB, rel=0.05)


def test_options_of_mkfs_change_what_it_writes() -> None:
    def ext4(*options: str) -> int:
        return filesystem_bytes(FileSystemLevel(type="ext4", name="x", mkfs_options=options), 64 * GIB)

    tables, journal = GIB, 512 * MIB
    assert ext4() == tables + journal
    assert ext4("-O", "^has_journal") == tables
    assert ext4("-J", "size=64") == tables + 64 * MIB
    assert ext4("-i", "65536") == tables // 4 + journal
    assert ext4("-I", "128") == tables // 2 + journal


def test_the_counting_pass_is_the_one_that_the_run_makes() -> None:
    assert counting_pass.OPERATIONS == COUNTED_OPERATIONS
    assert counting_pass.LONGEST_NS == COUNTED_NS_MAX
    assert commands_of_cells._COUNTED_BLOCK_BYTES_MAX == COUNTED_BLOCK_BYTES_MAX


def test_a_file_that_is_only_read_is_written_once_in_a_block(
    experiment: MakeExperiment, directory: TargetFacts
) -> None:
    asked = experiment(workloads=[READ, READ | {"name": "s", "access": "sequential"}])
    plan = make_plan(asked, [directory], seed=1)
    assert kinds(plan) == {"file": 4 * 64 * MIB}
    assert Counter(step.preparation_bytes for step in plan.steps) == {64 * MIB: 4, 0: 4}
    assert plan.bytes_written == plan.preparation_bytes == 4 * 64 * MIB


def test_another_size_or_a_trial_that_writes_needs_it_anew(experiment: MakeExperiment, directory: TargetFacts) -> None:
    sizes = experiment(workloads=[READ, READ | {"name": "s", "file_size": "32MiB"}])
    assert kinds(make_plan(sizes, [directory], seed=1)) == {"file": 4 * 96 * MIB}
    mixed = experiment(workloads=[READ, READ | {"name": "s"}, PLAIN], repeats={"full": 40})
    plan = make_plan(mixed, [directory], seed=1)
    expected = 0
    for block in range(1, 41):
        order = [step.workload for step in plan.steps if step.block == block]
        # once, and once more when the write comes between the two
        expected += (2 if order[1] == "w" else 1) * 64 * MIB
    assert kinds(plan) == {"file": expected}
    assert 40 < expected / (64 * MIB) < 80


@pytest.mark.parametrize(
    ("state", "filesystem", "laid_out"),
    [
        ("overwrite", "ext4", True),
        ("preallocated", "ext4", False),
        ("preallocated", "ext3", True),
        ("sparse", "ext3", False),
        ("append", "ext4", False),
    ],
)
def test_a_file_is_laid_out_before_each_trial_that_writes_over_it(
    experiment: MakeExperiment, scratch: TargetFacts, state: str, filesystem: str, laid_out: bool
) -> None:
    asked = experiment(
        workloads=[PLAIN | {"file_state": state, "file_size": "16MiB"}],
        factors=[{"setting": "filesystem", "levels": [filesystem]}],
    )
    plan = make_plan(asked, [scratch], seed=1)
    assert kinds(plan).get("file", 0) == (4 * 16 * MIB if laid_out else 0)


def test_a_file_system_is_counted_whenever_it_is_made_and_not_when_it_is_mounted_again(
    experiment: MakeExperiment, scratch: TargetFacts
) -> None:
    factors = [
        {"setting": "filesystem", "levels": ["ext4"]},
        {"setting": "mount", "levels": ["nodiscard", "discard"]},
    ]
    plan = make_plan(experiment(factors=factors, workloads=[PLAIN]), [scratch], seed=1)
    assert kinds(plan) == {"filesystem": 4 * 48 * MIB}
    large = replace(scratch, size_bytes=200 * GIB)
    one, other = (
        make_plan(experiment(factors=factors, workloads=[PLAIN]), [each], seed=1) for each in (scratch, large)
    )
    steps_ns = [sum(step.expected_ns for step in plan.steps) for plan in (one, other)]
    # 17.5 GB more at 500 MB/s
    assert steps_ns[1] - steps_ns[0] == pytest.approx(35e9, rel=0.05)


def test_a_mount_with_other_options_needs_its_file_anew(experiment: MakeExperiment, scratch: TargetFacts) -> None:
    factors = [
        {"setting": "filesystem", "levels": ["xfs"]},
        {"setting": "mount", "levels": ["nodiscard", "discard"]},
    ]
    plan = make_plan(experiment(factors=factors, workloads=[READ]), [scratch], seed=1)
    assert kinds(plan)["file"] == 4 * 2 * 64 * MIB


@pytest.mark.parametrize(
    ("changed", "written"),
    [
        ({"count": 1000}, 200 * 4096),
        ({"count": 50}, 50 * 4096),
        ({"count": 1000, "block_size": "1MiB"}, 200 * MIB),
        ({"count": 1000, "block_size": "2MiB"}, 0),
        ({"count": 1000, "durability": "none"}, 0),
        ({"count": 1000, "read_fraction": 0.75}, 50 * 4096),
    ],
)
def test_commands_are_counted_once_for_a_combination(
    experiment: MakeExperiment, write: dict[str, Any], disk: TargetFacts, changed: dict[str, Any], written: int
) -> None:
    plan = make_plan(experiment(workloads=[write | {"file_state": "overwrite"} | changed]), [disk], seed=1)
    assert kinds(plan).get("counting", 0) == written
    assert [step.preparation_bytes for step in plan.steps] == [written, 0, 0, 0]


PRECONDITION = {"setting": "precondition", "levels": ["sequential"]}


def test_a_drive_is_written_once_and_again_after_a_trim(experiment: MakeExperiment, disk: TargetFacts) -> None:
    plan = make_plan(experiment(workloads=[READ], factors=[PRECONDITION]), [disk], seed=1)
    assert kinds(plan) == {"precondition": disk.size_bytes}
    assert plan.steps[0].expected_ns > 1000 * 10**9 > plan.steps[1].expected_ns
    assert plan.destroys
    trimmed = [PRECONDITION, {"setting": "trim", "levels": ["device"]}]
    plan = make_plan(experiment(workloads=[READ], factors=trimmed), [disk], seed=1)
    assert kinds(plan) == {"precondition": 4 * disk.size_bytes}


def test_neither_a_full_scratch_drive_nor_files_are_written_once(
    experiment: MakeExperiment, scratch: TargetFacts, directory: TargetFacts
) -> None:
    asked = experiment(workloads=[READ], factors=[PRECONDITION])
    plan = make_plan(asked, [scratch], seed=1)
    assert plan.preparation == {"scratch": GIB}
    assert plan.destroys == ()
    assert kinds(make_plan(asked, [directory], seed=1)) == {"file": 4 * 64 * MIB}


def test_a_scratch_drive_on_which_a_file_system_was_made_is_written_again(
    experiment: MakeExperiment, scratch: TargetFacts
) -> None:
    factors = [PRECONDITION, {"setting": "filesystem", "levels": ["raw", "xfs"]}]
    plan = make_plan(experiment(workloads=[READ], factors=factors, repeats={"full": 2}), [scratch], seed=1)
    first = [step.levels["filesystem"] for step in plan.steps]
    fills = sum(now == "raw" and "xfs" in first[:place] for place, now in enumerate(first))
    assert kinds(plan).get("precondition", 0) == fills * GIB


def test_bytes_by_kind_are_those_of_the_steps_and_survive_being_stored(
    experiment: MakeExperiment, write: dict[str, Any], scratch: TargetFacts
) -> None:
    factors = [PRECONDITION, {"setting": "filesystem", "levels": ["ext4", "raw"]}]
    plan = make_plan(experiment(workloads=[READ, write], factors=factors), [scratch], seed=1)
    # a run is either counted or traced
    assert set(plan.preparation) == set(PREPARATIONS) - {"tracing"}
    assert plan.preparation_bytes == GIB + sum(step.preparation_bytes for step in plan.steps)
    assert Plan.from_json(plan.to_json()) == plan
    older = {key: value for key, value in plan.to_json().items() if key != "preparation"}
    assert Plan.from_json(older).preparation == {"scratch": plan.preparation_bytes}
