"""A trace disturbs nobody, and nothing of it is left: after errors, kills, full disks, and beside foreign traces."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from device.program import Drivelab
from device.traced import WRITES, buffer_kib, device_below, instances, is_armed, settings, write_durably
from drivelab.model.errors import DrivelabError
from drivelab.run.tracing import blk_tracer_source, relay_source, tracefs_source
from drivelab.run.tracing.collect import collected_trace
from drivelab.run.tracing.disk import traced_disk
from drivelab.run.tracing.source import Limits, SourceUnavailableError
from drivelab.run.tracing.sources import choose_source, probe_source
from drivelab.run.tracing.tracefs import tracefs
from drivelab.state.kernel_filesystem import lockdown_state
from trace_records import counts, read_all

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]

MakeLoopDevice = Callable[..., Path]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No journal of this machine's."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.provokes("R435")
@pytest.mark.needs_tool("mkfs.ext4")
def test_the_trace_of_a_disk_is_not_written_to_it(mount_filesystem: Callable[..., Path], tmp_path: Path) -> None:
    directory = mount_filesystem("ext4")
    with (
        pytest.raises(DrivelabError) as caught,
        collected_trace(device_below(directory), tmp_path, spill_directory=directory),
    ):
        pass
    assert caught.value.code == "R435"


@pytest.mark.provokes("R433")
def test_a_disk_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DrivelabError) as caught, collected_trace("no-such-disk", tmp_path):
        pass
    assert (caught.value.code, caught.value.where) == ("R433", "no-such-disk")


@pytest.mark.provokes("R434")
def test_a_full_disk_leaves_neither_trace_nor_half_a_recording(
    make_loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device, small = make_loop_device(), tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)], check=True)
    try:
        with pytest.raises(DrivelabError) as caught, collected_trace(device.name, small / "r"):
            write_durably(device, 1000)
        assert list((small / "r").iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert caught.value.code == "R434"
    assert "No space left on device" in caught.value.what
    assert instances() == []


def end_in_the_middle(device: Path, into: Path, source: str, ending: type[BaseException]) -> None:
    with collected_trace(device.name, into, source):
        write_durably(device, 5)
        raise ending


@pytest.mark.parametrize("source", ["tracefs", "blk_tracer"])
def test_an_exception_takes_the_trace_down(make_loop_device: MakeLoopDevice, tmp_path: Path, source: str) -> None:
    device = make_loop_device()
    before = settings()
    size_before = buffer_kib()
    for ending in (KeyboardInterrupt, ValueError):
        with pytest.raises(ending):
            end_in_the_middle(device, tmp_path / "r", source, ending)
    assert (instances(), settings(), buffer_kib()) == ([], before, size_before)
    assert not is_armed(device)
    assert not (tmp_path / "r").exists()
    assert list((tmp_path / "state").rglob("*.jsonl")) == []


TRACING = """
import sys, time
from pathlib import Path
from drivelab.run.tracing.collect import collected_trace
with collected_trace(sys.argv[1], Path(sys.argv[2]), sys.argv[3]) as trace:
    print("tracing", flush=True)
    time.sleep(60)
"""


def killed_while_tracing(drivelab: Drivelab, device: Path, source: str) -> int:
    """Process id of a program that was killed in the middle of a trace."""
    command = [sys.executable, "-c", TRACING, device.name, str(drivelab.folder / "killed"), source]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=drivelab.environment)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "tracing\n"
        process.send_signal(signal.SIGKILL)
    return process.pid


def test_the_instance_of_a_killed_program_is_removed_by_the_next_trace(
    make_loop_device: MakeLoopDevice, drivelab: Drivelab, tmp_path: Path
) -> None:
    device = make_loop_device()
    with tracefs() as root:
        pid = killed_while_tracing(drivelab, device, "tracefs")
        assert list((root / "instances").glob(f"drivelab-{pid}-*"))
        with collected_trace(device.name, tmp_path / "again") as trace:
            write_durably(device, 5)
        assert not list((root / "instances").glob(f"drivelab-{pid}-*"))
    assert counts(read_all(trace.files)[0])["flushes"] == 5
    pid = killed_while_tracing(drivelab, device, "tracefs")
    assert f"removed the trace instance drivelab-{pid}-" in drivelab.run("restore").stdout


@pytest.mark.parametrize("way", ["restore", "next"])
def test_the_shared_buffer_is_put_back_after_a_kill(
    make_loop_device: MakeLoopDevice, drivelab: Drivelab, tmp_path: Path, way: str
) -> None:
    device = make_loop_device()
    before, size_before = settings(), buffer_kib()
    killed_while_tracing(drivelab, device, "blk_tracer")
    assert settings()["current_tracer"] == "blk"
    if way == "restore":
        told = drivelab.run("restore").stdout
        assert "set current_tracer of the kernel's tracing back to nop" in told
        assert f"ended the trace of {device.name}" in told
    else:
        with collected_trace(device.name, tmp_path / "r", "blk_tracer") as trace:
            write_durably(device, 5)
        assert counts(read_all(trace.files)[0])["flushes"] == 5
    assert (settings(), buffer_kib()) == (before, size_before)
    assert not is_armed(device)


@pytest.fixture
def foreign_tracer(make_loop_device: MakeLoopDevice) -> Iterator[Path]:
    """A loop device that somebody else traces with the kernel's blk tracer."""
    device = make_loop_device()
    switch = Path(f"/sys/block/{device.name}/trace/enable")
    with tracefs() as root:
        (root / "current_tracer").write_text("blk")
        switch.write_text("1")
        yield device
        switch.write_text("0")
        (root / "current_tracer").write_text("nop")
        (root / "trace").write_text("")


