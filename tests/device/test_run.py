"""Whole runs on scratch drives: the numbers, and what is left when a run is killed at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from drivelab.inventory.mounts import read_mounts
from drivelab.state.loop_device import loops_over
from drivelab.store.read import open_run

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4", "mkfs.xfs")]

KILLS = 10
SMALL = """
format = 1
name = "small"
question = "What is left after a kill?"
repeats = { full = 3, quick = 3 }

[[factors]]
setting = "filesystem"
levels = ["raw", { type = "ext4", mkfs_options = ["-E", "nodiscard"] }]

[[workloads]]
name = "log"
block_size = "512"
file_state = "append"
backend = "sync"
direct = true
durability = "o_sync"
count = 300
interval = "5ms"
"""


class Drivelab:
    """Starts the program in a place of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.small = folder / "small.toml"
        self.small.write_text(SMALL)
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "XDG_STATE_HOME": str(folder / "state"),
            "DRIVELAB_RUNS": str(self.runs),
            "DRIVELAB_SCRATCH": str(self.scratch),
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "drivelab", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=self.environment)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def left_over(self) -> list[str]:
        """Every scratch file, loop device, mount and journal that is still there."""
        files = [str(path) for path in self.scratch.iterdir()]
        found = list(files)
        for name in Path("/sys/block").glob("loop*/loop/backing_file"):
            backing = name.read_text().strip()
            if backing.startswith(str(self.scratch)):
                found.append(backing)
                found += [mount.mount_point for mount in read_mounts() if mount.source == f"/dev/{name.parts[3]}"]
        journals = self.folder / "state" / "drivelab" / "journals"
        return found + [str(path) for path in journals.glob("*")]


@pytest.fixture
def drivelab(tmp_path: Path) -> Iterator[Drivelab]:
    program = Drivelab(tmp_path)
    yield program
    program.run("restore")


def test_the_first_page_of_the_seed_runs_on_a_scratch_drive(drivelab: Drivelab) -> None:
    begin = time.monotonic()
    answer = drivelab.run("run", "ssd-latency", "scratch:1GiB", "--quick", "--json")
    assert time.monotonic() - begin < 60
    assert answer.returncode in (0, 4), answer.stderr
    document = json.loads(answer.stdout)
    rows = {
        row["levels"]["filesystem"]: row["metrics"] for row in document["results"] if row["workload"] == "small-write"
    }
    assert set(rows) == {"raw", "ext4", "xfs"}
    # data, then the journal's or log's writes; O_SYNC through pwrite flushes twice (kernel 6.x)
    assert median_of(rows, "device_writes_per_operation") == pytest.approx({"raw": 1, "ext4": 3, "xfs": 2}, abs=0.05)
    assert median_of(rows, "device_flushes_per_operation") == pytest.approx({"raw": 2, "ext4": 2, "xfs": 2}, abs=0.05)
    # that a journal makes a write dearer shows in what the drive is given; times depend on who else is busy
    written = median_of(rows, "device_bytes_per_operation")
    assert written["raw"] < written["xfs"] < written["ext4"]
    assert all(latency > 0 for latency in median_of(rows, "total_latency_ns_p50").values())
    assert all(metrics["total_latency_ns_p99"]["median"] > 0 for metrics in rows.values())
    run = open_run(document["run"])
    assert len(run.trial_names) == 18
    assert Path(document["report"]).stat().st_size > 100_000
    achieved = {row["achieved_filesystem"].split()[0] for row in run.trials.to_pylist()}
    assert achieved == {"raw", "ext4", "xfs"}
    assert drivelab.left_over() == []
    assert "step 18 of 18" in answer.stderr


def median_of(rows: dict[str, Any], metric: str) -> dict[str, float]:
    return {level: metrics[metric]["median"] for level, metrics in rows.items()}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_end_puts_everything_back_and_keeps_what_was_measured(drivelab: Drivelab, number: int) -> None:
    process = drivelab.start("run", str(drivelab.small), "scratch:32MiB")
    wait_for_line(process, "step 2 of 6")
    process.send_signal(number)
    out, _err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert drivelab.left_over() == []
    (directory,) = drivelab.runs.iterdir()
    run = open_run(directory)
    assert run.run_json["status"] == "interrupted"
    assert 2 <= len(run.trial_names) < 6
    assert str(directory) in out


