"""A whole check on real file systems and devices, with its trials cut short: what it measures and what it leaves."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drivelab.analyse.trial import judge_trial
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.workload import Pacing
from drivelab.plan.awaited import awaited_of_check
from drivelab.plan.check import LAYOUT, CheckPlan, plan_check
from drivelab.run.check import CheckResults, facts_after, record_check
from drivelab.run.progress import RunProgress
from drivelab.run.tracing.tracefs import remove_stale_instances, trace_instance, tracefs
from drivelab.store.read import StoredRun, open_run
from drivelab.store.write import create_run

# of the file system itself, while a trial goes on
OWN_FLUSHES_MAX = 6
MIB = 2**20
SHORT = "60ms"


class Told(RunProgress):
    """Lets somebody act when a trial begins."""

    def __init__(self, plan: Plan, on_begin: Callable[[str], None]) -> None:
        super().__init__("check", awaited_of_check(plan), io.StringIO())
        self._trials = [step.trial for step in plan.steps]
        self._on_begin = on_begin

    def begins(self, number: int) -> None:
        super().begins(number)
        self._on_begin(self._trials[number - 1])


def short(plan: CheckPlan, *, layout_bytes: int = 64 * MIB) -> CheckPlan:
    """The same trials, over in a moment."""

    def cut(step: PlannedStep) -> PlannedStep:
        is_layout = step.trial == LAYOUT
        limits: dict[str, Any] = {"bytes": layout_bytes if is_layout else step.pattern.bytes, "count": 0}
        runtime = "2s" if is_layout else SHORT
        return replace(step, pattern=step.pattern.changed(**limits, runtime=runtime, ramp="0s", enough_after="0s"))

    return replace(plan, plan=replace(plan.plan, steps=tuple(cut(step) for step in plan.plan.steps)))


@dataclass
class Checked:
    """What a check came to, by trial."""

    results: CheckResults
    run: StoredRun

    @property
    def measured(self) -> dict[str, Measurement]:
        return {one.name: one for one in self.results.measurements}

    @property
    def failures(self) -> dict[str, DrivelabError]:
        return self.results.outcome.failures


def check(
    text: Path | str,
    *,
    erase: str = "",
    on_begin: Callable[[str], None] = lambda trial: None,
    plan: CheckPlan | None = None,
    stop: threading.Event | None = None,
) -> Checked:
    target = resolve_target(str(text))
    plan = plan or short(plan_check(target, may_erase=bool(erase)))
    with tempfile.TemporaryDirectory() as runs:
        writer = create_run(Path(runs), "check", "x", datetime.now(UTC))
        results = record_check(
            plan,
            target,
            writer,
            judge=judge_trial,
            progress=Told(plan.plan, on_begin),
            stop=stop or threading.Event(),
            erase=[erase] if erase else [],
        )
        writer.finish(**facts_after(target, results))
        found = open_run(writer.directory)
        assert found.trial_names == [one.name for one in results.measurements]
    return Checked(results, found)


@pytest.mark.needs_root
@pytest.mark.parametrize(
    ("filesystem", "flushes"),
    [
        pytest.param("ext4", 2, marks=pytest.mark.needs_tool("mkfs.ext4")),
        pytest.param("xfs", 2, marks=pytest.mark.needs_tool("mkfs.xfs")),
    ],
)
def test_every_trial_of_a_file_system_is_measured_and_nothing_is_left(
    mount_filesystem: Callable[..., Path], filesystem: str, flushes: int
) -> None:
    directory = mount_filesystem(filesystem)
    (directory / "mine").write_text("untouched")
    told = check(directory)
    assert told.failures == {}
    assert len(told.measured) == 17
    assert sorted(path.name for path in directory.iterdir() if path.name != "lost+found") == ["mine"]
    assert (directory / "mine").read_text() == "untouched"
    for name in ("sync-write-512", "sync-write-16384"):
        measured = told.measured[name]
        operations = measured.engine["operations"]["durable_write"]["count"]
        for when in ("", "_timed"):
            per_operation = measured.context["command_counts"][f"flushes_per_operation{when}"]
            # a file system commits its journal every few seconds by itself
            extra = (per_operation - flushes) * operations
            assert -0.05 * operations <= extra <= max(OWN_FLUSHES_MAX, 0.05 * operations), when
    for name in ("sequential-read-qd8", "random-read-qd1", "random-read-qd32"):
        measured = told.measured[name]
        assert measured.context["extents"]["written_share"] == 1.0, name
        assert measured.context["page_cache"]["resident_bytes_after"] == 0, name
        counted = measured.counted_device
        assert counted is not None
        assert counted.bytes_read >= measured.engine["all_phases"]["read"]["bytes"], name


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_later_trials_use_only_what_the_layout_had_time_to_write(mount_filesystem: Callable[..., Path]) -> None:
    directory = mount_filesystem("ext4")
    told = check(directory)
    laid_out = told.measured["sequential-write-qd8"].engine["all_phases"]["write"]["bytes"]
    assert laid_out < told.measured["sequential-write-qd8"].workload.target.size_bytes
    assert told.measured["random-read-qd1"].workload.target.size_bytes == laid_out // MIB * MIB


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_a_device_is_only_read(make_loop_device: Callable[..., Path]) -> None:
    device = make_loop_device(32 * MIB)
    device.write_bytes(os.urandom(32 * MIB))
    before = device.read_bytes()
    told = check(device)
    assert set(told.measured) == {"sequential-read-qd1", "sequential-read-qd8", "random-read-qd1", "random-read-qd32"}
    assert device.read_bytes() == before


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_a_device_is_written_when_its_owner_names_it(make_loop_device: Callable[..., Path]) -> None:
    device = make_loop_device(64 * MIB)
    told = check(device, erase=device.name)
    assert told.failures == {}
    assert len(told.measured) == 17
    counts = told.measured["sync-write-4096"].context["command_counts"]
    assert counts["data_writes_per_operation"] == pytest.approx(1, abs=0.05)
    assert counts["flushes_per_operation"] == pytest.approx(1, abs=0.05)


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_a_device_is_not_written_when_its_owner_names_another(make_loop_device: Callable[..., Path]) -> None:
    device = make_loop_device(64 * MIB)
    with pytest.raises(DrivelabError) as raised:
        check(device, erase="WD-1234")
    assert raised.value.code == "C201"


def test_a_file_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "data"
    contents = os.urandom(16 * MIB)
    path.write_bytes(contents)
    told = check(path)
    assert len(told.measured) == 4
    assert path.read_bytes() == contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_check_in_memory_works_and_knows_no_device() -> None:
    directory = Path("/dev/shm") / f"drivelab-test-{os.getpid()}"
    directory.mkdir()
    try:
        told = check(directory)
        assert told.failures == {}
        assert told.measured["sync-write-512"].devices == ()
        assert told.measured["sync-write-512"].context["device_counters_reason"]
        assert told.measured["sync-write-512"].context["command_counts"] is None
        assert list(directory.iterdir()) == []
    finally:
        directory.rmdir()


def test_a_wish_to_stop_ends_the_check_and_cleans_up(tmp_path: Path) -> None:
    stop = threading.Event()
    told = check(tmp_path, on_begin=lambda trial: stop.set() if trial == "sync-write-4096" else None, stop=stop)
    assert told.results.outcome.is_interrupted
    assert told.run.record.status == "interrupted"
    # what was ended before it was measured is no trial
    assert list(told.measured) == ["sync-write-512", "sync-write-2300"]
    assert list(tmp_path.iterdir()) == []


def test_the_trial_in_flight_is_kept_as_nobody_goes_on_with_a_check(tmp_path: Path) -> None:
    stop = threading.Event()
    plan = short(plan_check(resolve_target(str(tmp_path))))
    # so slow that it fills nothing before it is stopped
    slow = {"pacing": Pacing(think_ns=20_000_000), "runtime": "1h", "bytes": 0, "count": 0}
    steps = [
        replace(step, pattern=step.pattern.changed(**slow)) if step.trial == "sync-write-4096" else step
        for step in plan.plan.steps
    ]

    def begun(trial: str) -> None:
        if trial == "sync-write-4096":
            threading.Timer(3.0, stop.set).start()

    told = check(tmp_path, on_begin=begun, stop=stop, plan=replace(plan, plan=replace(plan.plan, steps=tuple(steps))))
    assert list(told.measured) == ["sync-write-512", "sync-write-2300", "sync-write-4096"]
    assert told.measured["sync-write-4096"].engine["stopped_by"] == "caller"


@pytest.mark.provokes("R454")
def test_when_the_layout_fails_the_trials_that_need_it_say_so(tmp_path: Path) -> None:
    plan = short(plan_check(resolve_target(str(tmp_path))))
    # nothing is laid out, as after a failure of that trial
    steps = [step for step in plan.plan.steps if step.trial != LAYOUT]
    steps = [replace(step, number=number) for number, step in enumerate(steps, start=1)]
    told = check(tmp_path, plan=replace(plan, plan=replace(plan.plan, steps=tuple(steps))))
    assert told.failures["random-read-qd1"].code == "R454"
    assert "sync-write-512" in told.measured
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_vanishes_ends_the_check(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(DrivelabError) as raised:
        check(place, on_begin=lambda trial: shutil.rmtree(place) if trial == "sync-write-2300" else None)
    assert raised.value.code == "T107"


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_disk_that_fills_up_meanwhile_keeps_what_was_measured(mount_filesystem: Callable[..., Path]) -> None:
    directory = mount_filesystem("ext4", size_bytes=256 * MIB)

    def fill(trial: str) -> None:
        other = directory / "somebody-else"
        if trial == "sync-write-4096" and not other.exists():
            free = os.statvfs(directory)
            with other.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_bsize)

    told = check(directory, on_begin=fill)
    assert "sync-write-512" in told.measured
    assert told.failures or told.measured["sync-write-16384"].engine["errors"]
    assert [path.name for path in directory.iterdir() if path.name.startswith(".drivelab")] == []


@pytest.mark.needs_root
def test_trace_instances_of_dead_processes_are_removed_and_others_are_not() -> None:
    with tracefs() as root:
        stale = root / "instances" / "drivelab-1-1-loop9"
        stale.mkdir()
        with trace_instance(root, "test") as ours:
            assert not stale.exists()
            assert ours.exists()
            assert remove_stale_instances(root) == []
        assert not ours.exists()


@pytest.mark.needs_root
def test_a_trace_instance_in_use_stays_when_its_process_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As from a container, where a process of outside has no number."""
    monkeypatch.setattr("drivelab.run.tracing.tracefs.owner_lives", lambda _tag: False)
    with tracefs() as root:
        with trace_instance(root, "test") as ours:
            assert ours.name not in remove_stale_instances(root)
            assert ours.exists()
        assert not ours.exists()
