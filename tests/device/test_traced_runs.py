"""Runs with traces that are cut off, or run out of room: nothing is left behind, and no timed trial is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from device.program import Drivelab, wait_for_line
from drivelab.run.tracing.tracefs import tracefs
from drivelab.store.read import open_run

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]

# so slow that there is time to end it in the middle
PACED = """
format = 1
name = "paced"
question = "What is left after a kill?"
repeats = { full = 2 }

[[workloads]]
name = "log"
block_size = "4KiB"
backend = "sync"
durability = "fdatasync"
pacing = { kind = "fixed", rate_per_s = 400 }
count = 200
"""
STEPS = 2


@pytest.fixture
def paced(drivelab: Drivelab) -> str:
    path = drivelab.folder / "paced.toml"
    path.write_text(PACED)
    return str(path)


def trace_instances(process: subprocess.Popen[str]) -> list[str]:
    """Those of one process: others may trace at the same time."""
    with tracefs() as root:
        return [path.name for path in (root / "instances").glob(f"drivelab-{process.pid}-*")]


def begin_tracing(drivelab: Drivelab, paced: str, step: int) -> subprocess.Popen[str]:
    """A run in the middle of the traced pass of a step."""
    process = drivelab.start("run", paced, "scratch:32MiB", "--trace")
    wait_for_line(process, f"tracing {step:04}")
    time.sleep(0.2)
    assert process.poll() is None
    return process


def run_directory(drivelab: Drivelab) -> Path:
    (directory,) = drivelab.runs.iterdir()
    return directory


def assert_whole(directory: Path) -> None:
    run = open_run(directory)
    assert run.run_json["status"] == "complete"
    assert len(run.traced_trials) == STEPS
    for trial in run.traced_trials:
        rows, events = run.operations(trial), run.events(trial)
        assert rows is not None
        assert events is not None
        assert rows.num_rows == 200
        assert events.num_rows >= 4 * 200, "a write and a flush, as bios and as commands"
        assert run.measurement(trial).context["trace"]["lost_events"] == 0
        assert list((directory / "recordings" / trial).iterdir())
    left = [path for path in directory.rglob(".*") if not path.name.endswith(".html")]
    assert left == []


@pytest.mark.parametrize("step", [1, 2])
def test_after_a_kill_in_a_traced_pass_the_next_start_cleans_up_and_goes_on(
    drivelab: Drivelab, paced: str, step: int
) -> None:
    process = begin_tracing(drivelab, paced, step)
    process.kill()
    process.communicate()
    assert len(trace_instances(process)) == 1, "the kill came too late to mean anything"
    directory = run_directory(drivelab)
    assert len(open_run(directory).traced_trials) == step - 1
    answer = drivelab.run("resume", str(directory))
    assert answer.returncode in (0, 4), answer.stderr
    assert trace_instances(process) == []
    assert drivelab.left_over() == []
    assert_whole(directory)


def test_restore_takes_away_a_trace_that_was_left(drivelab: Drivelab, paced: str) -> None:
    process = begin_tracing(drivelab, paced, 1)
    process.kill()
    process.communicate()
    assert trace_instances(process)
    assert drivelab.run("restore").returncode == 0
    assert trace_instances(process) == []


def test_ctrl_c_in_a_traced_pass_ends_at_once_and_the_trial_is_done_again(drivelab: Drivelab, paced: str) -> None:
    process = begin_tracing(drivelab, paced, 2)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert trace_instances(process) == []
    assert drivelab.left_over() == []
    directory = run_directory(drivelab)
    run = open_run(directory)
    assert (run.run_json["status"], len(run.trial_names), len(run.traced_trials)) == ("interrupted", 1, 1)
    assert drivelab.run("resume", str(directory)).returncode in (0, 4)
    assert_whole(directory)


@pytest.mark.needs_tool("mkfs.ext4")
def test_a_full_disk_costs_the_trace_and_not_the_trial(
    drivelab: Drivelab, mount_filesystem: Callable[..., Path]
) -> None:
    place = mount_filesystem("ext4", size_bytes=24 * 2**20)
    drivelab.environment["DRIVELAB_RUNS"] = str(place / "runs")
    own = drivelab.folder / "own.toml"
    own.write_text(PACED.replace('pacing = { kind = "fixed", rate_per_s = 400 }', "").replace("200", "2000"))
    (place / "filler").write_bytes(bytes(max(0, free_bytes(place) - 700 * 1024)))
    answer = drivelab.run("run", str(own), "scratch:32MiB", "--trace")
    # the page may find room: it has a few hundred kilobytes
    assert answer.returncode in (0, 1, 4), answer.stderr
    assert "Traceback" not in answer.stderr
    (directory,) = (place / "runs").iterdir()
    run = open_run(directory)
    assert run.trial_names, answer.stderr
    missing = [trial for trial in run.trial_names if trial not in run.traced_trials]
    assert missing
    for trial in missing:
        context = run.measurement(trial).context
        assert context["trace"] is None
        assert "No space left" in context["trace_reason"] or "no room left" in context["trace_reason"]
        assert run.measurement(trial).histograms["write", "total"].total_count == 2000
        assert not (directory / "recordings" / trial).exists()
    assert not list((directory / "recordings").glob(".*"))


def free_bytes(place: Path) -> int:
    facts = os.statvfs(place)
    return facts.f_bavail * facts.f_frsize


def test_every_setting_is_traced_and_the_report_is_written(drivelab: Drivelab) -> None:
    own = drivelab.folder / "own.toml"
    own.write_text(
        PACED.replace('pacing = { kind = "fixed", rate_per_s = 400 }', "")
        + '\n[[factors]]\nsetting = "kernel-write-cache"\nlevels = ["write back", "write through"]\n'
    )
    answer = drivelab.run("run", str(own), "scratch:32MiB", "--trace", "--json")
    assert answer.returncode in (0, 4), answer.stderr
    run = open_run(json.loads(answer.stdout)["run"])
    assert len(run.traced_trials) == 2 * STEPS
    flushes = {
        (row["asked_kernel-write-cache"], sum(rows["flushes"].to_pylist()))
        for row in run.trials.to_pylist()
        if (rows := run.operations(row["trial"])) is not None
    }
    assert flushes == {("write back", 200), ("write through", 0)}
