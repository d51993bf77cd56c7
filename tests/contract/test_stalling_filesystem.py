"""A target that really stalls: a file system that is frozen for a while.

What waited for it shows in the responses of an open loop, evenly spread up to
the length of the stall; a closed loop has one long write and knows no more.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivelab import _engine

from .conftest import ONE_AT_A_TIME

FREEZE, THAW = 0xC0045877, 0xC0045878
RATE_PER_S = 1000.0
NOISE_S = 0.06

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("mkfs.ext4")]


@contextmanager
def frozen(directory: Path) -> Iterator[None]:
    """No write to a file system comes through until the block ends."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.ioctl(handle, FREEZE, 0)
        try:
            yield
        finally:
            fcntl.ioctl(handle, THAW, 0)
    finally:
        os.close(handle)


def on_a_quiet_machine(check: Callable[[], None]) -> None:
    """Tries again where something else kept the machine or its disk busy just then."""
    for _ in range(3):
        with suppress(AssertionError):
            return check()
    return check()


class Stall(threading.Thread):
    """Freezes a file system for a while, some time after it was started.

    `least_s` is the time it was frozen for certain, `most_s` includes the calls
    that froze it (which write out what is in memory, with writers waiting) and
    let it go on.
    """

    def __init__(self, directory: Path, *, after_s: float, length_s: float) -> None:
        super().__init__()
        self.directory, self.after_s, self.length_s = directory, after_s, length_s
        self.least_s = self.most_s = 0.0
        self.ended_at = float("inf")

    def run(self) -> None:
        time.sleep(self.after_s)
        called = time.monotonic()
        with frozen(self.directory):
            began = time.monotonic()
            time.sleep(self.length_s)
            self.least_s = time.monotonic() - began
        self.ended_at = time.monotonic()
        self.most_s = self.ended_at - called

    def is_wanted(self, progress: str) -> bool:
        """Whether the run must go on: until a while after the stall, however busy the machine is."""
        return time.monotonic() < self.ended_at + 0.2

    def may_have_lasted(self, seconds: float) -> bool:
        return self.least_s - NOISE_S < seconds < self.most_s + NOISE_S


@pytest.fixture
def directory(mount_filesystem) -> Path:
    """A file system with a file of 4 MiB in it."""
    mounted: Path = mount_filesystem("ext4", size_bytes=64 * 2**20)
    (mounted / "data").write_bytes(os.urandom(4 * 2**20))
    os.sync()
    return mounted


@pytest.mark.parametrize("pacing", ["fixed", "poisson"])
def test_an_open_loop_shows_the_stall_in_every_response(pacing, data_backend, directory, run_engine):
    on_a_quiet_machine(lambda: check_open_loop(pacing, data_backend, directory, run_engine))


def check_open_loop(pacing: str, data_backend: str, directory: Path, run_engine: Any) -> None:
    stall = Stall(directory, after_s=0.25, length_s=0.4)
    stall.start()
    answer = run_engine(
        data_backend,
        directory / "data",
        operation="write",
        queue_depth=1 if data_backend in ONE_AT_A_TIME else 512,
        pacing={"kind": pacing, "rate_per_s": RATE_PER_S},
        on_interval=stall.is_wanted,
        limits={"runtime_ns": 30_000_000_000},
        record_ios=True,
    )
    stall.join()
    response = np.sort(answer.records["response_latency_ns"].to_numpy() / 1e9)
    longest = response[-1]
    assert stall.may_have_lasted(longest)
    spread = 4 * np.sqrt(RATE_PER_S * longest) if pacing == "poisson" else 0
    for part in (0.25, 0.5, 0.75):
        expected = RATE_PER_S * longest * (1 - part)
        longer = np.count_nonzero(response > part * longest)
        assert longer == pytest.approx(expected, abs=RATE_PER_S * NOISE_S + spread), part
    arrivals = answer.summary["arrivals"]
    assert arrivals["scheduled"] == arrivals["issued"] + arrivals["missed"]
    scheduled = RATE_PER_S * answer.summary["measured_ns"] / 1e9
    assert arrivals["scheduled"] == pytest.approx(scheduled, abs=2 if pacing == "fixed" else 5 * np.sqrt(scheduled))
    if data_backend != "uring":
        # one call at a time is stuck in the stall: what should have been issued meanwhile comes late
        assert arrivals["late"] > 0.8 * RATE_PER_S * stall.least_s
        long_themselves = np.count_nonzero(answer.records["total_latency_ns"].to_numpy() / 1e9 > longest / 2)
        assert long_themselves <= (2 if data_backend in ONE_AT_A_TIME else RATE_PER_S * NOISE_S)


def test_a_closed_loop_shows_just_one_long_write(data_backend, directory, run_engine):
    on_a_quiet_machine(lambda: check_closed_loop(data_backend, directory, run_engine))


def check_closed_loop(data_backend: str, directory: Path, run_engine: Any) -> None:
    stall = Stall(directory, after_s=0.15, length_s=0.3)
    stall.start()
    answer = run_engine(
        data_backend,
        directory / "data",
        operation="write",
        on_interval=stall.is_wanted,
        limits={"runtime_ns": 30_000_000_000},
        record_ios=True,
    )
    stall.join()
    total = answer.records["total_latency_ns"].to_numpy() / 1e9
    assert stall.may_have_lasted(total.max())
    assert np.count_nonzero(total > stall.least_s / 2) == 1


def test_a_stop_gives_up_on_io_that_never_comes_back_and_keeps_the_rest(directory, run_engine, job_threads):
    found: dict[str, Any] = {}
    is_frozen = threading.Event()

    def run(backend: str) -> None:
        stop = _engine.StopFlag()

        def watch(text: str) -> bool:
            if is_frozen.is_set() and not stop.is_set():
                time.sleep(0.2)
                stop.set()
            return True

        found[backend] = run_engine(
            backend,
            directory / "data",
            stop=stop,
            on_interval=watch,
            operation="write",
            job_count=2,
            limits={"runtime_ns": 3_600_000_000_000},
        )

    threads = [threading.Thread(target=run, args=(name,)) for name in ("sync", "uring", "aio")]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    with frozen(directory):
        is_frozen.set()
        # it stays frozen until they have given up
        for thread in threads:
            thread.join()
    for name in ("sync", "uring", "aio"):
        summary = found[name].summary
        assert summary["abandoned_jobs"] == 2, name
        assert summary["stopped_by"] == "caller", name
        assert summary["measured_ns"] > 300_000_000, name
        assert found[name].count("write") > 100, name
        assert summary["all_phases"]["write"]["count"] >= found[name].count("write"), name
    deadline = time.monotonic() + 60
    while job_threads() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert job_threads() == [], "their I/O has come back"
