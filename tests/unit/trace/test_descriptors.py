"""What descriptors stand for in children, in copies and after an exec."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from drivelab.model.system_calls import IS_THREAD, SHARES_FILES
from drivelab.run.following.seen_file import SeenFile
from drivelab.trace.descriptors import Descriptors, Start, starts_of

PARENT, CHILD, GRANDCHILD = 40, 41, 42
FORK = 17


def change(call: str, process: int, at_ns: int, *arguments: int, result: int = 0) -> dict[str, Any]:
    words = [*arguments, 0, 0, 0][:3]
    row = {"call": call, "process": process, "start_ns": at_ns, "end_ns": at_ns, "result": result}
    return row | {f"argument_{place}": word for place, word in enumerate(words)}


def seen(process: int, descriptor: int, path: str, at_ns: int, *, is_closed_on_exec: bool = False) -> SeenFile:
    file = SeenFile(process, descriptor, path, "7:0", False, True, at_ns, at_ns)
    file.is_closed_on_exec = is_closed_on_exec
    return file


def told(process: int, descriptor: int, path: str, at_ns: int) -> SeenFile:
    return SeenFile(process, descriptor, path, "7:0", False, True, at_ns, at_ns, is_told=True)


def path_at(found: Descriptors, files: list[SeenFile], process: int, descriptor: int, at_ns: int) -> str:
    number, _ = found.spans(process, descriptor).at(at_ns)
    return files[number - 1].path if number else ""


def test_a_child_that_nobody_looked_at_has_what_its_parent_had_when_it_was_started() -> None:
    files = [seen(PARENT, 3, "/before", 0), seen(PARENT, 4, "/later", 30)]
    changes = [
        change("openat", PARENT, 10, result=4),
        change("close", PARENT, 40, 3),
        change("openat", PARENT, 50, result=3),
    ]
    found = Descriptors(files, changes, [Start(20, PARENT, CHILD, FORK), Start(60, CHILD, GRANDCHILD, FORK)])
    for process in (CHILD, GRANDCHILD):
        assert [path_at(found, files, process, number, 90) for number in (3, 4, 5)] == ["/before", "/later", ""]
    assert path_at(found, files, PARENT, 3, 90) == ""


@pytest.mark.parametrize(
    ("rows", "paths"),
    [
        ([change("dup2", CHILD, 30, 3, 1, result=1), change("close", CHILD, 31, 3)], ["/log", ""]),
        ([change("fcntl", CHILD, 30, 3, 0, result=1)], ["/log", "/log"]),
        ([change("close_range", CHILD, 30, 3, 2**32 - 1)], ["", ""]),
        ([change("close_range", CHILD, 30, 3, 9, 4), change("execve", CHILD, 31)], ["", ""]),
        ([change("fcntl", CHILD, 30, 3, 2, 1), change("execve", CHILD, 31)], ["", ""]),
        ([change("dup3", CHILD, 30, 3, 1, 0o2000000, result=1), change("execve", CHILD, 31)], ["", "/log"]),
        ([change("execve", CHILD, 30, result=-2)], ["", "/log"]),
        ([change("openat", CHILD, 30, result=3)], ["", ""]),
    ],
    ids=["dup2", "F_DUPFD", "close_range", "CLOSE_RANGE_CLOEXEC", "F_SETFD", "dup3", "exec that failed", "openat"],
)
def test_what_a_child_does_with_its_descriptors_changes_its_own(rows: list[dict[str, Any]], paths: list[str]) -> None:
    files = [seen(PARENT, 3, "/log", 0)]
    found = Descriptors(files, rows, [Start(20, PARENT, CHILD, FORK)])
    assert [path_at(found, files, CHILD, number, 90) for number in (1, 3)] == paths
    assert path_at(found, files, PARENT, 3, 90) == "/log"


@pytest.mark.parametrize("is_seen", [True, False])
def test_an_exec_leaves_what_is_not_to_be_closed(is_seen: bool) -> None:
    files = [seen(PARENT, 3, "/kept", 15), seen(PARENT, 4, "/closed", 15, is_closed_on_exec=True)]
    opens = [
        change("openat", PARENT, 10, result=3),
        change("openat", PARENT, 11, 0, 0, 0o2000000, result=4),
    ]
    changes = [*([] if is_seen else opens), change("execve", CHILD, 30)]
    found = Descriptors(files, changes, [Start(20, PARENT, CHILD, FORK)])
    assert [path_at(found, files, CHILD, number, 25) for number in (3, 4)] == ["/kept", "/closed"]
    assert [path_at(found, files, CHILD, number, 90) for number in (3, 4)] == ["/kept", ""]


def test_what_one_was_given_after_the_fork_is_not_the_others() -> None:
    # a pipe in the one, and what came over a socket in the other, are opened by no call that is recorded
    files = [seen(PARENT, 5, "/given", 50), seen(CHILD, 6, "/other", 60)]
    found = Descriptors(files, [], [Start(20, PARENT, CHILD, FORK), Start(21, PARENT, GRANDCHILD, FORK)])
    assert [path_at(found, files, process, 5, 90) for process in (PARENT, CHILD)] == ["/given", ""]
    assert [path_at(found, files, process, 6, 90) for process in (CHILD, PARENT, GRANDCHILD)] == ["/other", "", ""]


def test_who_shares_descriptors_sees_what_the_other_one_opens() -> None:
    files = [seen(PARENT, 3, "/a", 50)]
    changes = [change("openat", PARENT, 30, result=3)]
    found = Descriptors(files, changes, [Start(20, PARENT, CHILD, FORK | SHARES_FILES)])
    assert path_at(found, files, CHILD, 3, 90) == "/a"


def test_a_number_of_a_process_that_is_given_again_is_another_process() -> None:
    files = [seen(PARENT, 3, "/a", 0), seen(PARENT, 4, "/b", 35)]
    changes = [change("close", CHILD, 25, 3), change("openat", PARENT, 30, result=4)]
    starts = [Start(20, PARENT, CHILD, FORK), Start(40, PARENT, CHILD, FORK)]
    found = Descriptors(files, changes, starts)
    assert [path_at(found, files, CHILD, 3, at_ns) for at_ns in (22, 30, 50)] == ["/a", "", "/a"]
    assert [path_at(found, files, CHILD, 4, at_ns) for at_ns in (35, 50)] == ["", "/b"]


def test_threads_are_no_processes_that_were_started() -> None:
    forks = pa.table({"parent": [44, 44], "child": [45, 46], "time_ns": [1, 2], "flags": [IS_THREAD, FORK]})
    assert list(starts_of(forks, {44: PARENT})) == [Start(2, PARENT, 46, FORK)]


def test_what_is_seen_twice_was_something_else_in_between_where_the_calls_say_so() -> None:
    directory = seen(PARENT, 3, "/data", 22)
    directory.last_ns = 62
    paths = ["/data/new", "/data", "/data/new", "/data/new", "/data"]
    files = [directory, *(told(PARENT, 3, path, 10 + 10 * at) for at, path in enumerate(paths))]
    changes = [change(call, PARENT, 10 * at, 3, result=3) for at in range(1, 6) for call in ("close", "openat")]
    changes.append(change("fcntl", PARENT, 41, 3, result=9))
    found = Descriptors(files, changes, [])
    assert [path_at(found, files, PARENT, 3, 15 + 10 * at) for at in range(5)] == paths
    # a copy has the name of what it was made of
    assert path_at(found, files, PARENT, 9, 90) == "/data/new"
    # which was looked at, too: how large it was then is known
    assert found.spans(PARENT, 3).at(25)[0] == 1
