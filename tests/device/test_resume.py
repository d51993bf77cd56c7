"""Runs that are cut off at any moment go on where they were; no trial is lost or doubled, nothing is left changed."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from device.program import Drivelab, wait_for_line
from drivelab.store.read import open_run

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

# 50 before a release: make prove
KILLS = 50 if os.environ.get("DRIVELAB_PROVE") else 20
# places that are killed in at the same time: the runs wait more than they work
PLACES = KILLS // 10
STEPS = 6
# half a second for each trial: what is killed, put back and gone on with is the same in longer ones
OPERATIONS = 100


@pytest.fixture
def drivelab(drivelab: Drivelab) -> Drivelab:
    return with_short_trials(drivelab)


def with_short_trials(drivelab: Drivelab) -> Drivelab:
    text = drivelab.small.read_text().replace("count = 300", f"count = {OPERATIONS}")
    assert f"count = {OPERATIONS}\n" in text
    drivelab.small.write_text(text)
    return drivelab


@pytest.mark.timeout(900)
def test_after_many_kills_nothing_is_left_and_every_trial_is_there_once(tmp_path: Path) -> None:
    places = [tmp_path / str(number) for number in range(PLACES)]
    for place in places:
        place.mkdir()
    with ThreadPoolExecutor(PLACES) as pool:
        programs = [with_short_trials(Drivelab(place)) for place in places]
        counts = list(pool.map(killed_again_and_again, programs, range(PLACES)))
    left_behind, finished = map(sum, zip(*counts, strict=True))
    assert left_behind > KILLS // 3, "the kills came too late to mean anything"
    assert finished, "no run ever came to its end by being resumed"


def killed_again_and_again(drivelab: Drivelab, seed: int) -> tuple[int, int]:
    """How many of the kills left something behind, and how many runs came to their end by being resumed."""
    whole_s = duration_of_a_whole_run(drivelab)
    generator = random.Random(seed)
    left_behind = finished = 0
    directory: Path | None = None
    for _ in range(KILLS // PLACES):
        before = set(drivelab.runs.iterdir())
        if directory is None:
            process = drivelab.start("run", str(drivelab.small), "scratch:32MiB")
            wait_for_line(process, "filling")
        else:
            process = drivelab.start("resume", str(directory))
            if generator.random() < 0.5:
                # the others hit mostly its start, in which nothing is changed yet and nothing gained
                wait_for_line(process, "filling")
        time.sleep(whole_s * generator.random())
        process.kill()
        process.communicate()
        left_behind += bool(drivelab.left_over())
        answer = drivelab.run("restore")
        assert answer.returncode == 0, answer.stderr
        assert drivelab.left_over() == []
        made = set(drivelab.runs.iterdir()) - before
        directory = made.pop() if made else directory
        if directory is not None and assert_nothing_lost(directory):
            finished, directory = finished + 1, None
    if directory is not None:
        answer = drivelab.run("resume", str(directory))
        assert answer.returncode in (0, 4), answer.stderr
        assert assert_nothing_lost(directory)
    assert drivelab.left_over() == []
    return left_behind, finished


def duration_of_a_whole_run(drivelab: Drivelab) -> float:
    """Seconds from the start of the filling until everything is put back."""
    process = drivelab.start("run", str(drivelab.small), "scratch:32MiB")
    wait_for_line(process, "filling")
    begin = time.monotonic()
    wait_for_line(process, "putting everything back")
    whole_s = time.monotonic() - begin
    process.communicate()
    return whole_s


def assert_nothing_lost(directory: Path) -> bool:
    """Every trial that the run's journal calls done can be read once; whether all of them are there."""
    if not (directory / "run.json").exists():
        return True
    journal = directory / "journal.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    done = [event["trial"] for event in map(json.loads, lines) if event["event"] == "step done"]
    assert max(Counter(done).values(), default=1) == 1, "a trial was measured twice"
    run = open_run(directory)
    assert set(done) <= set(run.trial_names)
    assert len(run.trial_names) == len(set(run.trial_names))
    for name in run.trial_names:
        assert run.measurement(name).histograms["write", "total"].total_count == OPERATIONS
    return len(run.trial_names) == STEPS


