"""Names that calls were given become files of the descriptors that they opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from drivelab.model.system_calls import IS_THREAD
from drivelab.run.following.opened_files import directory_of, opened_files
from drivelab.run.following.recorded_calls import RecordedCalls
from drivelab.run.following.seen_file import SeenFile

PARENT, THREAD, CHILD = 40, 41, 42
NUMBERS = {"open": 2, "chdir": 80, "fchdir": 81, "unshare": 272, "creat": 85, "openat": 257, "openat2": 437, "read": 0}
NUMBERS |= {"accept4": 288, "close": 3}
OF_PROCESS = 2**32 - 100
FORK = 17
ENDED_NS = 10_000
Named = tuple[dict[str, Any], str]


def named(call: str, thread: int, at_ns: int, path: str, *arguments: int, result: int = 3) -> Named:
    words = [*arguments, 0, 0, 0, 0][:4]
    row = {"thread": thread, "number": NUMBERS[call], "start_ns": at_ns, "end_ns": at_ns + 1, "result": result}
    return row | {f"argument_{place}": word for place, word in enumerate(words)}, path


def opened(
    directory: str | None,
    *calls: Named,
    forks: tuple[tuple[int, int, int, int], ...] = (),
    seen: tuple[SeenFile, ...] = (),
) -> list[SeenFile]:
    columns = {name: [row[at] for row in forks] for at, name in enumerate(("parent", "child", "time_ns", "flags"))}
    recorded = RecordedCalls(
        calls=pa.Table.from_pylist([row for row, _ in calls]),
        forks=pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()}),
        facts={},
        lost_events=0,
        names={},
        paths={(row["thread"], row["start_ns"]): path for row, path in calls if path},
    )
    processes = {PARENT: PARENT, THREAD: PARENT, CHILD: CHILD}
    return opened_files(recorded, NUMBERS, processes, {PARENT: directory}, seen, ENDED_NS)


def test_a_name_is_below_the_directory_in_which_its_process_is_then(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "link").symlink_to("below")
    found = opened(
        str(tmp_path),
        named("openat", PARENT, 1, "near", OF_PROCESS, 0, 0),
        named("chdir", PARENT, 2, "link", result=0),
        named("openat", THREAD, 3, "near", OF_PROCESS, 0, 0),
        named("chdir", PARENT, 4, "..", result=0),
        named("open", CHILD, 6, "near", 0, 0),
        named("open", PARENT, 7, "link/../near", 0, 0),
        named("chdir", PARENT, 8, "nowhere", result=-2),
        named("creat", PARENT, 9, "near"),
        forks=((PARENT, THREAD, 0, IS_THREAD), (PARENT, CHILD, 3, FORK)),
    )
    places = [(one.process, one.first_ns, os.path.relpath(one.path, tmp_path)) for one in found]
    first = [(PARENT, 2, "near"), (PARENT, 4, "below/near"), (CHILD, 7, "below/near")]
    assert places == [*first, (PARENT, 8, "near"), (PARENT, 10, "near")]


def test_a_name_below_a_descriptor_is_below_the_directory_that_it_stands_for_then(tmp_path: Path) -> None:
    looked_up = SeenFile(PARENT, 9, str(tmp_path / "seen"), "8:0", False, False, 0, 0)
    found = opened(
        "/",
        named("openat", PARENT, 2, str(tmp_path), OF_PROCESS, 0, os.O_DIRECTORY, result=5),
        named("openat", PARENT, 4, "below", 5, 0, os.O_DIRECTORY, result=6),
        named("openat", THREAD, 6, "./file", 6, result=7),
        named("openat", CHILD, 10, "file", 5, result=7),
        named("close", PARENT, 12, "", 6, result=0),
        named("openat", PARENT, 14, "lost", 6, result=7),
        named("openat", PARENT, 16, "again", 5, 0, os.O_DIRECTORY, result=6),
        named("openat", PARENT, 18, "file", 6, result=7),
        named("openat", PARENT, 20, "file", 9, result=7),
        named("fchdir", PARENT, 22, "", 6, result=0),
        named("openat", PARENT, 24, "near", OF_PROCESS, result=7),
        forks=((PARENT, CHILD, 8, FORK),),
        seen=(looked_up,),
    )
    names = [os.path.normpath(os.path.relpath(one.path, tmp_path)) for one in found if one.descriptor == 7]
    assert names == ["below/file", "file", "again/file", "seen/file", "again/near"]


def test_a_directory_that_was_removed_names_nothing() -> None:
    removed = SeenFile(PARENT, 9, "/srv/data (deleted)", "8:0", False, False, 0, 0)
    assert opened("/", named("openat", PARENT, 20, "file", 9, result=7), seen=(removed,)) == []


def test_what_is_accepted_and_the_like_is_no_file() -> None:
    found = opened(None, named("accept4", THREAD, 1, "", 3, result=8), named("accept4", THREAD, 3, "", 3, result=-11))
    assert [(one.process, one.descriptor, one.device, one.first_ns) for one in found] == [(PARENT, 8, "", 2)]


@pytest.mark.parametrize(
    "calls",
    [
        [named("fchdir", PARENT, 1, "", 5, result=0), named("open", PARENT, 2, "name")],
        [named("unshare", PARENT, 1, "", 0x20000, result=0), named("open", PARENT, 2, "/name")],
        [named("openat", PARENT, 1, "name", 5)],
        [named("openat", PARENT, 1, "name", OF_PROCESS, result=-2)],
        [named("openat", PARENT, 1, "", OF_PROCESS)],
        [named("openat", PARENT, 1, "/tmp", OF_PROCESS, 0, os.O_TMPFILE | os.O_RDWR)],
        [named("openat", 99, 1, "name", OF_PROCESS)],
    ],
    ids=["fchdir", "own mounts", "below a descriptor", "failed", "not told", "O_TMPFILE", "of an unknown process"],
)
def test_what_is_not_known_for_certain_is_not_named(calls: list[Named]) -> None:
    assert opened("/", *calls) == []
    # nor by its whole name where the process may have another root
    assert opened(None, named("open", PARENT, 1, "/name")) == []


def test_a_child_with_mounts_of_its_own_has_other_names() -> None:
    forks = ((PARENT, CHILD, 0, FORK | 0x20000),)
    assert opened("/", named("open", CHILD, 1, "/name"), forks=forks) == []


def test_flags_kind_and_size_are_told(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * 100)
    flags = os.O_WRONLY | os.O_APPEND | os.O_DSYNC | os.O_CLOEXEC
    found = opened(
        "/",
        named("openat", PARENT, 1, f"{tmp_path}/log", 5, 0, flags, result=7),
        named("creat", PARENT, 2, f"{tmp_path}/gone", result=8),
        named("openat2", PARENT, 3, str(tmp_path), OF_PROCESS),
    )
    log, gone, directory = found
    status = os.stat(tmp_path)
    assert {one.device for one in found} == {f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"}
    assert (log.descriptor, log.kind, log.size_bytes, log.sized_ns) == (7, "file", 100, ENDED_NS)
    assert (log.is_written, log.is_append, log.is_durable, log.is_closed_on_exec) == (True, True, True, True)
    assert (gone.descriptor, gone.kind, gone.is_written, gone.is_append) == (8, "", True, False)
    assert (directory.kind, directory.is_written) == ("directory", False)


def test_a_process_of_a_container_has_names_of_its_own() -> None:
    assert directory_of(os.getpid()) == os.getcwd()
    assert directory_of(2**22) is None
