"""Calls of a followed program: which count, on which file, and why others do not."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from drivelab.model.system_calls import FILE_UNKNOWN, RING_FILE
from drivelab.run.following.seen_file import SeenFile, seen_file
from drivelab.trace.call_columns import AWAKE, SLEEP_UNKNOWN, SLEPT
from drivelab.trace.operations_of_calls import operations_of_calls, with_submissions
from unit.trace.made_up_calls import DISK, NUMBERS, PROCESS, THREAD, call, counted, seen

NO_FLAGS = {"is_direct": False, "is_synced": False}


def test_of_other_devices_the_time_of_their_calls_and_the_file_with_most_of_it_are_told() -> None:
    calls = [call("write", 3, 0, 8), *(call("read", 5, 100 * at, 8) for at in (1, 2, 3)), call("read", 6, 500, 8)]
    calls += [call("fsync", 4, 600), call("read", 7, 700, -5)]
    files = [
        seen(5, "/lib/a", 0, "8:1"),
        seen(6, "/lib/b", 0, "8:1"),
        seen(4, "/x", 0, "8:16"),
        seen(7, "/y", 0, "8:32"),
    ]
    found = counted(calls, seen(3, "/a", 0), *files)
    assert found.elsewhere == {"8:1": (40, "/lib/a"), "8:16": (10, "/x")}
    assert found.operations.num_rows == 1


def test_of_each_call_it_is_told_whether_it_slept_as_far_as_that_is_known() -> None:
    calls = [call("pwrite64", 3, 100 * at, 512, has_slept=told) for at, told in enumerate((True, False, None))]
    assert counted(calls, seen(3, "/a", 0)).operations["sleep"].to_pylist() == [SLEPT, AWAKE, SLEEP_UNKNOWN]
    untold = counted([call("pwrite64", 3, 0, 512)], seen(3, "/a", 0))
    assert untold.operations["sleep"].to_pylist() == [SLEEP_UNKNOWN]


def test_a_write_is_durable_by_the_flags_of_its_file_or_by_its_own() -> None:
    flags = (0, 0x2, 0x4, 0x8, 0x10 | 0x2)
    calls = [call("pwritev2", 3, 100 * at, 512, argument_5=flag) for at, flag in enumerate(flags)]
    calls += [call("pwritev", 3, 1000, 512, argument_5=0x2), call("pwritev", 4, 2000, 512, argument_5=0)]
    found = counted(calls, seen(3, "/a", 0), seen(4, "/b", 0, is_durable=True))
    rows = found.operations.to_pylist()
    assert [row["is_durable"] for row in rows] == [False, True, True, False, True, False, True]
    assert [row["operation"] for row in rows] == [1, 4, 4, 1, 4, 1, 4]


def test_sync_counts_whatever_file_is_open() -> None:
    # the register of an argument that it does not have holds anything
    found = counted([call("sync", 4, 100), call("sync", 3, 200)], seen(3, "/a", 0), seen(4, "/x", 0, "8:16"))
    assert found.calls["file"].to_pylist() == ["", ""]
    assert found.operations["operation"].to_pylist() == [3, 3]
    assert found.left_out == {}


def test_a_call_belongs_to_the_file_that_its_descriptor_stood_for_then() -> None:
    calls = [
        call("openat", -100, 0, 3),
        call("pwrite64", 3, 100, 512, argument_3=4096),
        call("close", 3, 200),
        call("openat", -100, 300, 3),
        call("write", 3, 400, 100),
        call("fdatasync", 3, 500),
    ]
    found = counted(calls, seen(3, "/a", 150), seen(3, "/b", 450))
    assert found.calls.to_pylist() == [
        {"call": "pwrite64", "process": PROCESS, "file": "/a", "is_placed": True, **NO_FLAGS},
        {"call": "write", "process": PROCESS, "file": "/b", "is_placed": True, **NO_FLAGS},
        {"call": "fdatasync", "process": PROCESS, "file": "/b", "is_placed": False, **NO_FLAGS},
    ]
    rows = found.operations.to_pylist()
    assert [(row["operation"], row["offset_bytes"], row["size_bytes"]) for row in rows] == [
        (1, 4096, 512),
        (1, 0, 100),
        (3, 0, 0),
    ]
    assert found.left_out == {}


@pytest.mark.parametrize(
    "copy",
    [
        lambda: call("dup2", 3, 200, 1),
        lambda: call("dup3", 3, 200, 1),
        lambda: call("dup", 3, 200, 1),
        lambda: call("fcntl", 3, 200, 1, argument_1=1030),
    ],
    ids=["dup2", "dup3", "dup", "F_DUPFD_CLOEXEC"],
)
def test_a_copied_descriptor_stands_for_another_file_from_then_on(copy: Callable[[], dict[str, Any]]) -> None:
    calls = [call("write", 1, 100, 10), copy(), call("write", 1, 300, 20)]
    found = counted(calls, seen(1, "/dev/pts/0", 50, "0:24"), seen(1, "/data/of", 400))
    assert [row["file"] for row in found.calls.to_pylist()] == ["/data/of"]
    assert found.left_out == {"calls on files elsewhere": 1}
    # asking for flags copies nothing
    unchanged = [call("write", 1, 100, 10), call("fcntl", 1, 200, 1, argument_1=3), call("write", 1, 300, 20)]
    assert counted(unchanged, seen(1, "/data/of", 400)).calls.num_rows == 2


def test_writes_of_a_file_that_is_open_with_o_dsync_are_durable() -> None:
    found = counted([call("write", 3, 100, 512)], seen(3, "/a", 50, is_durable=True))
    (row,) = found.operations.to_pylist()
    assert (row["operation"], row["is_durable"]) == (4, True)


def test_a_write_is_durable_by_flags_of_its_own_too() -> None:
    flags = (0, os.RWF_DSYNC, os.RWF_SYNC, os.RWF_HIPRI)
    calls = [call("pwritev2", 3, 100 * at, 512, argument_5=flag) for at, flag in enumerate(flags)]
    # that register holds anything where a call takes no flags, and a read is never durable
    calls += [call("pwrite64", 3, 400, 512, argument_5=6), call("preadv2", 3, 500, 512, argument_5=os.RWF_SYNC)]
    found = counted(calls, seen(3, "/a", 0))
    assert found.operations["operation"].to_pylist() == [1, 4, 4, 1, 1, 0]
    assert found.operations["is_durable"].to_pylist() == [False, True, True, False, False, False]
    assert found.calls["is_synced"].to_pylist() == [False, False, True, False, False, False]


def test_o_sync_is_told_from_o_dsync() -> None:
    synced = seen(4, "/b", 0, is_durable=True)
    synced.is_synced = True
    calls = [call("write", 3, 100, 512), call("write", 4, 200, 512), call("fsync", 4, 300)]
    found = counted(calls, seen(3, "/a", 0, is_durable=True), synced)
    assert found.calls["is_synced"].to_pylist() == [False, True, False]


def test_a_write_that_appends_by_a_flag_lies_at_the_end() -> None:
    calls = [
        call("pwrite64", 3, 100, 1000),
        call("pwritev2", 3, 200, 512, argument_5=os.RWF_APPEND),
        call("write", 3, 300, 10),
    ]
    found = counted([call("openat", -100, 0, 3), *calls], seen(3, "/a", 50))
    assert found.operations["offset_bytes"].to_pylist() == [0, 1000, 0]


def test_what_does_not_count_is_counted_by_its_reason() -> None:
    calls = [
        call("write", 4, 100, 512),
        call("write", 5, 200, 512),
        call("write", 6, 300, 512),
        call("read", 3, 400, -4),
        call("io_uring_enter", 7, 500, 1),
        call("fsync", 3, 600, is_doubtful=True),
    ]
    found = counted(calls, seen(3, "/a", 0), seen(4, "socket:[1]", 0, ""), seen(5, "/elsewhere", 0, "8:0"))
    assert found.operations.num_rows == 0
    assert json.loads(json.dumps(found.left_out)) == {
        "calls on sockets, pipes and the like": 1,
        "calls on files elsewhere": 1,
        FILE_UNKNOWN: 1,
        "calls that failed": 1,
        "calls of io_uring, which this kernel does not tell apart": 1,
        "calls that lost events touch": 1,
    }
    assert found.of_unknown_files == {"write": 1}


def test_what_an_accepted_connection_is_given_is_no_call_of_an_unknown_file() -> None:
    connection = SeenFile(PROCESS, 8, "accept4:", "", False, False, 110, 110, is_told=True)
    calls = [call("accept4", 3, 100, 8), call("read", 8, 200, 40), call("close", 8, 300), call("read", 8, 400, 40)]
    found = counted(calls, connection)
    assert found.left_out == {"calls on sockets, pipes and the like": 1, FILE_UNKNOWN: 1}


def test_a_sync_of_a_file_that_was_not_seen_counts_since_only_files_are_synced() -> None:
    found = counted([call("fsync", 9, 100), call("msync", 9, 200)], seen(9, "/later", 900), seen(9, "/a", 900))
    assert found.calls["file"].to_pylist() == ["/later", ""]
    found = counted([call("fsync", 9, 100), call("close", 9, 200)], seen(9, "/later", 900))
    assert found.calls["file"].to_pylist() == [""]


READ, WRITE, FSYNC, POLL = 22, 23, 3, 6


def test_a_sync_that_succeeded_was_of_no_terminal_and_no_pipe() -> None:
    """A shell's redirection may be missed where a program begins: its output is then taken for what it was before."""
    found = counted([call("fdatasync", 1, 100), call("write", 1, 50, 512)], seen(1, "/dev/null", 10, device=""))
    assert found.calls["file"].to_pylist() == [""]
    assert sum(found.left_out.values()) == 1