@pytest.mark.provokes("R432")
def test_somebody_elses_trace_is_left_alone(foreign_tracer: Path, tmp_path: Path) -> None:
    write_durably(foreign_tracer, 5)
    before = settings()
    for source in ("blk_tracer", "relay"):
        with pytest.raises(DrivelabError) as caught, collected_trace(foreign_tracer.name, tmp_path, source):
            pass
        assert caught.value.code == "R432"
        assert f"somebody else traces {foreign_tracer.name}" in caught.value.what
    with tracefs() as root:
        assert "block" not in (root / "set_event").read_text()
        # what they have traced is still in their buffer
        entries = [stats.read_text().split()[1] for stats in root.glob("per_cpu/cpu*/stats")]
        assert sum(map(int, entries)) > 0
    assert settings() == before
    assert is_armed(foreign_tracer)
    # events in an instance of our own disturb nobody
    with collected_trace(foreign_tracer.name, tmp_path) as trace:
        write_durably(foreign_tracer, 5)
    assert trace.source == "tracefs"
    assert counts(read_all(trace.files)[0])["flushes"] == 5


def test_what_somebody_else_has_left_in_the_buffer_is_not_cleared(make_loop_device: MakeLoopDevice) -> None:
    device = make_loop_device()
    with tracefs() as root:
        (root / "trace_marker").write_text("not ours\n")
        try:
            state = probe_source(blk_tracer_source.SOURCE, traced_disk(device.name))
            assert state.why_not == "the kernel's trace buffer holds what somebody else has traced"
            assert "not ours" in (root / "trace").read_text()
        finally:
            (root / "trace").write_text("")


def test_relay_is_taken_or_says_that_lockdown_forbids_it(make_loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = make_loop_device()
    state = probe_source(relay_source.SOURCE, traced_disk(device.name))
    lockdown = lockdown_state()
    if lockdown in ("", "none"):
        with collected_trace(device.name, tmp_path, "relay") as trace:
            write_durably(device)
        assert counts(read_all(trace.files)[0])["flushes"] == WRITES
    else:
        assert state.why_not == f"kernel lockdown ({lockdown}) keeps the files of the block trace interface shut"
    assert not is_armed(device)


def test_relay_that_is_refused_in_the_middle_leaves_nothing_armed(
    make_loop_device: MakeLoopDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what a kernel refuses that does not say that it is locked down
    monkeypatch.setattr(relay_source, "require", lambda _disk: None)
    monkeypatch.setattr(relay_source, "TraceCollector", _refused)
    device = make_loop_device()
    refusal = pytest.raises(SourceUnavailableError, match="refuses: Operation not permitted")
    with refusal, relay_source.armed(traced_disk(device.name), Limits()):
        pass
    assert not is_armed(device)
    assert list((tmp_path / "state").rglob("*.jsonl")) == []


def _refused(*_: object, **__: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_the_source_that_disturbs_nobody_is_taken_first(
    make_loop_device: MakeLoopDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = traced_disk(make_loop_device().name)
    assert choose_source(disk)[0].name == "tracefs"
    monkeypatch.setattr(tracefs_source, "_NEEDED", ("block_no_such_event",))
    chosen, reason = choose_source(disk)
    assert chosen.name == ("blk_tracer" if lockdown_state() not in ("", "none") else "relay")
    assert reason.startswith("not a private trace instance: this kernel has no event block_no_such_event")
