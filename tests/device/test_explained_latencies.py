"""What ``drivelab explain`` finds is what the drive was told to take: the device and flush parts within 5 %.

The way from the loop device to the drive is measured first, without drivelab,
and taken off the drive's latencies. A busy machine only ever adds time, and not
for long, so a measurement that is off is repeated, with the way measured again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from device.program import Drivelab
from shaped_drive.loop import LoopDrive

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.needs_tool("losetup", "qemu-storage-daemon"),
    pytest.mark.timeout(600),
]

MS = 1_000_000
WRITE_NS, FLUSH_NS, READ_NS = 2_900_000, 7_200_000, 3 * MS
TOLERANCE = 0.05
COUNT, REPEATS = 60, 2
TRIES = 4
Found = dict[str, Any]
Measurements = Callable[..., Iterator[Found]]


@pytest.fixture
def measurements(drivelab: Drivelab, shaped_drive: LoopDrive) -> Measurements:
    """Explanations of the shaped drive, one after the other, for latencies as a block device has them."""

    def measure(*arguments: str, count: int = COUNT, **shape: int) -> Iterator[Found]:
        for _ in range(TRIES):
            shaped_drive.take_off_way()
            shaped_drive.shape(**shape)
            target = [str(shaped_drive.path), "--erase", f"{shaped_drive.name}+contents"]
            limits = ["--count", str(count), "--repeats", str(REPEATS)]
            answer = drivelab.run("explain", *target, *limits, *arguments, "--json")
            assert answer.returncode == 0, answer.stderr
            (explanation,) = json.loads(answer.stdout)["explanations"]
            yield dict(explanation)

    return measure


def parts_of(found: Found) -> dict[str, float]:
    """The median of each part, ns."""
    medians = {part["part"]: part["p50_ns"] for part in found["parts"]}
    return {
        name: median["observed"] if median["value"] is None else median["value"] for name, median in medians.items()
    }


def assert_found(measured: Iterator[Found], **expected_ns: int) -> Found:
    """In one of the measurements every part named is as it was injected; the first such is returned."""
    seen = []
    for found in measured:
        parts = parts_of(found)
        if all(abs(parts[name] - injected) <= TOLERANCE * injected for name, injected in expected_ns.items()):
            return found
        seen.append({name: parts[name] for name in expected_ns})
    pytest.fail(f"injected {expected_ns}, found {seen}")


def test_a_write_and_its_flush_are_told_apart(measurements: Measurements, shaped_drive: LoopDrive) -> None:
    measured = measurements(write_latency_ns=WRITE_NS, flush_latency_ns=FLUSH_NS)
    found = assert_found(measured, device=WRITE_NS, flush=FLUSH_NS)
    assert found["work_per_operation"]["flushes"] == found["work_per_operation"]["device_writes"] == 1
    assert (found["check"]["verdict"], found["residual_ns"]) == ("ok", 0)
    # timed and traced
    sent = shaped_drive.counts()
    assert (sent.writes, sent.flushes, sent.fua_writes) == (2 * REPEATS * COUNT, 2 * REPEATS * COUNT, 0)


def test_without_fua_a_synchronous_write_has_two_flushes_in_it(measurements: Measurements) -> None:
    shape = {"write_latency_ns": WRITE_NS, "flush_latency_ns": FLUSH_NS}
    measured = measurements("--direct", "--durability", "o_dsync", **shape)
    found = assert_found(measured, device=WRITE_NS, flush=2 * FLUSH_NS)
    work = found["work_per_operation"]
    assert (work["device_writes"], work["flushes"], work["fua_writes"]) == (1, 2, 1)


def test_a_kernel_that_believes_in_no_volatile_cache_waits_for_no_flush(
    measurements: Measurements, shaped_drive: LoopDrive
) -> None:
    shaped_drive.kernel_cache_mode.write_text("write back")
    measured = measurements(write_latency_ns=WRITE_NS, flush_latency_ns=FLUSH_NS)
    assert next(measured)["work_per_operation"]["flushes"] == 1
    shaped_drive.kernel_cache_mode.write_text("write through")
    shaped_drive.reset_counts()
    measured = measurements(write_latency_ns=WRITE_NS, flush_latency_ns=FLUSH_NS)
    found = assert_found(measured, device=WRITE_NS)
    assert parts_of(found)["flush"] == found["work_per_operation"]["flushes"] == shaped_drive.counts().flushes == 0
    # nothing is missing: nobody is told that there is a cache to flush
    assert found["check"]["verdict"] == "ok"
    assert "no volatile cache" in found["check"]["text"]


def test_a_slow_read_is_the_device(measurements: Measurements) -> None:
    found = assert_found(measurements("--operation", "read", read_latency_ns=READ_NS), device=READ_NS)
    assert found["work_per_operation"]["device_reads"] == 1
    assert parts_of(found)["flush"] == 0


def test_flushes_that_are_seldom_slow_are_what_the_slowest_operations_wait_for(measurements: Measurements) -> None:
    # rare enough not to be typical, and more of them than the slowest 1 % has operations
    slow_ns = 10 * FLUSH_NS
    for found in measurements(slow_flush_latency_ns=slow_ns, slow_flush_every=50, count=300):
        slowest, typical = found["slowest"]["parts"]["flush_ns"], found["typical"]["parts"]["flush_ns"]
        if slowest == pytest.approx(slow_ns, rel=TOLERANCE) and typical < slow_ns / 20:
            return
    pytest.fail(f"injected {slow_ns}, found {slowest} in the slowest, {typical} in the typical")