@pytest.mark.timeout(300)
def test_after_a_kill_at_any_moment_restore_leaves_nothing_and_no_trial_is_lost(drivelab: Drivelab) -> None:
    process = drivelab.start("run", str(drivelab.small), "scratch:32MiB")
    wait_for_line(process, "filling")
    begin = time.monotonic()
    wait_for_line(process, "putting everything back")
    whole_s = time.monotonic() - begin
    process.communicate()
    generator = random.Random(5)
    left_behind = 0
    for kill in range(KILLS):
        before = set(drivelab.runs.iterdir())
        process = drivelab.start("run", str(drivelab.small), "scratch:32MiB")
        wait_for_line(process, "filling")
        time.sleep(whole_s * (kill + generator.random()) / KILLS)
        process.kill()
        process.communicate()
        left_behind += bool(drivelab.left_over())
        answer = drivelab.run("restore")
        assert answer.returncode == 0, answer.stderr
        assert drivelab.left_over() == []
        for directory in set(drivelab.runs.iterdir()) - before:
            assert_nothing_lost(directory)
    assert left_behind > KILLS // 3, "the kills came too late to mean anything"


def assert_nothing_lost(directory: Path) -> None:
    """Every trial that the run's journal calls done can be read, and none is there twice."""
    if not (directory / "run.json").exists():
        return
    journal = directory / "journal.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    events = [json.loads(line) for line in lines]
    done = [event["trial"] for event in events if event["event"] == "step done"]
    run = open_run(directory)
    assert set(done) <= set(run.trial_names)
    assert len(run.trial_names) == len(set(run.trial_names)) <= len(done) + 1
    for name in run.trial_names:
        assert run.measurement(name).histograms["write", "total"].total_count == 300


def test_ctrl_c_ends_the_filling_of_a_large_scratch_drive_at_once(drivelab: Drivelab) -> None:
    process = drivelab.start("run", str(drivelab.small), "scratch:4GiB")
    wait_for_line(process, "filling")
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert time.monotonic() - begin < 5
    assert drivelab.left_over() == []


def test_the_next_run_puts_back_what_a_killed_one_left(drivelab: Drivelab) -> None:
    process = drivelab.start("run", str(drivelab.small), "scratch:32MiB")
    wait_for_line(process, "step 1 of 6")
    process.kill()
    process.communicate()
    assert drivelab.left_over() != []
    answer = drivelab.run("run", str(drivelab.small), "scratch:32MiB")
    assert answer.returncode in (0, 4), answer.stderr
    assert "had left changed" in answer.stderr
    assert drivelab.left_over() == []


def test_a_run_is_not_disturbed_by_a_restore(drivelab: Drivelab) -> None:
    process = drivelab.start("run", str(drivelab.small), "scratch:32MiB")
    wait_for_line(process, "step 1 of 6")
    assert drivelab.run("restore").stdout == "Nothing was left changed.\n"
    process.communicate(timeout=60)
    assert process.returncode in (0, 4)


@pytest.mark.provokes("C201")
def test_a_drive_is_not_touched_without_the_word_of_its_owner(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    before = device.read_bytes()
    answer = drivelab.run("run", str(drivelab.small), str(device))
    assert answer.returncode == 3
    assert "error[C201]" in answer.stderr
    assert device.read_bytes() == before
    assert not drivelab.runs.exists()


def test_a_drive_that_its_owner_named_is_used_and_left_blank(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    answer = drivelab.run("run", str(drivelab.small), str(device), "--erase", device.name)
    assert answer.returncode in (0, 4), answer.stderr
    (directory,) = drivelab.runs.iterdir()
    assert len(open_run(directory).trial_names) == 6
    assert subprocess.run(["blkid", "-p", str(device)], capture_output=True).returncode == 2, "nothing is found"
    assert device.name in loops_over(Path(f"/sys/block/{device.name}/loop/backing_file").read_text().strip())


def test_a_disk_that_fills_up_ends_the_run_and_leaves_nothing(drivelab: Drivelab, mount_filesystem) -> None:
    small = mount_filesystem("ext4", size_bytes=8 * 2**20)
    with (small / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    # enough for the begin of the run only
    os.truncate(small / "ballast", (small / "ballast").stat().st_size - 48 * 1024)
    answer = drivelab.run("run", str(drivelab.small), "scratch:32MiB", "--out", str(small))
    assert answer.returncode == 1
    assert "error[S502]" in answer.stderr
    assert drivelab.left_over() == []
    (directory,) = (path for path in small.iterdir() if path.name.endswith("scratch-32mib"))
    assert [path.name for path in directory.rglob(".*")] == []


def wait_for_line(process: subprocess.Popen[str], begin: str) -> None:
    """Read the program's progress until a line begins so."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(begin):
            return
    raise AssertionError(f"no line began with {begin!r}")
