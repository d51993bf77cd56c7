"""Files that rings of io_uring know by numbers: as the kernel prints them, and where they tell what a request is on."""

from __future__ import annotations

from drivelab.run.following.ring_files import RingFiles, registered_paths
from drivelab.run.following.seen_file import SeenFile

# as Linux 6.18 prints it
TOLD = """pos:	0
flags:	02000002
SqMask:	0x0
SqThread:	-1
UserFiles:	3
    0: /srv/log\\040of\\040today
    2: /srv/data
    3: socket:[4711]
UserBufs:	1
    0: 0x7fc9c0226000/4096
PollList:
"""


def seen(path: str, *, process: int = 10, is_durable: bool = False) -> SeenFile:
    return SeenFile(process, 5, path, "7:0", is_durable, True, 1, 2)


def ring_files(*paths: str, process: int = 10) -> RingFiles:
    found = RingFiles()
    found._paths[process] |= set(paths)
    return found


def test_the_table_of_a_ring_names_its_files() -> None:
    assert registered_paths(TOLD) == {"/srv/log of today", "/srv/data"}
    assert registered_paths("UserFiles:\t0\nUserBufs:\t1\n    0: /srv/log\n") == set()
    # names without directories may be anything's
    assert registered_paths("UserFiles:\t1\n    0: log\n") == set()
    assert registered_paths("pos:\t0\n") == set()


def test_only_a_file_that_stands_alone_is_certain() -> None:
    files = [seen("/a"), seen("/b"), seen("/a", process=11)]
    (found,) = ring_files("/a").certain(files)
    assert (found.process, found.path, found.device) == (10, "/a", "7:0")
    assert found.descriptor not in {one.descriptor for one in files}
    assert list(ring_files("/a", "/b").certain(files)) == []
    assert list(ring_files("/never seen").certain(files)) == []
    # opened twice, and writes are durable through one of the descriptors only
    assert list(ring_files("/a").certain([*files, seen("/a", is_durable=True)])) == []
