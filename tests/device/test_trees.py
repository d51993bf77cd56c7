"""Operations on files of a tree, on real file systems: what they cost the drive, and where there is no room."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from device.program import Drivelab
from drivelab.analyse.trial import judge_trial
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.model.tree import Tree
from drivelab.model.workload import Access, Durability, OperationShare, TargetRange, Workload
from drivelab.run.counting_pass import command_counts
from drivelab.run.engine import prepare_target, remove_tree, run_workload
from drivelab.run.measure import measure
from drivelab.store.read import open_run

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

MIB = 2**20
EXPERIMENT = """
format = 1
name = "trees"
question = "How fast are files made, looked up and removed?"
repeats = { full = 2, quick = 1 }

[[factors]]
setting = "page-cache"
levels = ["drop"]

[[factors]]
setting = "filesystem"
levels = [{ type = "ext4", mkfs_options = ["-E", "nodiscard"] }]

[[workloads]]
name = "create"
operation = "create"
file_count = 300
file_size = "4KiB"
durability = "fsync"
sync_directory = true

[[workloads]]
name = "stat"
operation = "stat"
access = "random"
file_count = 2000
directory_count = 20
job_count = 2

[[workloads]]
name = "spool"
operations = [{ operation = "create" }, { operation = "read_file" }, { operation = "delete" }]
file_count = 300
file_size = "16KiB"
file_size_min = "1KiB"
"""


def on_files(directory: Path, operation: str, files: int = 400, **fields: Any) -> Workload:
    """One operation on files of 4 KiB."""
    asked: dict[str, Any] = {
        "target": TargetRange(path=str(directory)),
        "operations": (OperationShare.model_validate({"operation": operation}),),
        "access": Access(kind="sequential"),
        "tree": Tree(file_count=files, file_bytes_min=4096, file_bytes_max=4096),
    }
    return Workload(**asked | fields)


@pytest.fixture
def ext4(mount_filesystem: Callable[..., Path]) -> Iterator[Path]:
    """A fresh ext4 of 64 MiB."""
    directory = mount_filesystem("ext4", size_bytes=64 * MIB)
    yield directory
    remove_tree(str(directory))


COSTS = {
    "a file made durable": ("create", Durability(method="fsync"), 1, 2),
    # the commit that made the file durable has taken its directory with it
    "a file and its directory": ("create", Durability(method="fsync", directory=True), 1, 2),
    "a directory after each file removed": ("delete", Durability(directory=True), 0, 2),
    "a directory after each file renamed": ("rename", Durability(directory=True), 0, 2),
    "a file replaced": ("replace", Durability(method="fdatasync"), 1, 2),
    # one commit, for the journal; the page of its header, two of the file, and a flush for each of them
    "a file updated": ("update", Durability(method="fdatasync", directory=True), 4, 4),
}


@pytest.mark.parametrize(("operation", "durability", "data", "flushes"), COSTS.values(), ids=COSTS)
def test_each_durable_operation_costs_a_commit_of_the_journal_with_its_flushes(
    ext4: Path, operation: str, durability: Durability, data: int, flushes: int
) -> None:
    tree = Tree(file_count=400, file_bytes_min=16384, file_bytes_max=16384)
    workload = on_files(ext4, operation, durability=durability, tree=tree)
    found = command_counts(workload, resolve_target(str(ext4)), timed_operations=200, timed_devices=())
    counts = found["command_counts"]
    assert counts is not None, found["command_counts_reason"]
    # the pass ends after a time, which on a busy machine has room for fewer
    assert 20 <= counts["operations"] <= 200
    assert counts["flushes_counted"] == counts["flushes"]
    journal = counts["metadata_writes_per_operation"]
    assert counts["data_writes_per_operation"] - journal == pytest.approx(data, abs=0.2)
    # a descriptor with its blocks, and the record that commits them
    assert journal == pytest.approx(2, abs=0.6)
    assert counts["flushes_per_operation"] == pytest.approx(flushes, abs=0.1)


def trial(workload: Workload, *, drops: bool = False) -> tuple[Measurement, dict[str, str]]:
    """A measured workload, and the severity of each of its findings."""
    facts = resolve_target(workload.target.path)
    measured = measure("trial", workload, facts, drops_page_cache=drops, idle_watch_s=0)
    found = judge_trial(measured, facts)[1]
    return measured, {finding.code: finding.severity for finding in found}


def reads_of(measured: Measurement) -> tuple[int, int]:
    """Reads of the loop device, and their bytes."""
    counts = measured.counted_device
    assert counts is not None
    return counts.reads, counts.bytes_read


@pytest.mark.parametrize("operation", ["stat", "read_file"])
def test_files_are_looked_up_on_the_drive_only_once_the_caches_are_dropped(ext4: Path, operation: str) -> None:
    workload = on_files(ext4, operation, files=2000)
    # the kernel may take a few pages back at any time, and then their files are read once
    tries = (trial(workload) for _ in range(3))
    _warm, told = next(found for found in tries if reads_of(found[0]) == (0, 0))
    assert told["names-in-memory"] == "note"
    cold, told = trial(workload, drops=True)
    assert cold.context["dropped_page_cache"]["method"] == "drop_caches"
    # sixteen inodes in a block, and blocks are read ahead
    assert reads_of(cold)[0] >= 2000 / 16 / 32
    assert "names-in-memory" not in told
    assert cold.context["page_cache"]["reason"] == "the target is a tree of files"
    if operation == "read_file":
        assert reads_of(cold)[1] >= 2000 * 4096


def test_sync_calls_of_operations_on_files_are_known_to_the_counts(ext4: Path) -> None:
    measured, _told = trial(on_files(ext4, "create", durability=Durability(method="fsync")))
    counts = measured.counted_device
    assert counts is not None
    assert counts.flushes == pytest.approx(800, rel=0.05)
    # the commit's record and the file's data carry data, an empty flush does not
    assert counts.data_writes_low <= counts.writes - 400


def test_a_disk_that_fills_up_meanwhile_ends_the_run_with_its_error(ext4: Path) -> None:
    workload = on_files(ext4, "create", files=4000)
    prepare_target(workload)
    with (ext4 / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while filler.write(bytes(MIB)):
            pass
    summary = run_workload(workload).summary
    (error,) = summary["errors"]
    assert (error["operation"], error["name"], summary["stopped_by"]) == ("create", "ENOSPC", "error")
    assert error["first_offset_bytes"] == summary["operations"]["create"]["count"]


@pytest.mark.provokes("E317")
def test_too_large_a_tree_is_refused_before_anything_is_made(ext4: Path) -> None:
    for tree, code in (
        (Tree(file_count=100, file_bytes_min=MIB, file_bytes_max=MIB), "E306"),
        (Tree(file_count=100_000), "E317"),
    ):
        with pytest.raises(DrivelabError) as refusal:
            prepare_target(on_files(ext4, "stat", tree=tree))
        assert refusal.value.code == code
        assert not (ext4 / "drivelab-tree/files").exists()


def test_a_read_only_file_system_is_refused(ext4: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(ext4)], check=True)
    with pytest.raises(DrivelabError) as refusal:
        prepare_target(on_files(ext4, "create"))
    assert refusal.value.code == "E305"
    subprocess.run(["mount", "-o", "remount,rw", str(ext4)], check=True)


def test_an_experiment_on_files_runs_on_a_scratch_drive_and_leaves_nothing(drivelab: Drivelab, tmp_path: Path) -> None:
    file = tmp_path / "trees.toml"
    file.write_text(EXPERIMENT)
    answer = drivelab.run("run", str(file), "scratch:64MiB", "--json")
    assert answer.returncode in (0, 4), answer.stderr
    document = json.loads(answer.stdout)
    metrics = {row["workload"]: row["metrics"] for row in document["results"]}
    assert metrics["create"]["device_flushes_per_operation"]["median"] == pytest.approx(2, abs=0.1)
    assert all(one["iops"]["median"] > 100 for one in metrics.values())
    run = open_run(document["run"])
    rows = run.trials.to_pylist()
    assert {row["operation"] for row in rows} == {"create", "stat", "read_file"} or len(rows) == 6
    assert {row["block_size_bytes"] for row in rows} == {None}
    assert {row["operation_count"] for row in rows if row["workload"] == "stat"} == {2000}
    reads = [row["device_reads_per_operation"] for row in rows if row["workload"] == "stat"]
    assert all(each > 0 for each in reads)
    assert drivelab.left_over() == []


def test_a_trace_of_operations_on_files_is_refused_with_the_reason(drivelab: Drivelab, tmp_path: Path) -> None:
    file = tmp_path / "trees.toml"
    file.write_text(EXPERIMENT.partition('[[workloads]]\nname = "stat"')[0])
    answer = drivelab.run("run", str(file), "scratch:64MiB", "--quick", "--trace", "--json")
    assert answer.returncode in (0, 4), answer.stderr
    run = open_run(json.loads(answer.stdout)["run"])
    (row,) = run.trials.to_pylist()
    context = json.loads(row["context_json"])
    assert context["trace"] is None
    assert "not traced" in context["trace_reason"]
    assert context["command_counts"]["flushes_per_operation"] == pytest.approx(2, abs=0.1)