def test_a_character_device_lies_on_no_disk(tmp_path: Path) -> None:
    with Path("/dev/null").open("wb") as null, (tmp_path / "f").open("wb") as file:
        for one, is_on_disk in ((null, False), (file, True)):
            path = os.readlink(f"/proc/self/fd/{one.fileno()}")
            found = seen_file(os.getpid(), one.fileno(), path, 1)
            assert found is not None
            assert bool(found.device) is is_on_disk


def request(opcode: int, descriptor: int, start: int, end: int, result: int = 0, **more: Any) -> dict[str, Any]:
    row = {"thread": THREAD, "opcode": opcode, "descriptor": descriptor, "start_ns": start, "end_ns": end}
    flags = dict.fromkeys(("is_polled", "is_registered", "is_handed_over", "is_doubtful"), False)
    return {**row, "result": result, **flags, **more}


def test_a_request_of_io_uring_is_a_call_from_its_submission_to_its_completion() -> None:
    requests = [
        request(READ, 3, 102, 300, 4096),
        request(WRITE, 3, 105, 250, 512),
        request(FSYNC, 3, 400, 500),
        request(WRITE, 3, 410, 405 + 10, 512, is_doubtful=True),
        request(WRITE, -1, 420, 430, 512, is_registered=True),
        request(POLL, 3, 100, 900),
        request(WRITE, 3, 106, 251, 512, thread=THREAD + 7),
    ]
    # the ring is entered at 101 and left at 111; then a thread of the kernel polls it
    calls = pa.Table.from_pylist([call("io_uring_enter", 9, 101, 2)])
    found = operations_of_calls(
        calls, NUMBERS, [seen(3, "/a", 50)], DISK, {THREAD: PROCESS}, pa.Table.from_pylist(requests)
    )
    rows = found.operations.to_pylist()
    assert found.calls["call"].to_pylist() == ["io_uring read", "io_uring write", "io_uring fsync"]
    assert found.calls["file"].to_pylist() == ["/a"] * 3
    # what its thread queues belongs to it until the next one comes, or the call returns, or it is done
    assert [(row["start_ns"], row["submitted_ns"], row["end_ns"]) for row in rows] == [
        (102, 105, 300),
        (105, 111, 250),
        (400, 410, 500),
    ]
    assert [(row["operation"], row["size_bytes"]) for row in rows] == [(0, 4096), (1, 512), (3, 0)]
    assert [row["is_synchronous"] for row in rows] == [False] * 3
    assert found.left_out == {
        "calls that lost events touch": 1,
        "requests of io_uring on registered files that the kernel does not tell apart": 1,
    }


