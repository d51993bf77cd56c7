"""Calls that name their file another way: pipes, mappings, and copies from one file into another."""

from __future__ import annotations

import pyarrow as pa
import pytest

from drivelab.model.system_calls import FILE_UNKNOWN, MAPPED_BEFORE
from drivelab.trace.operations_of_calls import operations_of_calls
from unit.trace.made_up_calls import DISK, NUMBERS, PROCESS, THREAD, call, counted, seen


def test_what_is_read_from_a_pipe_is_no_file_and_what_came_before_and_after_is_one() -> None:
    calls = [call("read", 3, 0, 8), call("close", 3, 20), call("pipe2", 4 << 32 | 3, 40)]
    calls += [call("read", 3, 100, 8), call("write", 4, 120, 8), call("close", 3, 140), call("openat", -100, 160, 3)]
    calls += [call("read", 3, 200, 8)]
    pipes = [seen(descriptor, "pipe2:", 50, "") for descriptor in (3, 4)]
    for pipe in pipes:
        pipe.is_told = True
    found = counted(calls, seen(3, "/a", 5), *pipes, seen(3, "/b", 180))
    assert found.calls["file"].to_pylist() == ["/a", "/b"]
    assert found.left_out == {"calls on sockets, pipes and the like": 2}


def test_a_mapping_is_synced_by_the_name_of_its_file() -> None:
    before = seen(MAPPED_BEFORE, "/before", 0)
    before.address, before.mapped_bytes = 0x1000, 0x1000
    calls = [call("msync", 0x1000, 0), call("msync", 0x2000, 20)]
    calls += [call("mmap", 3, 100, 0x2000, argument_1=0x2000), call("msync", 0x3FFF, 120), call("msync", 0x4000, 140)]
    # another file in its place, one on another disk, and what could not be mapped
    calls += [call("mmap", 4, 200, 0x3000, argument_1=0x1000), call("msync", 0x2000, 220), call("msync", 0x3000, 240)]
    calls += [call("mmap", 5, 300, 0x8000, argument_1=0x1000), call("msync", 0x8000, 320)]
    calls += [call("mmap", 4, 400, -12, argument_1=0x1000), call("msync", 0x2000, 420)]
    found = counted(calls, before, seen(3, "/a", 50), seen(4, "/b", 50), seen(5, "/x", 50, "8:16"))
    assert found.calls["file"].to_pylist() == ["/before", "", "/a", "", "/a", "/b", "/a"]
    assert found.left_out == {"calls on files elsewhere": 1}


def test_a_child_has_the_mappings_of_its_parent_at_its_start() -> None:
    calls = [call("mmap", 3, 0, 0x2000, argument_1=0x1000), call("mmap", 4, 200, 0x2000, argument_1=0x1000)]
    calls += [call("msync", 0x2000, 300), call("msync", 0x2000, 320, thread=50)]
    forks = pa.table({"parent": [THREAD], "child": [50], "time_ns": [100], "flags": [0]})
    files = (seen(3, "/a", 0), seen(4, "/b", 0))
    found = operations_of_calls(pa.Table.from_pylist(calls), NUMBERS, files, DISK, {THREAD: PROCESS}, forks=forks)
    assert found.calls["file"].to_pylist() == ["/b", "/a"]


READ, WRITE = 0, 1
# what the descriptors of the next test stand for
HERE, ALSO_HERE, THERE, SOCKET, UNSEEN = 3, 4, 5, 6, 7


@pytest.mark.parametrize(
    ("read", "written", "told"),
    [
        (HERE, ALSO_HERE, (READ, "/a")),
        (HERE, SOCKET, (READ, "/a")),
        (HERE, UNSEEN, (READ, "/a")),
        (THERE, HERE, (WRITE, "/a")),
        (SOCKET, HERE, (WRITE, "/a")),
        (UNSEEN, HERE, (WRITE, "/a")),
        (THERE, UNSEEN, FILE_UNKNOWN),
        (UNSEEN, SOCKET, FILE_UNKNOWN),
        (THERE, SOCKET, "calls on files elsewhere"),
        (SOCKET, THERE, "calls on files elsewhere"),
        (SOCKET, SOCKET, "calls on sockets, pipes and the like"),
    ],
)
@pytest.mark.parametrize("name", ["copy_file_range", "sendfile", "splice"])
def test_of_two_files_the_one_on_the_disk_is_told(
    name: str, read: int, written: int, told: tuple[int, str] | str
) -> None:
    sides = (written, read) if name == "sendfile" else (read, 0, written)
    row = call(name, 0, 100, 4096) | {f"argument_{at}": descriptor for at, descriptor in enumerate(sides)}
    files = (
        seen(HERE, "/a", 0),
        seen(ALSO_HERE, "/b", 0),
        seen(THERE, "/x", 0, "8:16"),
        seen(SOCKET, "socket:[1]", 0, ""),
    )
    found = counted([row], *files)
    if isinstance(told, str):
        assert (found.left_out, found.operations.num_rows) == ({told: 1}, 0)
        return
    (operation,) = found.operations.to_pylist()
    assert (operation["operation"], found.calls["file"].to_pylist()) == (told[0], [told[1]])
    assert (operation["size_bytes"], found.calls["is_placed"].to_pylist(), found.left_out) == (4096, [False], {})


def test_behind_a_transfer_nobody_knows_where_its_files_stand() -> None:
    calls = [
        call("openat", -100, 0, 3),
        call("openat", -100, 20, 4),
        call("read", 3, 100, 10),
        call("write", 4, 120, 20),
    ]
    calls += [call("sendfile", 4, 200, 4096, argument_1=3), call("read", 3, 300, 10), call("write", 4, 320, 10)]
    calls += [call("lseek", 3, 400, 512), call("read", 3, 500, 10)]
    found = counted(calls, seen(3, "/a", 50), seen(4, "/b", 50))
    assert found.calls["call"].to_pylist() == ["read", "write", "sendfile", "read", "write", "read"]
    assert found.calls["is_placed"].to_pylist() == [True, True, False, False, False, True]
    assert found.operations["offset_bytes"].to_pylist()[-1] == 512
