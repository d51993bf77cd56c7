"""A whole check on real file systems and devices, with its trials cut short: what it measures and what it leaves."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.model.workload import Limits
from drivelab.plan.check import CheckPlan, CheckTrial, plan_check
from drivelab.run.check import CheckOutcome, run_check
from drivelab.run.engine import Progress
from drivelab.run.tracing.tracefs import remove_stale_instances, trace_instance, tracefs

# of the file system itself, while a trial goes on
OWN_FLUSHES_MAX = 6
MIB = 2**20
SHORT_NS = 60_000_000


@dataclass
class Listener:
    """Keeps what a check tells."""

    measured: dict[str, Measurement] = field(default_factory=dict)
    failed: dict[str, DrivelabError] = field(default_factory=dict)
    on_begin: Callable[[CheckTrial], None] = lambda trial: None

    def trial_begins(self, number: int) -> None:
        assert number > len(self.measured)

    def trial_does(self, what: str) -> None:
        assert what

    def records_of(self, trial: CheckTrial) -> AbstractContextManager[None]:
        self.on_begin(trial)
        return nullcontext()

    def trial_goes_on(self, progress: Progress) -> None:
        assert progress.elapsed_ns >= 0

    def trial_done(self, measured: Measurement) -> None:
        self.measured[measured.name] = measured

    def trial_failed(self, trial: CheckTrial, error: DrivelabError) -> None:
        self.failed[trial.name] = error


def short(plan: CheckPlan, *, layout_bytes: int = 64 * MIB) -> CheckPlan:
    """The same trials, over in a moment."""

    def cut(trial: CheckTrial) -> CheckTrial:
        limit = trial.workload.limits
        runtime = 2 * 10**9 if trial.lays_out else SHORT_NS
        limits = Limits(runtime_ns=runtime, bytes=layout_bytes if trial.lays_out else limit.bytes)
        workload = trial.workload.model_copy(update={"limits": limits, "ramp_ns": 0})
        return replace(trial, workload=workload, least_ns=0)

    return replace(plan, trials=tuple(cut(trial) for trial in plan.trials))


def check(text: Path | str, *, erase: str = "", listener: Listener | None = None) -> tuple[Listener, CheckOutcome]:
    told = listener or Listener()
    target = resolve_target(str(text))
    plan = short(plan_check(target, may_erase=bool(erase)))
    return told, run_check(plan, target, told, stop=threading.Event(), erase=[erase] if erase else [])


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
    told, outcome = check(directory)
    assert told.failed == {} == outcome.failures
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
    told, _outcome = check(directory)
    laid_out = told.measured["sequential-write-qd8"].engine["all_phases"]["write"]["bytes"]
    assert laid_out < told.measured["sequential-write-qd8"].workload.target.size_bytes
    assert told.measured["random-read-qd1"].workload.target.size_bytes == laid_out // MIB * MIB


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_a_device_is_only_read(make_loop_device: Callable[..., Path]) -> None:
    device = make_loop_device(32 * MIB)
    device.write_bytes(os.urandom(32 * MIB))
    before = device.read_bytes()
    told, _outcome = check(device)
    assert set(told.measured) == {"sequential-read-qd1", "sequential-read-qd8", "random-read-qd1", "random-read-qd32"}
    assert device.read_bytes() == before


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_a_device_is_written_when_its_owner_names_it(make_loop_device: Callable[..., Path]) -> None:
    device = make_loop_device(64 * MIB)
    told, outcome = check(device, erase=device.name)
    assert outcome.failures == {}
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
    told, _outcome = check(path)
    assert len(told.measured) == 4
    assert path.read_bytes() == contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_check_in_memory_works_and_knows_no_device() -> None:
    directory = Path("/dev/shm") / f"drivelab-test-{os.getpid()}"
    directory.mkdir()
    try:
        told, outcome = check(directory)
        assert outcome.failures == {}
        assert told.measured["sync-write-512"].devices == ()
        assert told.measured["sync-write-512"].context["device_counters_reason"]
        assert told.measured["sync-write-512"].context["command_counts"] is None
        assert list(directory.iterdir()) == []
    finally:
        directory.rmdir()


def test_a_wish_to_stop_ends_the_check_and_cleans_up(tmp_path: Path) -> None:
    stop = threading.Event()
    told = Listener(on_begin=lambda trial: stop.set() if trial.name == "sync-write-4096" else None)
    target = resolve_target(str(tmp_path))
    outcome = run_check(short(plan_check(target)), target, told, stop=stop)
    assert outcome.is_interrupted
    assert list(told.measured)[:2] == ["sync-write-512", "sync-write-2300"]
    assert len(told.measured) <= 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.provokes("R454")
def test_when_the_layout_fails_the_trials_that_need_it_say_so(tmp_path: Path) -> None:
    target = resolve_target(str(tmp_path))
    plan = short(plan_check(target))
    # nothing is laid out, as after a failure of that trial
    without = replace(plan, trials=tuple(trial for trial in plan.trials if not trial.lays_out))
    told = Listener()
    outcome = run_check(without, target, told, stop=threading.Event())
    assert outcome.failures["random-read-qd1"].code == "R454"
    assert "sync-write-512" in told.measured
    assert list(tmp_path.iterdir()) == []


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
def test_a_disk_that_fills_up_meanwhile_keeps_what_was_measured(mount_filesystem: Callable[..., Path]) -> None:
    directory = mount_filesystem("ext4", size_bytes=256 * MIB)

    def fill(trial: CheckTrial) -> None:
        if trial.name == "sync-write-4096":
            free = os.statvfs(directory)
            with (directory / "somebody-else").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_bsize)

    told, outcome = check(directory, listener=Listener(on_begin=fill))
    assert "sync-write-512" in told.measured
    assert outcome.failures or told.measured["sync-write-16384"].engine["errors"]
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
