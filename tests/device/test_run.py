"""Whole runs on scratch drives: the numbers, and what is left when a run is killed at any moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from device.program import Drivelab, wait_for_line
from drivelab.state.loop_device import loops_over
from drivelab.store.read import open_run

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4", "mkfs.xfs")]


@pytest.mark.alone
def test_the_first_page_of_the_seed_runs_on_a_scratch_drive(drivelab: Drivelab) -> None:
    answer = drivelab.run("run", "ssd-latency", "scratch:1GiB", "--quick", "--json")
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
    assert set(run.trial_names) == {step["trial"] for step in run.run_json["plan"]["steps"]}
    assert Path(document["report"]).stat().st_size > 100_000
    achieved = {row["achieved_filesystem"].split()[0] for row in run.trials.to_pylist()}
    assert achieved == {"raw", "ext4", "xfs"}
    assert drivelab.left_over() == []
    count = len(run.trial_names)
    assert f"step {count} of {count}" in answer.stderr


def median_of(rows: dict[str, Any], metric: str) -> dict[str, float]:
    return {level: metrics[metric]["median"] for level, metrics in rows.items()}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_end_puts_everything_back_and_keeps_what_was_measured(drivelab: Drivelab, number: int) -> None:
    process = drivelab.start("run", str(drivelab.small), "scratch:32MiB")
    wait_for_line(process, "step 2 of 6")
    process.send_signal(number)
    out, _err = process.communicate()
    assert process.returncode == 128 + number
    assert drivelab.left_over() == []
    (directory,) = drivelab.runs.iterdir()
    run = open_run(directory)
    assert run.run_json["status"] == "interrupted"
    assert 2 <= len(run.trial_names) < 6
    assert str(directory) in out


@pytest.mark.alone
def test_ctrl_c_ends_the_filling_of_a_large_scratch_drive_at_once(drivelab: Drivelab) -> None:
    process = drivelab.start("run", str(drivelab.small), "scratch:4GiB")
    wait_for_line(process, "filling")
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate()
    assert process.returncode == 130
    assert "step 1" not in err, "it was filled to its end"
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
    process.communicate()
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
    run = open_run(directory)
    assert len(run.trial_names) == 6
    (target,) = run.run_json["targets"]
    before, after = ([drive["name"] for drive in target[facts]["drives"]] for facts in ("facts_before", "facts_after"))
    assert before == after == [device.name], "the same drive before and after"
    assert subprocess.run(["blkid", "-p", str(device)], capture_output=True).returncode == 2, "nothing is found"
    assert device.name in loops_over(Path(f"/sys/block/{device.name}/loop/backing_file").read_text().strip())


def test_a_disk_that_fills_up_ends_the_run_and_leaves_nothing(drivelab: Drivelab, mount_filesystem) -> None:
    small = mount_filesystem("ext4", size_bytes=8 * 2**20)
    with (small / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    # enough for the start of the run only
    os.truncate(small / "ballast", (small / "ballast").stat().st_size - 48 * 1024)
    answer = drivelab.run("run", str(drivelab.small), "scratch:32MiB", "--out", str(small))
    assert answer.returncode == 1
    assert "error[S502]" in answer.stderr
    assert drivelab.left_over() == []
    (directory,) = (path for path in small.iterdir() if path.name.endswith("scratch-32mib"))
    assert [path.name for path in directory.rglob(".*")] == []
