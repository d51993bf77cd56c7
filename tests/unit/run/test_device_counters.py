"""What two readings of the kernel's counters say."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.model.target import BlockLayer, LayerKind
from drivelab.run import device_counters
from drivelab.run.device_counters import (
    counted_device,
    counted_devices,
    counts_between,
    max_request_bytes,
    read_counters,
)

ZEROS = (0,) * 17


def layer(name: str, kind: LayerKind = "disk") -> BlockLayer:
    return BlockLayer(name, f"/dev/{name}", "1:0", kind, 2**30, 0, 512, 512, None, None, False, False, None)


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty stand-in for /sys/class/block."""
    monkeypatch.setattr(device_counters, "SYSFS_BLOCK", tmp_path)
    return tmp_path


def make_device(sysfs: Path, name: str, fields: str = " ".join(map(str, ZEROS)), **queue: str) -> None:
    (sysfs / name / "queue").mkdir(parents=True)
    (sysfs / name / "stat").write_text(f"  {fields}\n")
    for setting, value in queue.items():
        (sysfs / name / "queue" / setting).write_text(f"{value}\n")


def test_a_reading_has_the_seventeen_fields_of_each_device(sysfs: Path) -> None:
    make_device(sysfs, "sda", " ".join(str(number) for number in range(1, 18)))
    reading = read_counters(["sda"])
    assert reading.fields == {"sda": tuple(range(1, 18))}


def test_the_fields_that_an_old_kernel_lacks_are_zero(sysfs: Path) -> None:
    make_device(sysfs, "sda", "1 2 3 4 5 6 7 8 9 10 11")
    assert read_counters(["sda"]).fields["sda"] == (*range(1, 12), 0, 0, 0, 0, 0, 0)


def test_a_device_that_has_vanished_is_left_out(sysfs: Path) -> None:
    make_device(sysfs, "sda")
    before = read_counters(["sda", "sdb"])
    assert list(before.fields) == ["sda"]
    after = device_counters.CounterReading(before.read_at_ns + 1, {})
    assert counts_between(before, after) == ()


def test_differences_are_counted_in_bytes_and_nanoseconds(sysfs: Path) -> None:
    make_device(sysfs, "sda", max_sectors_kb="512")
    before = read_counters(["sda"])
    (sysfs / "sda" / "stat").write_text("10 1 80 7 20 2 160 9 0 30 40 3 0 24 5 6 11\n")
    (counts,) = counts_between(before, read_counters(["sda"]))
    assert (counts.reads, counts.read_merges, counts.bytes_read, counts.read_ns) == (10, 1, 40960, 7_000_000)
    assert (counts.writes, counts.write_merges, counts.bytes_written, counts.write_ns) == (20, 2, 81920, 9_000_000)
    assert (counts.discards, counts.flushes, counts.flush_ns) == (3, 6, 11_000_000)


@pytest.mark.parametrize(
    ("writes", "flushes", "sectors", "sync_calls", "bounds"),
    [
        # every flush may have been an empty request of its own, or none
        (200, 100, 800, None, (100, 200)),
        # many calls may share one flush, so more requests may have been empty than there were flushes
        (300, 100, 800, 200, (100, 300)),
        # but no fewer requests than the bytes need: 100 MiB in requests of at most 512 KiB
        (250, 100, 204800, None, (200, 250)),
        (100, 0, 800, None, (100, 100)),
    ],
)
def test_writes_that_carried_data_are_bounded(
    sysfs: Path,
    writes: int,
    flushes: int,
    sectors: int,
    sync_calls: int | None,
    bounds: tuple[int, int],
) -> None:
    make_device(sysfs, "sda", max_sectors_kb="512")
    before = read_counters(["sda"])
    (sysfs / "sda" / "stat").write_text(f"0 0 0 0 {writes} 0 {sectors} 0 0 0 0 0 0 0 0 {flushes} 0\n")
    (counts,) = counts_between(before, read_counters(["sda"]), sync_calls=sync_calls)
    assert (counts.data_writes_low, counts.data_writes_high) == bounds
    assert counts.data_writes is None


def test_a_device_whose_counting_is_switched_off_is_not_used_and_said_to_be_so(sysfs: Path) -> None:
    make_device(sysfs, "sda", iostats="0")
    names, reason = counted_devices([layer("sda")])
    assert names == ()
    assert "iostats" in reason


def test_counted_devices_keep_their_order(sysfs: Path) -> None:
    make_device(sysfs, "sda", iostats="1")
    make_device(sysfs, "dm-0", iostats="1")
    assert counted_devices([layer("sda"), layer("dm-0", "dm")]) == (("sda", "dm-0"), "")


def test_without_a_device_the_reason_says_so() -> None:
    assert counted_devices([]) == ((), "no block device is known beneath the target")


def test_without_a_queue_a_request_may_be_of_any_usual_size(sysfs: Path) -> None:
    assert max_request_bytes("nothing") == 1 << 30


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([("sda", "disk"), ("sda1", "part"), ("dm-0", "dm")], "sda"),
        ([("vda", "disk"), ("loop0", "loop")], "loop0"),
        ([("vda", "disk"), ("loop0", "loop"), ("dm-0", "dm")], "loop0"),
        ([("sda", "disk"), ("sdb", "disk"), ("md0", "md")], "md0"),
        ([], ""),
    ],
    ids=["volume", "loop", "volume-on-loop", "array", "nothing"],
)
def test_commands_are_counted_at_the_uppermost_whole_disk(kinds: list[tuple[str, LayerKind]], expected: str) -> None:
    assert counted_device([layer(name, kind) for name, kind in kinds]) == expected
