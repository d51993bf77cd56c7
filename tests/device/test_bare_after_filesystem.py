"""A bare drive that had a file system a moment ago: what the kernel still takes for metadata is no journal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from device.program import Drivelab

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

ALTERNATING = """
format = 1
name = "alternating"
question = "Has a bare drive a journal?"
repeats = { full = 4 }

[[factors]]
setting = "filesystem"
levels = ["raw", { type = "ext4", mkfs_options = ["-E", "nodiscard"] }]

[[workloads]]
name = "byte"
block_size = "1"
backend = "sync"
durability = "fdatasync"
file_state = "append"
count = 30
"""


def test_a_bare_drive_has_no_journal(drivelab: Drivelab, tmp_path: Path) -> None:
    experiment = tmp_path / "alternating.toml"
    experiment.write_text(ALTERNATING)
    # commands are counted at the drive that drivelab makes, not below it, where no layer says whose they are
    ran = drivelab.run("run", str(experiment), "scratch:512MiB", "--trace")
    assert ran.returncode in (0, 4), ran.stderr
    (directory,) = drivelab.runs.iterdir()
    told = json.loads(drivelab.run("explain", str(directory), "--json").stdout)
    work = {one["levels"]["filesystem"]: one["work_per_operation"] for one in told["explanations"]}
    assert (work["raw"]["journal_writes"], work["raw"]["journal_bytes"]) == (0, 0)
    assert work["ext4"]["journal_writes"] > 0.9
