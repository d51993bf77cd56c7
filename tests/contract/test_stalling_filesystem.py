"""A target that really stalls: a file system that is frozen for a while.

What waited for it shows in the responses of an open loop, each as long as the
rest of the stall; a closed loop has one long write and knows no more. Each claim
is about recorded times, so it holds on a busy machine too.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from drivelab import _engine

from .conftest import ONE_AT_A_TIME, Answer

FREEZE, THAW = 0xC0045877, 0xC0045878
RATE_PER_S = 1000.0
MS = 1_000_000
# a run that is never told to end is one
RUNTIME_NS = 120_000 * MS
# how well the engine's clock and this program's agree
CLOCK_NS = 50_000
LOOKS = 20
WRITES_BEFORE = 100
# on a busy machine the kernel's workers end writes of the stall after so many later ones
WRITES_AFTER = 500
Integers = NDArray[np.int64]

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


class Stall(threading.Thread):
    """Freezes a file system for a while, once enough has been written to it.

    From `began_ns` to `thawed_ns` (CLOCK_MONOTONIC) no write can come through.
    """

    def __init__(self, directory: Path, *, length_s: float) -> None:
        super().__init__()
        self.directory, self.length_s = directory, length_s
        self.began_ns = self.thawed_ns = 0
        self.may_begin, self.has_ended = threading.Event(), threading.Event()

    def tell(self, progress: str) -> dict[str, Any]:
        """How far the run is; begins when it has written enough."""
        now: dict[str, Any] = json.loads(progress)
        now["writes"] = now["operations"].get("write", {}).get("count", 0)
        if now["writes"] > WRITES_BEFORE:
            self.may_begin.set()
        return now

    def run(self) -> None:
        self.may_begin.wait()
        with frozen(self.directory):
            self.began_ns = time.monotonic_ns()
            time.sleep(self.length_s)
            self.thawed_ns = time.monotonic_ns()
        self.has_ended.set()


@dataclass(frozen=True)
class Times:
    """When each write was to be issued, was issued and ended (CLOCK_MONOTONIC), beside a stall."""

    stall: Stall
    meant_ns: Integers
    issued_ns: Integers
    ended_ns: Integers

    @classmethod
    def of(cls, answer: Answer, stall: Stall) -> Times:
        stall.join()
        issued_ns = answer.records["issue_ns"].to_numpy()
        ended_ns = issued_ns + answer.records["total_latency_ns"].to_numpy()
        assert ended_ns.max() < time.monotonic_ns() + CLOCK_NS
        name = "response_latency_ns" if "response_latency_ns" in answer.records.column_names else "total_latency_ns"
        return cls(stall, ended_ns - answer.records[name].to_numpy(), issued_ns, ended_ns)

    def in_stall(self, at_ns: Integers) -> Integers:
        """Where moments lie within the stall."""
        inside = (at_ns > self.stall.began_ns + CLOCK_NS) & (at_ns < self.stall.thawed_ns - CLOCK_NS)
        return np.flatnonzero(inside)

    def under_way_at_its_end(self) -> int:
        before = self.issued_ns < self.stall.thawed_ns - CLOCK_NS
        return int(np.count_nonzero(before & (self.ended_ns > self.stall.thawed_ns - CLOCK_NS)))


@pytest.fixture
def directory(mount_filesystem) -> Path:
    """A file system with a file of 4 MiB in it."""
    mounted: Path = mount_filesystem("ext4", size_bytes=64 * 2**20)
    (mounted / "data").write_bytes(os.urandom(4 * 2**20))
    os.sync()
    return mounted


@pytest.mark.parametrize("pacing", ["fixed", "poisson"])
def test_an_open_loop_shows_the_stall_in_every_response(pacing, data_backend, directory, run_engine):
    stall = Stall(directory, length_s=0.4)
    due: list[float] = []

    def go_on(progress: str) -> bool:
        now = stall.tell(progress)
        if stall.has_ended.is_set() and not due:
            due.append(RATE_PER_S * now["elapsed_ns"] / 1e9 + WRITES_AFTER)
        # until all that were to be issued during the stall have been
        return not due or now["writes"] < due[0]

    stall.start()
    answer = run_engine(
        data_backend,
        directory / "data",
        operation="write",
        queue_depth=1 if data_backend in ONE_AT_A_TIME else 512,
        pacing={"kind": pacing, "rate_per_s": RATE_PER_S},
        on_interval=go_on,
        limits={"runtime_ns": RUNTIME_NS},
        record_ios=True,
    )
    times = Times.of(answer, stall)
    meant_then = times.in_stall(times.meant_ns)
    assert np.all(times.ended_ns[meant_then] > stall.thawed_ns - CLOCK_NS), "a write came through"
    expected = RATE_PER_S * (stall.thawed_ns - stall.began_ns) / 1e9
    assert meant_then.size == pytest.approx(expected, abs=2 if pacing == "fixed" else 5 * np.sqrt(expected))
    apart_ns = np.diff(np.sort(times.meant_ns))
    assert np.all(np.abs(apart_ns - 1e9 / RATE_PER_S) < CLOCK_NS) == (pacing == "fixed")
    arrivals = answer.summary["arrivals"]
    assert arrivals["issued"] == times.meant_ns.size
    assert arrivals["scheduled"] == arrivals["issued"] + arrivals["missed"]
    scheduled = RATE_PER_S * answer.summary["measured_ns"] / 1e9
    assert arrivals["scheduled"] == pytest.approx(scheduled, abs=2 if pacing == "fixed" else 5 * np.sqrt(scheduled))
    assert arrivals["late"] >= np.count_nonzero(times.issued_ns - times.meant_ns > MS)
    if data_backend in ONE_AT_A_TIME:
        # what should have been issued meanwhile comes late
        assert times.in_stall(times.issued_ns).size <= 1
        assert times.under_way_at_its_end() == 1


def test_a_closed_loop_shows_just_one_long_write(data_backend, directory, run_engine):
    stall = Stall(directory, length_s=0.3)
    stall.start()
    answer = run_engine(
        data_backend,
        directory / "data",
        operation="write",
        on_interval=lambda progress: bool(stall.tell(progress)) and not stall.has_ended.is_set(),
        limits={"runtime_ns": RUNTIME_NS},
        record_ios=True,
    )
    times = Times.of(answer, stall)
    assert times.in_stall(times.issued_ns).size <= 1
    assert times.under_way_at_its_end() == 1
    assert times.ended_ns.size > WRITES_BEFORE


def test_a_stop_gives_up_on_io_that_never_comes_back_and_keeps_the_rest(directory, run_engine, job_threads):
    found: dict[str, Any] = {}
    stop, is_stuck = _engine.StopFlag(), threading.Event()
    writes = dict.fromkeys(("sync", "uring", "aio", "posixaio"), 0)

    def run(backend: str) -> None:
        def watch(text: str) -> bool:
            writes[backend] = json.loads(text)["operations"].get("write", {}).get("count", 0)
            if is_stuck.is_set():
                stop.set()
            return True

        found[backend] = run_engine(
            backend,
            directory / "data",
            stop=stop,
            on_interval=watch,
            operation="write",
            job_count=2,
            record_jobs=True,
            limits={"runtime_ns": 3_600_000_000_000},
        )

    threads = [threading.Thread(target=run, args=(name,)) for name in writes]
    for thread in threads:
        thread.start()
    wait_until(lambda: min(writes.values()) > 100)
    with frozen(directory):
        wait_until(all_wait(job_threads))
        is_stuck.set()
        # it stays frozen until they have given up
        for thread in threads:
            thread.join()
    for name in writes:
        summary = found[name].summary
        assert summary["abandoned_jobs"] == 2, name
        assert summary["stopped_by"] == "caller", name
        assert found[name].count("write") > 100, name
        assert summary["all_phases"]["write"]["count"] >= found[name].count("write"), name
        # each of them alone had all of the time, too
        alone = [(job["abandoned_jobs"], job["measured_ns"]) for job in summary["jobs"]]
        assert alone == [(1, summary["measured_ns"])] * 2, name
    # their I/O comes back
    wait_until(lambda: job_threads() == [])


def all_wait(job_threads: Callable[..., list[str]]) -> Callable[[], bool]:
    """Whether no job could go on if it had a processor, seen many times one after the other."""
    seen = 0

    def look() -> bool:
        nonlocal seen
        seen = 0 if job_threads("R") else seen + 1
        return seen > LOOKS

    return look


def wait_until(claim: Callable[[], bool]) -> None:
    """Looks every 20 ms whether something has come true."""
    deadline = time.monotonic() + 120
    while not claim():
        assert time.monotonic() < deadline, "it never comes true"
        time.sleep(0.02)
