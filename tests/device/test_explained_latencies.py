"""What ``drivelab explain`` finds is what the drive was told to take: the device and flush parts.

A busy machine only ever adds time to the way to the drive. So the least of each
part is at most 5 % above what was injected, with the way measured before, without
drivelab, and taken off the drive's latencies; and every part of every operation
is no less than the drive itself took, and within what the drive's own times leave
(`device.drive_times`). In virtual time both sides are 5 % (`vm`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from device.drive_times import TimedPart, timed_part
from device.program import Drivelab
from drivelab.analyse.explanation import slowest_of, typical_of
from drivelab.store.read import StoredRun, open_run
from shaped_drive.loop import LoopDrive
from shaped_drive.server import Answered

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.needs_tool("losetup", "qemu-storage-daemon"),
]

MS = 1_000_000
WRITE_NS, FLUSH_NS, READ_NS = 2_900_000, 7_200_000, 3 * MS
TOLERANCE = 0.05
COUNT, REPEATS = 60, 2
Found = dict[str, Any]


@dataclass(frozen=True)
class Explained:
    """An explanation, the run that it is of, and what the drive answered meanwhile."""

    found: Found
    run: StoredRun
    answered: list[Answered]

    def part(self, part: str, command: str) -> TimedPart:
        """A part of every operation, beside the drive's own times; the published median is of these."""
        timed = timed_part(self.run, self.answered, part, command)
        timed.assert_within()
        (summary,) = [one for one in self.found["parts"] if one["part"] == part]
        assert summary["mean_ns"]["value"] == pytest.approx(timed.found_ns.mean())
        median = summary["p50_ns"]
        assert timed.found_ns.min() <= (median["value"] or median["observed"]) <= timed.found_ns.max()
        return timed

    def assert_part(self, part: str, command: str, injected_ns: int) -> None:
        """Nothing of a part was charged elsewhere, and nothing of another to it."""
        # a busy machine makes the way seem longer than it is, and then more of the latency is taken off
        assert self.part(part, command).found_ns.min() <= injected_ns * (1 + TOLERANCE)

    def median_ns(self, part: str) -> float:
        (summary,) = [one for one in self.found["parts"] if one["part"] == part]
        median = summary["p50_ns"]
        return float(median["observed"] if median["value"] is None else median["value"])


Measure = Callable[..., Explained]


@pytest.fixture
def measure(drivelab: Drivelab, shaped_drive: LoopDrive) -> Measure:
    """Explains the shaped drive with latencies as a block device has them."""

    def run(*arguments: str, count: int = COUNT, **shape: int) -> Explained:
        shaped_drive.take_off_way()
        shaped_drive.shape(**shape)
        before = set(drivelab.runs.glob("*"))
        target = [str(shaped_drive.path), "--erase", f"{shaped_drive.name}+contents"]
        limits = ["--count", str(count), "--repeats", str(REPEATS)]
        answer = drivelab.run("explain", *target, *limits, *arguments, "--json")
        # a busy machine makes doubtful what was measured, and no part of it wrong
        assert answer.returncode in (0, 4), answer.stderr
        (explanation,) = json.loads(answer.stdout)["explanations"]
        (directory,) = set(drivelab.runs.iterdir()) - before
        return Explained(dict(explanation), open_run(directory), shaped_drive.answered())

    return run


def test_a_write_and_its_flush_are_told_apart(measure: Measure, shaped_drive: LoopDrive) -> None:
    measured = measure(write_latency_ns=WRITE_NS, flush_latency_ns=FLUSH_NS)
    measured.assert_part("device", "write", WRITE_NS)
    measured.assert_part("flush", "flush", FLUSH_NS)
    found = measured.found
    assert found["work_per_operation"]["flushes"] == found["work_per_operation"]["device_writes"] == 1
    assert (found["check"]["verdict"], found["residual_ns"]) == ("ok", 0)
    # timed and traced
    sent = shaped_drive.counts()
    assert (sent.writes, sent.flushes, sent.fua_writes) == (2 * REPEATS * COUNT, 2 * REPEATS * COUNT, 0)


def test_without_fua_a_synchronous_write_has_two_flushes_in_it(measure: Measure) -> None:
    shape = {"write_latency_ns": WRITE_NS, "flush_latency_ns": FLUSH_NS}
    measured = measure("--direct", "--durability", "o_dsync", **shape)
    measured.assert_part("device", "write", WRITE_NS)
    measured.assert_part("flush", "flush", 2 * FLUSH_NS)
    work = measured.found["work_per_operation"]
    assert (work["device_writes"], work["flushes"], work["fua_writes"]) == (1, 2, 1)


def test_a_kernel_that_believes_in_no_volatile_cache_waits_for_no_flush(
    measure: Measure, shaped_drive: LoopDrive
) -> None:
    shape = {"write_latency_ns": WRITE_NS, "flush_latency_ns": FLUSH_NS}
    shaped_drive.kernel_cache_mode.write_text("write back")
    assert measure(**shape).found["work_per_operation"]["flushes"] == 1
    shaped_drive.kernel_cache_mode.write_text("write through")
    measured = measure(**shape)
    measured.assert_part("device", "write", WRITE_NS)
    found = measured.found
    assert measured.median_ns("flush") == found["work_per_operation"]["flushes"] == shaped_drive.counts().flushes == 0
    # nothing is missing: nobody is told that there is a cache to flush
    assert found["check"]["verdict"] == "ok"
    assert "no volatile cache" in found["check"]["text"]


def test_a_slow_read_is_the_device(measure: Measure) -> None:
    measured = measure("--operation", "read", read_latency_ns=READ_NS)
    measured.assert_part("device", "read", READ_NS)
    assert measured.found["work_per_operation"]["device_reads"] == 1
    assert measured.median_ns("flush") == 0


def test_flushes_that_are_seldom_slow_are_what_the_slowest_operations_wait_for(measure: Measure) -> None:
    # rare enough not to be typical, and more of them than the slowest 1 % has operations
    slow_ns = 10 * FLUSH_NS
    measured = measure(slow_flush_latency_ns=slow_ns, slow_flush_every=50, count=300)
    flush = measured.part("flush", "flush")
    order = np.argsort(flush.latency_ns, kind="stable")
    for name, group in (("typical", typical_of(order)), ("slowest", slowest_of(order))):
        published_ns = measured.found[name]["parts"]["flush_ns"]
        assert flush.least_ns[group].mean() <= published_ns <= flush.most_ns[group].mean()
    is_slow = flush.least_ns > slow_ns / 2
    assert np.count_nonzero(is_slow) == REPEATS * 300 // 50
    assert flush.found_ns[is_slow].min() <= slow_ns * (1 + TOLERANCE)
    assert flush.latency_ns[is_slow].min() > np.median(flush.latency_ns)
    assert measured.found["slowest"]["parts"]["flush_ns"] > 2 * measured.found["typical"]["parts"]["flush_ns"]