def test_a_request_on_the_only_file_that_the_rings_know_is_of_that_file() -> None:
    requests = [request(WRITE, -1, 420, 430, 512, is_registered=True), request(WRITE, -1, 440, 450, 512)]
    files = [seen(3, "/a", 50), seen(RING_FILE, "/a", 50)]
    found = operations_of_calls(
        pa.table({name: [] for name in call("read", 3, 0)}),
        NUMBERS,
        files,
        DISK,
        {THREAD: PROCESS},
        pa.Table.from_pylist(requests),
    )
    assert found.calls["file"].to_pylist() == ["/a"]
    assert found.left_out == {FILE_UNKNOWN: 1}


def test_a_million_calls_are_not_held_as_python_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.trace.operations_of_calls._ROWS_AT_ONCE", 500)

    def peak_bytes(count: int) -> int:
        calls = pa.Table.from_pylist([call("pwrite64", 3, 100 * at, 512, argument_3=512 * at) for at in range(count)])
        tracemalloc.start()
        try:
            found = operations_of_calls(calls, NUMBERS, [seen(3, "/a", 10)], DISK, {THREAD: PROCESS})
            assert found.operations.num_rows == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # a call as a dictionary takes 700 bytes, and as an operation as many again
    assert (peak_bytes(8000) - peak_bytes(2000)) / 6000 < 100


def bio(queued: int, ended: int, kind: str = "write", size: int = 4096, thread: int = THREAD) -> dict[str, Any]:
    times = {"queued_ns": queued, "ended_ns": ended}
    return {"kind": "bio", "class": kind, "bytes": size, "pid": thread, **times}


def test_what_aio_submits_ends_with_its_bios() -> None:
    calls = [
        call("io_submit", 7, 100, 2),
        call("io_submit", 7, 200, 1),
        call("io_submit", 7, 300, 1),
        call("io_submit", 7, 400, -11),
        call("write", 3, 500, 100),
    ]
    bios = [
        # one for each of two, one in two pieces, and one of another thread
        bio(101, 150),
        bio(102, 140, "read", 512),
        bio(201, 290, size=1024),
        bio(202, 280, size=2048),
        bio(203, 299, thread=THREAD + 1),
    ]
    counts = counted(calls, seen(3, "/a", 0))
    assert counts.calls["call"].to_pylist() == ["write"]
    found = with_submissions(counts, pa.Table.from_pylist(bios))
    rows = found.operations.to_pylist()
    assert found.calls["call"].to_pylist() == ["aio write", "aio read", "aio write", "write"]
    assert [(row["start_ns"], row["submitted_ns"], row["end_ns"], row["size_bytes"]) for row in rows] == [
        (100, 110, 150, 4096),
        (100, 110, 140, 512),
        (200, 210, 290, 3072),
        (500, 510, 510, 100),
    ]
    assert found.left_out == {"calls of aio that had this disk do nothing": 1}
