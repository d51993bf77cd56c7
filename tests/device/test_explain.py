"""``drivelab explain`` on real devices: what it says of the kernel's work is what the kernel and the drive counted."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from device.drive_times import TimedPart, timed_part
from device.program import Drivelab
from drivelab.model.layer_times import layers_of
from drivelab.model.trace import PARTS
from drivelab.store.read import open_run
from shaped_drive.loop import LoopDrive

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]

COUNT = 300
Explain = Callable[..., dict[str, Any]]
Parts = tuple[TimedPart, TimedPart]


@pytest.fixture
def explain(drivelab: Drivelab) -> Explain:
    """Explains a target and gives the only explanation.

    Tests beside it may make its writes two times slower while they are traced,
    or a loop device over memory faster than any drive: the answer is then not to
    be trusted, and what was counted is right all the same.
    """

    def run(*arguments: str) -> dict[str, Any]:
        answer = drivelab.run("explain", *arguments, "--json")
        assert answer.returncode in (0, 4), answer.stderr
        (explanation,) = json.loads(answer.stdout)["explanations"]
        assert drivelab.left_over() == []
        return dict(explanation)

    return run


def assert_sums(drivelab: Drivelab) -> None:
    """In every operation that is stored the parts sum to the latency."""
    (directory,) = drivelab.runs.iterdir()
    run = open_run(directory)
    assert run.traced_trials == tuple(run.trial_names)
    for trial in run.traced_trials:
        rows = run.operations(trial)
        assert rows is not None
        whole = sum((rows[f"{part}_ns"].to_numpy() for part in PARTS), start=layers_of(rows).sum(axis=1))
        assert (whole == rows["latency_ns"].to_numpy()).all()
        assert pc.min(rows["latency_ns"]).as_py() > 0


def test_a_durable_write_on_the_bare_drive_is_one_write_and_one_flush(drivelab: Drivelab, explain: Explain) -> None:
    found = explain("scratch:256MiB", "--count", str(COUNT))
    work = found["work_per_operation"]
    assert (work["device_writes"], work["flushes"], work["bytes_written"]) == (1, 1, 4096)
    assert (found["check"]["verdict"], found["residual_ns"], found["operations"]) == ("ok", 0, 3 * COUNT)
    assert found["trace"]["lost_events"] == found["trace"]["unmatched_bios"] == 0
    assert found["trace"]["source"] in ("tracefs", "relay", "blk_tracer")
    parts = {part["part"]: part["mean_ns"]["value"] for part in found["parts"]}
    assert sum(parts.values()) == pytest.approx(found["mean_ns"])
    assert min(parts["device"], parts["flush"]) > 0
    assert_sums(drivelab)


@pytest.mark.needs_tool("mkfs.ext4")
@pytest.mark.parametrize(
    ("state", "flushes", "preflushes"), [("overwrite", 1, 0), ("append", 2, 1)], ids=["overwrite", "append"]
)
def test_with_ext4_an_append_costs_the_journals_flush_too(
    drivelab: Drivelab, explain: Explain, state: str, flushes: int, preflushes: int
) -> None:
    found = explain("scratch:256MiB", "--filesystem", "ext4", "--file-state", state, "--count", str(COUNT))
    work = found["work_per_operation"]
    # a commit that the kernel makes now and then by itself comes on top
    assert work["flushes"] == pytest.approx(flushes, abs=0.05)
    assert work["preflush_writes"] == pytest.approx(preflushes, abs=0.05)
    assert (work["journal_writes"] > 0.9) == (state == "append")
    assert found["check"]["verdict"] == "ok"
    assert found["levels"] == {"filesystem": "ext4"}
    assert_sums(drivelab)


def test_its_commands_are_those_of_the_timed_pass(drivelab: Drivelab, explain: Explain) -> None:
    explain("scratch:64MiB", "--count", str(COUNT))
    (directory,) = drivelab.runs.iterdir()
    run = open_run(directory)
    for trial in run.trial_names:
        counts = run.measurement(trial).context["command_counts"]
        assert counts["flushes_per_operation"] == counts["flushes_per_operation_timed"] == 1
        assert (counts["data_writes"], counts["flushes"]) == (COUNT, counts["flushes_counted"])


# its file lies on a drive that other tests read and write: kernel threads of theirs are taken for the layer's own
@pytest.mark.alone
def test_a_device_that_nobody_gave_up_is_only_read(
    drivelab: Drivelab, explain: Explain, make_loop_device: Callable[..., Path]
) -> None:
    device = make_loop_device(16 * 2**20)
    content = bytes(range(256)) * 2**16
    device.write_bytes(content)
    # else the kernel writes it while it is read from
    subprocess.run(["sync", str(device)], check=True)
    found = explain(str(device), "--count", str(COUNT))
    # what lies in memory is read from no drive, but for pages that the kernel needed meanwhile: where the file of the
    # loop device has a drive, the time is the layer's
    reads = found["work_per_operation"]["device_reads"]
    assert found["operation"] == "read"
    assert reads < 0.5 if found["trace"]["layers"] else reads == 1
    assert found["trace"]["layers"] in ([], [device.name])
    # what a neighbour writes to the drive meanwhile is no work of a read
    assert found["work_per_operation"]["device_writes"] == 0
    assert device.read_bytes() == content
    refused = drivelab.run("explain", str(device), "--operation", "write")
    assert refused.returncode == 3
    assert "error[C201]" in refused.stderr
    assert device.read_bytes() == content


def test_several_reads_in_flight_each_get_their_own_bio(drivelab: Drivelab, explain: Explain) -> None:
    found = explain("scratch:256MiB", "--operation", "read", "--queue-depth", "16", "--count", "2000")
    assert found["work_per_operation"]["device_reads"] == pytest.approx(1, abs=0.02)
    (directory,) = drivelab.runs.iterdir()
    run = open_run(directory)
    for trial in run.traced_trials:
        rows, events = run.operations(trial), run.events(trial)
        assert rows is not None
        assert events is not None
        bios = events.filter(pc.and_(pc.equal(events["kind"], "bio"), pc.greater(events["operation_index"], -1)))
        offsets = rows["offset_bytes"].take(bios["operation_index"])
        alike = pc.equal(pc.multiply(bios["sector"].cast("int64"), 512), offsets)
        assert alike.to_pylist().count(True) == bios.num_rows == rows.num_rows
        assert pc.min(bios["queued_ns"]).as_py() >= pc.min(rows["start_ns"]).as_py()


@pytest.mark.needs_tool("qemu-storage-daemon")
class TestShapedDrive:
    """A drive whose latencies are known, and which knows for how long it had each command.

    The way from the loop device to the drive (`shaped_drive.loop`) is a part of
    the loop device's own latency, and the longer the busier the machine is. What
    the least of two shapes differ by is free of it: load only adds.
    """

    WRITE_NS, FLUSH_NS = 2_900_000, 7_200_000
    COUNT, REPEATS = 60, 2

    @pytest.fixture
    def parts_of(self, drivelab: Drivelab, shaped_drive: LoopDrive, explain: Explain) -> Callable[[int], Parts]:
        """The device and the flush part when the drive's latencies are so many times 2.9 and 7.2 ms."""

        def run(times: int) -> Parts:
            shaped_drive.shape(write_latency_ns=times * self.WRITE_NS, flush_latency_ns=times * self.FLUSH_NS)
            shaped_drive.reset_counts()
            before = set(drivelab.runs.glob("*"))
            erase = ("--erase", f"{shaped_drive.name}+contents")
            limits = ("--count", str(self.COUNT), "--repeats", str(self.REPEATS))
            found = explain(str(shaped_drive.path), *erase, "--direct", *limits)
            sent, expected = shaped_drive.counts(), 2 * self.REPEATS * self.COUNT
            assert (sent.writes, sent.flushes) == (expected, expected), "timed and traced"
            assert found["work_per_operation"]["flushes"] == found["work_per_operation"]["device_writes"] == 1
            (directory,) = set(drivelab.runs.iterdir()) - before
            stored, answered = open_run(directory), shaped_drive.answered()
            return timed_part(stored, answered, "device", "write"), timed_part(stored, answered, "flush", "flush")

        return run

    def test_the_device_and_flush_parts_are_the_injected_latencies(self, parts_of: Callable[[int], Parts]) -> None:
        once, thrice = parts_of(1), parts_of(3)
        for injected_ns, part, slower in zip((self.WRITE_NS, self.FLUSH_NS), once, thrice, strict=True):
            for times, one in ((1, part), (3, slower)):
                assert one.found_ns.size == self.REPEATS * self.COUNT
                assert one.least_ns.min() >= times * injected_ns
                one.assert_within()
            assert slower.found_ns.min() - part.found_ns.min() == pytest.approx(2 * injected_ns, rel=0.05)