def test_an_interrupted_run_goes_on_and_measures_only_what_is_missing(drivelab: Drivelab) -> None:
    directory = interrupted_run(drivelab)
    before = open_run(directory)
    kept = {row["trial"]: row["started_utc"] for row in before.trials.to_pylist()}
    assert 2 <= len(kept) < STEPS
    answer = drivelab.run("resume", str(directory), "--json")
    assert answer.returncode in (0, 4), answer.stderr
    assert f"{len(kept)} of {STEPS} trials are there; going on" in answer.stderr
    run = open_run(directory)
    assert run.run_json["status"] == "complete"
    assert len(run.run_json["resumed_utc"]) == 1
    rows = run.trials.to_pylist()
    assert [row["step"] for row in rows] == list(range(1, STEPS + 1))
    assert {row["trial"]: row["started_utc"] for row in rows if row["trial"] in kept} == kept
    assert {step["trial"] for step in run.run_json["plan"]["steps"]} == set(run.trial_names)
    assert drivelab.left_over() == []
    assert Path(json.loads(answer.stdout)["report"]).is_file()


@pytest.mark.provokes("R421")
def test_a_run_that_is_whole_is_not_run_again(drivelab: Drivelab) -> None:
    assert drivelab.run("run", str(drivelab.small), "scratch:32MiB").returncode in (0, 4)
    (directory,) = drivelab.runs.iterdir()
    before = {path: path.stat().st_mtime_ns for path in directory.rglob("*.parquet")}
    answer = drivelab.run("resume", str(directory))
    assert answer.returncode == 2
    assert "error[R421] 6 of 6 trials are there" in answer.stderr
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("*.parquet")} == before


@pytest.mark.provokes("R422")
def test_a_check_cannot_be_resumed(drivelab: Drivelab, tmp_path: Path) -> None:
    (tmp_path / "check").mkdir()
    (tmp_path / "check" / "run.json").write_text(json.dumps({"schema": 1, "status": "complete"}))
    answer = drivelab.run("resume", str(tmp_path / "check"))
    assert answer.returncode == 1
    assert "error[R422]" in answer.stderr


def test_a_drive_is_erased_again_only_when_it_is_named_again(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    process = drivelab.start("run", str(drivelab.small), str(device), "--erase", device.name)
    wait_for_line(process, "step 2 of 6")
    process.kill()
    process.communicate()
    (directory,) = drivelab.runs.iterdir()
    refused = drivelab.run("resume", str(directory))
    assert refused.returncode == 3
    assert "error[C201]" in refused.stderr
    answer = drivelab.run("resume", str(directory), "--erase", device.name)
    assert answer.returncode in (0, 4), answer.stderr
    assert assert_nothing_lost(directory)


def test_another_device_in_its_place_is_refused(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    process = drivelab.start("run", str(drivelab.small), str(device), "--erase", device.name)
    wait_for_line(process, "step 2 of 6")
    process.kill()
    process.communicate()
    (directory,) = drivelab.runs.iterdir()
    document = json.loads((directory / "run.json").read_text())
    document["targets"][0]["facts_before"]["identity"]["diskseq"] += 1
    (directory / "run.json").write_text(json.dumps(document))
    before = device.read_bytes()
    answer = drivelab.run("resume", str(directory), "--erase", device.name)
    assert answer.returncode == 3
    assert "error[C207]" in answer.stderr
    assert "is not the drive that the run began on" in answer.stderr
    # what the killed run had left was put back, and nothing was written since
    assert len(device.read_bytes()) == len(before)


def test_steps_that_failed_are_done_again(drivelab: Drivelab) -> None:
    directory = interrupted_run(drivelab)
    done = set(open_run(directory).trial_names)
    document = json.loads((directory / "run.json").read_text())
    failed = next(step["trial"] for step in document["plan"]["steps"] if step["trial"] not in done)
    document["failures"] = {failed: "error[R420] the drive failed an I/O"}
    (directory / "run.json").write_text(json.dumps(document))
    assert drivelab.run("resume", str(directory)).returncode in (0, 4)
    run = open_run(directory)
    assert failed in run.trial_names
    assert run.record.failures == {}


def interrupted_run(drivelab: Drivelab) -> Path:
    """A run that its user ended after two steps."""
    process = drivelab.start("run", str(drivelab.small), "scratch:32MiB")
    wait_for_line(process, "step 2 of 6")
    process.terminate()
    process.communicate()
    (directory,) = drivelab.runs.iterdir()
    return directory
