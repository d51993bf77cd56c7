"""What is told of the calls of a followed program while it is followed."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
import pytest

from drivelab.cli.followed_live import live_lines
from drivelab.model.system_calls import call_numbers
from drivelab.run.following import live
from drivelab.run.following.live import LiveCalls
from drivelab.run.following.open_files import OpenFiles, SeenFile
from drivelab.run.following.recorded_calls import CallsTrace

NUMBERS = call_numbers("x86_64")
SECOND_NS = 10**9


class Trace:
    """Gives one list of calls after the other."""

    def __init__(self, *looks: list[dict[str, Any]]) -> None:
        self._looks = [[], *looks]

    def newest(self) -> pa.Table:
        columns = ("thread", "number", "argument_0", "argument_1", "argument_2", "start_ns", "end_ns", "result")
        rows = self._looks.pop(0)
        return pa.table({name: pa.array([row[name] for row in rows], pa.int64()) for name in columns})


def call(name: str, descriptor: int, latency_ns: int, result: int = 0) -> dict[str, Any]:
    row = {"thread": 7, "number": NUMBERS[name], "argument_0": descriptor, "start_ns": 100}
    return {**row, "argument_1": 0, "argument_2": 0, "end_ns": 100 + latency_ns, "result": result}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time that it is, in ns."""
    now = [0]
    monkeypatch.setattr(live.time, "monotonic_ns", lambda: now[0])
    monkeypatch.setattr(live.os, "uname", lambda: type("Machine", (), {"machine": "x86_64"}))
    return now


def test_calls_of_the_last_seconds_are_told_and_the_slowest_of_all(clock: list[int]) -> None:
    files = OpenFiles(list)
    for descriptor, device, path in ((3, "7:0", "/data/wal"), (4, "8:0", "/elsewhere"), (5, "", "socket:[1]")):
        files._current[7, descriptor] = SeenFile(7, descriptor, path, device, False, True, 0, 0)
    first = [call("fdatasync", 3, 200_000_000), call("write", 3, 1000, 10), call("write", 3, 3000, 10)]
    left_out = [call("write", 4, 10**9, 1), call("write", 5, 10**9, 1), call("write", 6, 10**9, 1)]
    failed = [call("write", 3, 10**9, -5), call("close", 3, 10**9)]
    later = [call("fdatasync", 3, 100_000_000), call("io_uring_enter", 9, 500, 1)]
    trace = Trace(first + left_out + failed, later, [])
    seen = LiveCalls(cast(CallsTrace, trace), files, {"7:0"})
    clock[0] = SECOND_NS
    look = seen.look()
    assert [(one.call, one.per_second, one.p50_ns, one.slowest_ns) for one in look.calls] == [
        ("fdatasync", 1, 200_000_000, 200_000_000),
        ("write", 2, 1000, 3000),
    ]
    assert look.calls[0].time_share == pytest.approx(0.2)
    assert (look.slowest, look.counted) == ((200_000_000, "fdatasync", "/data/wal"), 3)
    clock[0] = 2 * SECOND_NS
    look = seen.look()
    assert {one.call: one.per_second for one in look.calls} == {"fdatasync": 1, "write": 1, "io_uring_enter": 0.5}
    # then nothing happens, and the window has gone past all of it
    clock[0] = 9 * SECOND_NS
    look = seen.look()
    assert look.calls == ()
    assert look.slowest == (200_000_000, "fdatasync", "/data/wal")


def test_calls_of_no_file_or_of_two_are_told_too(clock: list[int]) -> None:
    files = OpenFiles(list)
    for descriptor, device, path in ((3, "7:0", "/data/wal"), (4, "8:0", "/elsewhere")):
        files._current[7, descriptor] = SeenFile(7, descriptor, path, device, False, True, 0, 0)
    # the register of an argument that sync does not have holds anything
    calls = [call("sync", 4, 5_000), call("copy_file_range", 4, 9_000, 10) | {"argument_2": 3}]
    calls += [call("sendfile", 3, 8_000, 10) | {"argument_1": 4}, call("splice", 4, 10**9, 10) | {"argument_2": 4}]
    seen = LiveCalls(cast(CallsTrace, Trace(calls)), files, {"7:0"})
    clock[0] = SECOND_NS
    look = seen.look()
    assert [(one.call, one.slowest_ns) for one in look.calls] == [
        ("copy_file_range", 9_000),
        ("sendfile", 8_000),
        ("sync", 5_000),
    ]
    assert (look.slowest, look.counted) == ((9_000, "copy_file_range", "/data/wal"), 3)


def test_no_line_is_wider_than_the_terminal(clock: list[int]) -> None:
    files = OpenFiles(list)
    files._current[7, 3] = SeenFile(7, 3, "/data/" + "long" * 40, "7:0", False, True, 0, 0)
    seen = LiveCalls(cast(CallsTrace, Trace([call("fdatasync", 3, 2_000_000)], [])), files, {"7:0"})
    clock[0] = SECOND_NS
    lines = live_lines(seen.look(), 72, plain=True)
    assert max(map(len, lines)) <= 72
    # of one call there is no p99 but what bounds it
    assert lines[1].split() == ["fdatasync", "1.00", "2.00", "ms", ">=", "2.00", "ms", "2.00", "ms", "0", "%"]
    assert lines[-1].replace("\u00a0", " ").startswith("1 call; the slowest: 2.00 ms fdatasync of /data/long")
