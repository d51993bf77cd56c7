"""Operations on files in a plan: where they can be, what they need, and what they write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.model.factor import FileSystemLevel
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.budget import COUNTED_OPERATIONS, bytes_written, counting_pass, expected_step_ns, tree_made
from drivelab.plan.make import make_plan
from drivelab.plan.tree import tree_bytes

from .conftest import GIB, MakeExperiment

CREATE = {"name": "create", "operation": "create", "file_count": 1000, "file_size": "4KiB"}
EXT4 = FileSystemLevel(type="ext4", name="ext4")


def made(experiment: MakeExperiment, target: TargetFacts, *factors: dict[str, Any], **keys: Any) -> Plan:
    return make_plan(experiment(workloads=[CREATE | keys], factors=list(factors)), [target], seed=1)


def pattern(operation: str = "create", **keys: Any) -> WorkloadPattern:
    return WorkloadPattern.model_validate({"operation": operation, "file_count": 1000, "file_size": "4KiB"} | keys)


def filesystem(**level: Any) -> dict[str, Any]:
    return {"setting": "filesystem", "levels": [{"type": "ext4"} | level]}


def test_files_are_made_in_directories_and_on_file_systems(
    experiment: MakeExperiment, scratch: TargetFacts, directory: TargetFacts
) -> None:
    assert len(made(experiment, directory).steps) == 4
    assert len(made(experiment, scratch, filesystem()).steps) == 4


def test_a_drive_without_a_file_system_is_refused(experiment: MakeExperiment, scratch: TargetFacts) -> None:
    with pytest.raises(DrivelabError) as refusal:
        made(experiment, scratch)
    assert refusal.value.code == "P706"
    assert "without a file system" in refusal.value.what
    raw = {"setting": "filesystem", "levels": ["raw", "ext4"]}
    with pytest.raises(DrivelabError):
        made(experiment, scratch, raw)


def test_too_little_room_and_too_few_inodes_are_told_before(
    experiment: MakeExperiment, scratch: TargetFacts, directory: TargetFacts
) -> None:
    with pytest.raises(DrivelabError) as refusal:
        made(experiment, directory, file_size="100MiB")
    assert (refusal.value.code, "97.7 GiB" in refusal.value.what) == ("P705", True)
    assert directory.filesystem is not None
    full = replace(directory, filesystem=replace(directory.filesystem, free_inodes=500))
    with pytest.raises(DrivelabError, match="500"):
        made(experiment, full)
    # an inode for every 16 KiB of 1 GiB; mke2fs makes as many as it is told to
    many = {"file_count": 70_000, "file_size": "0"}
    with pytest.raises(DrivelabError, match="inodes"):
        made(experiment, scratch, filesystem(), **many)
    assert made(experiment, scratch, filesystem(mkfs_options=["-N", "80000"]), **many).steps
    assert made(experiment, scratch, filesystem(mkfs_options=["-i", "8192"]), **many).steps
    assert made(experiment, scratch, filesystem(type="xfs"), **many).steps


def test_files_are_written_and_made_before_where_the_workload_needs_them() -> None:
    assert bytes_written(pattern(), EXT4, pace="flash") == 1000 * 4096
    assert bytes_written(pattern("delete"), EXT4, pace="flash") == 0
    assert bytes_written(pattern(count=100), EXT4, pace="flash") == 100 * 4096
    assert bytes_written(pattern(file_size_min="0"), EXT4, pace="flash") == 1000 * 2048
    assert tree_made(pattern(), pace="flash") == (0, 0)
    assert tree_made(pattern("stat"), pace="flash")[0] == tree_bytes(pattern("stat")) == 1001 * 4096
    assert tree_bytes(pattern(file_size="1")) == 1001 * 4096
    assert tree_bytes(pattern(file_size="0", directory_count=10)) == 10 * 4096
    mix = [{"operation": "create"}, {"operation": "read_file", "weight": 3}]
    half = WorkloadPattern.model_validate({"operations": mix, "file_count": 1000, "file_size": "4KiB"})
    assert bytes_written(half, EXT4, pace="flash") == 1000 * 4096 / 4


def test_durable_files_take_longer_and_are_counted() -> None:
    plain, durable = pattern(), pattern(durability="fsync")
    quick, slow = (expected_step_ns(one, EXT4, pace="disk") for one in (plain, durable))
    assert 0 < quick < 1e9 < slow
    assert counting_pass(plain, EXT4, pace="flash") == (0, 0)
    assert counting_pass(durable, EXT4, pace="flash")[0] == COUNTED_OPERATIONS * 4096
    assert counting_pass(pattern("delete", sync_directory=True), EXT4, pace="flash")[1] > 0
    assert counting_pass(pattern("delete", durability="fsync"), EXT4, pace="flash") == (0, 0)
    at_end = pattern(durability="fsync", sync_every_writes="end")
    assert expected_step_ns(at_end, EXT4, pace="disk") == quick


def test_a_runtime_and_jobs_bound_the_time() -> None:
    long = pattern("stat", runtime="2s", file_count=10_000)
    assert expected_step_ns(long, EXT4, pace="flash") == pytest.approx(2e9, rel=0.05)
    one, four = (expected_step_ns(pattern(job_count=jobs, file_count=100_000), EXT4, pace="flash") for jobs in (1, 4))
    assert one == pytest.approx(4 * four, rel=0.1)


def test_files_of_several_trials_at_the_same_time_must_fit_together(
    experiment: MakeExperiment, directory: TargetFacts
) -> None:
    large = CREATE | {"file_size": "6MiB", "together": "all"}
    both = experiment(workloads=[large, large | {"name": "other"}])
    with pytest.raises(DrivelabError) as refusal:
        make_plan(both, [directory], seed=1)
    assert refusal.value.code == "P705"
    assert 2 * tree_bytes(pattern(file_size="6MiB")) > 0.85 * 10 * GIB


def test_a_drive_too_small_for_the_file_system_is_refused_before_anything_is_made(
    experiment: MakeExperiment, scratch: TargetFacts
) -> None:
    small = replace(scratch, size_bytes=64 * 2**20)
    with pytest.raises(DrivelabError, match="xfs needs 300 MiB") as refusal:
        made(experiment, small, {"setting": "filesystem", "levels": ["xfs"]})
    assert (refusal.value.code, "--only filesystem=" in refusal.value.do) == ("P705", True)
