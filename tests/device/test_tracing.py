"""Traces of real loop devices: exact counts, and what the real tools make of the recordings."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from device.traced import WRITES, device_below, instances, write_durably
from drivelab.model.errors import DrivelabError
from drivelab.run.tracing import ring_buffer, tracefs_source
from drivelab.run.tracing.collect import collected_trace
from drivelab.run.tracing.disk import traced_disk
from partitions import add_partition
from trace_records import FLUSH, META, READ, counts, read_all

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]

MakeLoopDevice = Callable[..., Path]
# records that both kinds of source make of every event that names its device
EXACT = frozenset("QGMFIDCXAR")


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No journal of this machine's."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize("source", ["tracefs", "blk_tracer"])
def test_every_write_and_flush_of_a_raw_device_is_there(
    make_loop_device: MakeLoopDevice, tmp_path: Path, source: str
) -> None:
    device = make_loop_device()
    with collected_trace(device.name, tmp_path / "recording", source) as trace:
        write_durably(device)
    records, notices = read_all(trace.files)
    # a page that is not in the cache is read before one byte of it is changed
    expected = {"writes": WRITES, "flushes": WRITES, "reads": WRITES, "bytes_written": 4096 * WRITES}
    assert counts(records) == expected
    actions = Counter(record.action for record in records)
    assert actions["Q"] == actions["G"] == actions["D"] == 3 * WRITES
    # the bio that asked for a flush ends as well, with no data
    assert actions["C"] == 4 * WRITES
    assert (trace.source, trace.lost_events, trace.facts["damaged_pages"]) == (source, 0, 0)
    assert {record.device for record in records} == {traced_disk(device.name).number}
    names = {notice.thread: notice.payload.rstrip(b"\0") for notice in notices if notice.action == "0"}
    assert names[threading.get_native_id()] == Path("/proc/thread-self/comm").read_bytes().rstrip()
    queued = {record.thread for record in records if record.action == "Q"}
    assert queued == {threading.get_native_id()}
    for cpu in {record.cpu for record in records}:
        numbers = [record.sequence for record in records if record.cpu == cpu]
        assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.needs_tool("mkfs.ext4")
def test_an_append_on_ext4_costs_three_writes_and_two_flushes(
    mount_filesystem: Callable[..., Path], tmp_path: Path
) -> None:
    directory = mount_filesystem("ext4")
    log = directory / "log"
    write_durably(log, 3, append=True)
    with collected_trace(device_below(directory), tmp_path / "recording") as trace:
        write_durably(log, append=True)
    records, notices = read_all(trace.files)
    found = counts(records)
    # the log's own page, the journal's blocks in one request, and its commit, which is flushed before and after
    assert found["flushes"] == 2 * WRITES
    assert found["writes"] == pytest.approx(3 * WRITES, abs=3)
    journal = [record for record in records if record.action == "Q" and record.category & META]
    (thread,) = {record.thread for record in journal}
    # journals of other file systems may have been at work, too
    assert thread in {notice.thread for notice in notices if notice.payload.startswith(b"jbd2/")}


@pytest.mark.needs_tool("blkparse", "btt")
def test_blkparse_and_btt_read_the_recording(make_loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = make_loop_device()
    with collected_trace(device.name, tmp_path) as trace:
        write_durably(device)
    merged = tmp_path / "merged"
    told = subprocess.run(
        ["blkparse", "-i", str(tmp_path / device.name), "-d", str(merged)], capture_output=True, text=True, check=True
    )
    assert f"({device.name}): {trace.facts['records']:,} entries".replace(",", "") in told.stdout.replace(",", "")
    assert "bad trace" not in told.stderr.lower()
    # it leaves files where it is started
    btt = subprocess.run(["btt", "-i", str(merged)], cwd=tmp_path, capture_output=True, text=True, check=True)
    rows = {
        line.split()[0]: line.split()[-1]
        for line in btt.stdout.splitlines()
        if line[:3] in ("Q2Q", "Q2G", "D2C", "Q2C")
    }
    # it counts what carries data, so no flush
    assert rows == {"Q2Q": str(2 * WRITES - 1)} | dict.fromkeys(("Q2G", "D2C", "Q2C"), str(2 * WRITES))


@pytest.mark.needs_tool("mkfs.ext4")
def test_events_become_the_very_records_of_the_kernels_own_tracer(
    make_loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = make_loop_device(256 * 2**20)
    partition, mounted = str(add_partition(device, 1, 2048, 400000)), tmp_path / "mounted"
    mounted.mkdir()
    try:
        subprocess.run(["mkfs.ext4", "-qF", partition], check=True)
        with (
            collected_trace(device.name, tmp_path / "events", "tracefs") as events,
            collected_trace(device.name, tmp_path / "tracer", "blk_tracer") as tracer,
        ):
            subprocess.run(["mount", partition, str(mounted)], check=True)
            write_durably(mounted / "log", append=True)
            subprocess.run(["dd", "if=/dev/zero", f"of={mounted}/big", "bs=4M", "count=8", "oflag=direct"], check=True)
            subprocess.run(["dd", "if=/dev/zero", f"of={mounted}/more", "bs=1M", "count=16", "conv=fsync"], check=True)
            subprocess.run(["fstrim", str(mounted)], check=True)
            subprocess.run(["umount", str(mounted)], check=True)
            subprocess.run(["blkdiscard", "--zeroout", "--length", "1MiB", partition], check=True)
    finally:
        subprocess.run(["umount", str(mounted)], capture_output=True)
    assert (events.lost_events, tracer.lost_events) == (0, 0)
    ours, kernels = (
        Counter(record[:9] for record in read_all(trace.files)[0] if record.action in EXACT)
        for trace in (events, tracer)
    )
    assert ours == kernels
    kinds = Counter[str]()
    for record, count in ours.items():
        kinds[record[0]] += count
    # of everything that this kernel does with a bio there was something
    assert all(kinds[action] for action in "QGMIDCXA")


def test_two_disks_are_traced_at_once(make_loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    first, second = make_loop_device(), make_loop_device()
    with collected_trace(first.name, tmp_path) as one, collected_trace(second.name, tmp_path) as other:
        write_durably(first, 20)
        write_durably(second, 50)
    for trace, device, times in ((one, first, 20), (other, second, 50)):
        records, _ = read_all(trace.files)
        assert counts(records)["flushes"] == times
        assert {record.device for record in records} == {traced_disk(device.name).number}
    assert instances() == []


def test_what_goes_to_a_partition_stands_where_it_is_on_the_disk(
    make_loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = make_loop_device()
    partition = add_partition(device, 1, 4096, 32768)
    with collected_trace(device.name, tmp_path) as trace:
        write_durably(partition, 10)
    with pytest.raises(DrivelabError) as caught, collected_trace(partition.name, tmp_path):
        pass
    assert (caught.value.code, caught.value.do) == ("R433", f"trace the disk that it is on: {device.name}")
    records, _ = read_all(trace.files)
    sectors = {record.sector for record in records if record.action == "Q" and record.bytes}
    assert sectors == {4096 + 8 * number for number in range(10)}
    assert {record.device for record in records} == {traced_disk(device.name).number}
    remapped = [record for record in records if record.action == "A" and record.bytes]
    assert {int.from_bytes(record.payload[8:], "big") for record in remapped} == {8 * number for number in range(10)}


@pytest.mark.parametrize("clock", ["perf", "global"])
def test_another_clock_is_joined_with_that_of_the_operations(
    make_loop_device: MakeLoopDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    monkeypatch.setattr(ring_buffer, "CLOCKS", (clock,))
    device = make_loop_device()
    descriptor = os.open(device, os.O_WRONLY)
    operations = []
    with collected_trace(device.name, tmp_path) as trace:
        for number in range(WRITES):
            begun_ns = time.monotonic_ns()
            os.pwrite(descriptor, b"x", 4096 * number)
            os.fdatasync(descriptor)
            operations.append((begun_ns, time.monotonic_ns()))
    os.close(descriptor)
    assert trace.clock == clock
    records, _ = read_all(trace.files)
    flushes = sorted(record.time_ns for record in records if record.action == "Q" and record.category & FLUSH)
    assert len(flushes) == WRITES
    # how well a mark in the buffer can be timed, on a machine with other work
    slack_ns = 50_000
    late = [
        number
        for number, (at_ns, (begun_ns, ended_ns)) in enumerate(zip(flushes, operations, strict=True))
        if not begun_ns - slack_ns <= at_ns <= ended_ns + slack_ns
    ]
    assert late == []


def test_lost_events_are_counted_and_leave_a_gap(
    make_loop_device: MakeLoopDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracefs_source, "buffer_bytes", lambda _cpus: 64 * 1024)
    device = make_loop_device()
    with collected_trace(device.name, tmp_path, memory_bytes=0) as trace:
        write_durably(device, 1000)
    assert trace.facts["ran_out_of_room"]
    assert trace.lost_events > 0
    assert trace.files, "what was there before is still reported"


def test_what_does_not_fit_into_memory_goes_to_another_disk(make_loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = make_loop_device()
    with collected_trace(device.name, tmp_path / "r", memory_bytes=1, spill_directory=tmp_path) as trace:
        write_durably(device)
    assert counts(read_all(trace.files)[0])["flushes"] == WRITES
    assert not trace.facts["ran_out_of_room"]
    assert list(tmp_path.glob(".drivelab-trace-*")) == []


def read_directly(device: Path, times: int) -> None:
    descriptor = os.open(device, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, 4096) as buffer:
            for number in range(times):
                os.preadv(descriptor, [buffer], 4096 * (number % 1000))
    finally:
        os.close(descriptor)


def test_collecting_costs_little(make_loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = make_loop_device()
    costs_ns = []
    # memory that a hypervisor hands out anew costs more than what is put there: the least of three is the collector's
    for attempt in range(3):
        with collected_trace(device.name, tmp_path / str(attempt)) as trace:
            # answered by memory: writes that wait for a busy disk would charge each record with the waiting, too
            read_directly(device, 5000)
        assert trace.facts["records"] > 5000
        costs_ns.append(trace.facts["collector_cpu_ns"] / trace.facts["records"])
    # measured: about 50 ns for each record; nothing is looked at while the workload runs
    assert min(costs_ns) < 500


def test_reads_before_the_trace_are_not_in_it(make_loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = make_loop_device()
    began_ns = time.monotonic_ns()
    with collected_trace(device.name, tmp_path) as trace:
        armed_ns = time.monotonic_ns()
        descriptor = os.open(device, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(descriptor, 4096, 8 * 2**20)
        os.close(descriptor)
    records, notices = read_all(trace.files)
    (stamp,) = [notice for notice in notices if notice.action == "1"]
    seconds, rest_ns = (int.from_bytes(stamp.payload[at : at + 4], sys.byteorder) for at in (0, 4))
    # however long this program is kept from a processor between two readings
    before_ns, now_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
    begun_ns = now_ns - (seconds * 10**9 + rest_ns) + stamp.time_ns
    assert before_ns - 10**8 < begun_ns < after_ns + 10**8
    assert began_ns <= stamp.time_ns <= armed_ns
    (queued,) = [record for record in records if record.action == "Q"]
    assert (queued.sector, queued.bytes, queued.category & READ) == (8 * 2**20 // 512, 4096, READ)
    assert armed_ns < queued.time_ns < time.monotonic_ns()
