"""What a durable write costs in each state of a file, counted on ext4: the pass that counts meets the same file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from device.program import Drivelab
from drivelab.model.workload import TargetRange
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.run.engine import prepare_target

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

OWN = """
format = 1
name = "file-states"
question = "What does each state of a file cost?"
repeats = { full = 1, quick = 1 }

[[factors]]
setting = "filesystem"
levels = [{ type = "ext4", mkfs_options = ["-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"] }]

[[factors]]
setting = "workload"
key = "file_state"
levels = ["overwrite", "preallocated", "sparse", "append"]

[[workloads]]
name = "log"
block_size = "4KiB"
file_size = "4MiB"
backend = "sync"
durability = "fdatasync"
count = 300
interval = "5ms"
"""
# the block alone; or the block, and a commit of the journal: descriptor and inode in one write, then its commit record
WRITES = {"overwrite": 1.0, "preallocated": 3.0, "sparse": 3.0, "append": 3.0}
FLUSHES = {"overwrite": 1.0, "preallocated": 2.0, "sparse": 2.0, "append": 2.0}


@pytest.fixture
def results(drivelab: Drivelab) -> dict[str, dict[str, float]]:
    """Commands per operation, by state of the file."""
    path = Path(drivelab.folder) / "states.toml"
    path.write_text(OWN)
    answer = drivelab.run("run", str(path), "scratch:64MiB", "--json")
    assert answer.returncode in (0, 4), answer.stderr
    rows = json.loads(answer.stdout)["results"]
    return {
        row["levels"]["file_state"]: {name: metric["median"] for name, metric in row["metrics"].items()} for row in rows
    }


def test_every_state_has_its_own_commands_and_both_ways_of_counting_agree(
    results: dict[str, dict[str, float]],
) -> None:
    assert set(results) == set(WRITES)
    for state, metrics in results.items():
        # the writes of the counting pass are given only where its flushes were those of the timed pass
        assert metrics["device_writes_per_operation"] == pytest.approx(WRITES[state], rel=0.05), state
        assert metrics["device_flushes_per_operation"] == pytest.approx(FLUSHES[state], rel=0.05), state


@pytest.mark.needs_tool("mkfs.xfs")
def test_room_that_a_file_system_gives_back_a_while_later_is_waited_for(mount_filesystem: Callable[..., Path]) -> None:
    """What a removed file held is freed by xfs in the background; the next file needs it."""
    directory = mount_filesystem("xfs", size_bytes=400 << 20)
    for _ in range(8):
        for name, size in (("small", 96 << 20), ("large", 256 << 20)):
            path = directory / name
            target = TargetRange(path=str(path), size_bytes=size, create=True)
            prepare_target(WorkloadPattern(operation="write", count=1).on(target, seed=1))
            path.unlink()
