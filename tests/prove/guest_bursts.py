"""Burst credit in a guest: a whole run on drives that QEMU throttles, and on one that `drivelab serve` answers for.

``make prove ARGS="-k guest_bursts"``: ten minutes. The guest's processor is emulated, and slow: drives are, too.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from vm.drives import GuestDrive
from vm.guest import Guest

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.needs_root,
    pytest.mark.needs_tool("qemu-system-x86_64", "busybox", "modprobe"),
]
_MIB = 2**20
_START_S = 60
# base and burst rate in I/Os a second, and for how many seconds QEMU's bucket holds the difference
_BUCKETS = ((30, 200, 8), (50, 250, 6))
_CONSTANT = 150
# one that serve answers for: gp2's rule at a scale that an emulated processor keeps up with
_SERVED = """
title = "small volume with burst credit"
source = "made up: 250 I/Os a second until 2000 are used up, and 50 for good"
size = "256MiB"
command = "4ms"
read_latency = "100us"
write_latency = "100us"

[io_limit]
rate = 50
burst = 2000

[cache]
size = "4MiB"
volatile = false

[flash]
raw = "384MiB"
block = "2MiB"
units = 16
read = "60us"
program = "200us"
erase = "3ms"
reads_first = true
"""
# the second half of the built-in experiment: its first half would use up a bucket of I/Os
_EXPERIMENT = """
format = 1
name = "ios"
question = "How long is it fast, and how fast then?"
description = "Random reads until the rate falls and stays down, then rests."
repeats = { full = 1, quick = 1 }
tables = ["results"]
figures = ["throughput-over-time"]

[[workloads]]
name = "ios"
operation = "read"
access = "random"
block_size = "4KiB"
direct = true
queue_depth = 32
file_size = "128MiB"
runtime = "90s"
interval = "200ms"
watches_burst = true
"""


class ServedDrive(GuestDrive):
    """A drive of the guest that ``drivelab serve`` answers for."""

    def __init__(self, model: str, number: int) -> None:
        self.kind, self.serial, self.path, self.limits = "nvme", f"served-{number}", "", {}
        self.size_bytes = 256 * _MIB
        self._directory = tempfile.mkdtemp(prefix="drivelab-served-")
        self.socket_path = Path(self._directory, "nbd")
        file = Path(self._directory, "drive.toml")
        file.write_text(model, encoding="utf-8")
        command = [sys.executable, "-m", "drivelab", "serve", f"sim:{file}", str(self.socket_path), "--precondition"]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        deadline = time.monotonic() + _START_S
        while not self.socket_path.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise RuntimeError("drivelab serve does not listen")
            time.sleep(0.05)

    def close(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=_START_S)
        shutil.rmtree(self._directory, ignore_errors=True)


def buckets_of(guest: Guest, drive: GuestDrive) -> list[dict[str, Any]]:
    """What the experiment finds on a drive of the guest."""
    guest.shell("cat > /tmp/ios.toml", stdin=_EXPERIMENT)
    told = guest.run("drivelab", "run", "/tmp/ios.toml", drive.path, "--json", timeout_s=900, check=False)
    assert told.exit_code in (0, 4), told.stderr
    found: list[dict[str, Any]] = json.loads(told.stdout)["buckets"]
    return found


def served_per_s(drive: GuestDrive, ios: int) -> float:
    """At what rate QEMU sent the drive the middle eight tenths of its first reads, as the drive saw it."""
    taken_ns = [one.taken_ns for one in drive.answered() if one.command == "read"][ios // 10 : ios * 9 // 10]
    return (len(taken_ns) - 1) / (taken_ns[-1] - taken_ns[0]) * 1e9


def test_throttled_and_served_drives_are_seen_through_from_inside_a_guest() -> None:
    throttled = [
        GuestDrive(
            "nvme", 11 + place, 256 * _MIB, {"iops-total": base, "iops-total-max": burst, "iops-total-max-length": s}
        )
        for place, (base, burst, s) in enumerate(_BUCKETS)
    ]
    constant = GuestDrive("nvme", 21, 256 * _MIB, {"iops-total": _CONSTANT})
    served = ServedDrive(_SERVED, 1)
    with Guest((), more=[*throttled, constant, served]) as guest:
        for drive, (base, burst, length_s) in zip(throttled, _BUCKETS, strict=True):
            drive.reset_counts()
            (found,) = buckets_of(guest, drive)
            # QEMU's timers wait for the processor that it emulates: while it works hard a burst is slower than asked
            passed_on = served_per_s(drive, burst * length_s)
            told = [found[name] for name in ("base_per_s", "burst_per_s", "size")]
            print(f"\n  {base} and {burst} from a bucket of {burst * length_s}, {passed_on:.1f} served: {told}", end="")
            assert told == [pytest.approx(truth, rel=0.05) for truth in (base, passed_on, burst * length_s)]
        (found,) = buckets_of(guest, constant)
        print(f"\n  {_CONSTANT} always: {found['verdict']}", end="")
        assert found["base_per_s"] is None
        (found,) = buckets_of(guest, served)
        print(f"\n  served, 50 and 250 from a bucket of 2 000: {found['verdict']}, {found['base_per_s']}", end="")
        # QEMU hands on 16 answers at a time: the fall and its base rate are told, what idle times give back is not
        assert found["verdict"] in ("fell", "bucket")
        assert found["base_per_s"] == pytest.approx(50, rel=0.05)
