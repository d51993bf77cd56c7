"""A drive that begins to fail in the middle of a step: the step fails, its data stays, the plan goes on or stops."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from device.program import Drivelab, wait_for_line
from drivelab.store.read import open_run
from shaped_drive.loop import LoopDrive

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "qemu-storage-daemon")]

# the second half of the range fails: a trial is under way when it gets there
RANGE = 8 * 2**20
EXPERIMENT = """
format = 1
name = "failing"
question = "What is left when the drive fails?"
repeats = { full = 2, quick = 1 }

[[workloads]]
name = "whole"
block_size = "64KiB"
backend = "sync"
direct = true
access = "sequential"
count = 128
interval = "5ms"

[[workloads]]
name = "begin"
block_size = "64KiB"
backend = "sync"
direct = true
access = "sequential"
count = 32
interval = "5ms"
"""


@pytest.fixture
def failing(drivelab: Drivelab, shaped_drive: LoopDrive) -> tuple[Path, LoopDrive]:
    file = drivelab.folder / "failing.toml"
    file.write_text(EXPERIMENT)
    shaped_drive.fail(["write"], RANGE // 2, RANGE)
    return file, shaped_drive


@pytest.mark.provokes("R420")
def test_the_step_fails_and_the_others_are_done(drivelab: Drivelab, failing: tuple[Path, LoopDrive]) -> None:
    file, drive = failing
    answer = drivelab.run("run", str(file), str(drive.path), "--erase", drive.name)
    assert answer.returncode == 1
    assert "failed [R420]: write failed with EIO" in answer.stderr
    assert f"write failed with EIO at byte {RANGE // 2}" in answer.stdout
    (directory,) = drivelab.runs.iterdir()
    run = open_run(directory)
    assert run.run_json["status"] == "complete"
    assert len(run.run_json["failures"]) == 2
    assert all("whole" in trial and "EIO" in error for trial, error in run.run_json["failures"].items())
    assert run.completed_trials() == {
        step["trial"] for step in run.run_json["plan"]["steps"] if "begin" in step["trial"]
    }
    assert drivelab.left_over() == []


def test_what_was_measured_before_the_failure_is_kept(drivelab: Drivelab, failing: tuple[Path, LoopDrive]) -> None:
    file, drive = failing
    drivelab.run("run", str(file), str(drive.path), "--erase", drive.name)
    (directory,) = drivelab.runs.iterdir()
    failed = open_run(directory).failed_trials.to_pylist()
    assert len(failed) == 2
    for row in failed:
        assert row["operation_count"] == 64
        assert row["stopped_by"] == "error"
        assert "EIO" in row["failure"]


def test_the_plan_stops_when_it_was_told_to(drivelab: Drivelab, failing: tuple[Path, LoopDrive]) -> None:
    file, drive = failing
    answer = drivelab.run("run", str(file), str(drive.path), "--erase", drive.name, "--on-error", "stop")
    assert answer.returncode == 1
    (directory,) = drivelab.runs.iterdir()
    run = open_run(directory)
    assert run.run_json["status"] == "interrupted"
    assert len(run.run_json["failures"]) == 1
    assert f"drivelab resume {directory}" in answer.stderr
    drive.heal()
    answer = drivelab.run("resume", str(directory), "--erase", drive.name)
    assert answer.returncode in (0, 4), answer.stderr
    run = open_run(directory)
    assert len(run.completed_trials()) == 4
    assert run.record.failures == {}
    events = [json.loads(line)["event"] for line in (directory / "journal.jsonl").read_text().splitlines()]
    assert events.count("step failed") == 1
    assert events.count("step done") == 4


def test_a_drive_that_fails_while_a_file_system_is_made_fails_its_steps_only(
    drivelab: Drivelab, shaped_drive: LoopDrive
) -> None:
    file = drivelab.folder / "failing.toml"
    levels = 'levels = ["raw", "ext4"]'
    appends = EXPERIMENT.replace("direct = true", 'direct = true\nfile_state = "append"')
    file.write_text(appends + f'\n[[factors]]\nsetting = "filesystem"\n{levels}\n')
    process = drivelab.start("run", str(file), str(shaped_drive.path), "--erase", shaped_drive.name, "--seed", "3")
    wait_for_line(process, "step 1 of 8")
    shaped_drive.fail(["write"])
    _out, err = process.communicate()
    assert process.returncode in (1, 3), err
    shaped_drive.heal()
    assert drivelab.run("restore").returncode == 0
    assert drivelab.left_over() == []
