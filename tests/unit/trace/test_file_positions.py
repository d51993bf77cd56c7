"""Where in its file a call read or wrote, and how large the file was before."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from drivelab.model.system_calls import call_numbers
from drivelab.run.following.seen_file import SeenFile
from drivelab.trace.operations_of_calls import operations_of_calls

PROCESS, CHILD = 40, 41
NUMBERS = call_numbers("x86_64")


def call(name: str, descriptor: int, start: int, result: int = 0, **more: Any) -> dict[str, Any]:
    arguments = {f"argument_{place}": 0 for place in range(4)} | {"argument_0": descriptor}
    times = {"start_ns": start, "end_ns": start + 1}
    row = {"thread": PROCESS, "number": NUMBERS[name], "result": result, "is_doubtful": False}
    return row | times | arguments | more


def seen(at: int, size: int, position: int = 0, descriptor: int = 3, **more: Any) -> SeenFile:
    facts = {"size_bytes": size, "position_bytes": position, "kind": "file"} | more
    return SeenFile(PROCESS, descriptor, "/a", "7:0", False, True, at, at, **facts)


def places(rows: list[dict[str, Any]], *files: SeenFile) -> tuple[list[int | None], int]:
    """By call its place, and the size of the file at the beginning."""
    found = operations_of_calls(pa.Table.from_pylist(rows), NUMBERS, files, {"7:0"}, {})
    told = zip(found.operations["offset_bytes"].to_pylist(), found.calls["is_placed"].to_pylist(), strict=True)
    return [place if is_placed else None for place, is_placed in told], found.sizes["/a"]


def test_reads_and_writes_follow_each_other_and_a_seek_moves_them() -> None:
    rows = [
        call("openat", -100, 0, 3, argument_2=0o102),
        call("write", 3, 1, 100),
        call("read", 3, 2, 50),
        call("lseek", 3, 3, 4096),
        call("write", 3, 4, 10),
        call("pwrite64", 3, 5, 10, argument_3=7),
        call("write", 3, 6, 10),
        call("fdatasync", 3, 7),
    ]
    assert places(rows, seen(1, 8192))[0] == [0, 100, 4096, 7, 4106, None]


def test_a_copy_of_a_descriptor_has_the_same_place_and_a_new_one_its_own() -> None:
    rows = [
        call("openat", -100, 0, 3),
        call("write", 3, 1, 100),
        call("dup", 3, 2, 9),
        call("write", 9, 3, 10),
        call("write", 3, 4, 10),
        call("close", 3, 5),
        call("openat", -100, 6, 3),
        call("read", 3, 70, 10),
    ]
    assert places(rows, seen(1, 8192), seen(65, 8192))[0] == [0, 100, 110, 0]


def test_of_what_was_open_before_the_place_is_where_it_stood_when_it_was_seen() -> None:
    rows = [call("write", 3, 1, 100), call("write", 3, 50, 100), call("write", 3, 60, 100)]
    assert places(rows, seen(40, 8192, position=500))[0] == [None, 500, 600]


def test_appends_go_to_the_end_and_the_size_is_that_before_them() -> None:
    rows = [call("openat", -100, 0, 3, argument_2=0o2001), *(call("write", 3, 10 * at, 100) for at in range(1, 5))]
    # two of the four had been written when it was seen
    assert places(rows, seen(25, 1200)) == ([1000, 1100, 1200, 1300], 1000)
    assert places(rows[1:], seen(25, 1200, is_append=True))[1] == 1000


def test_what_was_emptied_or_written_as_a_whole_before_it_was_seen_began_empty() -> None:
    emptied = [call("openat", -100, 0, 3, argument_2=0o1101), call("pwrite64", 3, 90, 10, argument_3=0)]
    assert places(emptied, seen(50, 700))[1] == 0
    whole = [call("openat", -100, 0, 3, argument_2=0o102)]
    whole += [call("pwrite64", 3, 2 + at, 512, argument_3=512 * (1 - at)) for at in range(2)]
    assert places(whole, seen(50, 1024))[1] == 0
    part = [call("openat", -100, 0, 3), call("pwrite64", 3, 1, 512, argument_3=512)]
    assert places(part, seen(50, 1024))[1] == 1024


def test_the_place_of_what_tells_none_is_not_known() -> None:
    request = {"thread": PROCESS, "opcode": 23, "descriptor": 3, "start_ns": 60, "end_ns": 70, "result": 100}
    flags = dict.fromkeys(("is_polled", "is_registered", "is_handed_over", "is_doubtful"), False)
    requests = pa.Table.from_pylist([request | flags])
    calls = pa.Table.from_pylist([call("io_uring_enter", 9, 59, 1)])
    found = operations_of_calls(calls, NUMBERS, [seen(1, 10)], {"7:0"}, {}, requests)
    assert found.calls["is_placed"].to_pylist() == [False]
    assert places([call("preadv2", 3, 60, 100, argument_3=-1)], seen(1, 10, position=5))[0] == [5]


def test_a_child_that_writes_where_its_parent_stood_moves_it() -> None:
    rows = [
        call("openat", -100, 0, 3),
        call("write", 3, 10, 100),
        call("write", 3, 30, 100) | {"thread": CHILD},
        call("write", 3, 40, 100),
    ]
    forks = pa.table({"parent": [PROCESS], "child": [CHILD], "time_ns": [20], "flags": [17]})
    found = operations_of_calls(pa.Table.from_pylist(rows), NUMBERS, [seen(50, 300)], {"7:0"}, {}, forks=forks)
    assert found.operations["offset_bytes"].to_pylist() == [0, 100, 200]
    assert found.calls["process"].to_pylist() == [PROCESS, CHILD, PROCESS]
