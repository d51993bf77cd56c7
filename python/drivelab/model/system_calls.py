"""The system calls that a followed program is watched for, with the kernel's numbers of them."""

from __future__ import annotations

from collections.abc import Mapping

AIO_READ, AIO_WRITE = "aio read", "aio write"
# by the number of a request (IORING_OP_...) what it is called
_RING_READS = {1: "io_uring readv", 4: "io_uring read_fixed", 22: "io_uring read", 60: "io_uring readv_fixed"}
_RING_WRITES = {2: "io_uring writev", 5: "io_uring write_fixed", 23: "io_uring write", 61: "io_uring writev_fixed"}
_RING_SYNCS = {3: "io_uring fsync", 8: "io_uring sync_file_range"}
RING_WRITES = tuple(_RING_WRITES.values())
RING_OPERATIONS = _RING_READS | _RING_WRITES | _RING_SYNCS
# stands for the descriptor where a ring knows a file by a number of its own; no descriptor is as large
RING_FILE = 2**31

READS = ("read", "pread64", "readv", "preadv", "preadv2", AIO_READ, *_RING_READS.values())
WRITES = ("write", "pwrite64", "writev", "pwritev", "pwritev2", AIO_WRITE, *RING_WRITES)
SYNC_ALL, SYNC_MAPPED = "sync", "msync"
SYNCS = ("fsync", "fdatasync", "sync_file_range", SYNC_MAPPED, "syncfs", SYNC_ALL, *_RING_SYNCS.values())
# all other syncs are of a descriptor
WITHOUT_DESCRIPTOR = (SYNC_MAPPED, SYNC_ALL)
# they hand data from one descriptor to another; which of their arguments has the one, and which the other
TRANSFERS = {"copy_file_range": (0, 2), "sendfile": (1, 0), "splice": (0, 2)}
OPENS = ("open", "creat", "openat", "openat2")
# what they return a descriptor of is no file
NO_FILES = (
    "socket",
    "accept",
    "accept4",
    "eventfd2",
    "epoll_create1",
    "timerfd_create",
    "signalfd4",
    "inotify_init1",
    "pidfd_open",
)
# they give two descriptors, those of a pipe
PIPES = ("pipe", "pipe2")
MAP = "mmap"
# trace events tell no descriptor of them
OF_BPF = (*PIPES, MAP)
# from here on what stands for a descriptor is what was mapped before; no descriptor is as large
MAPPED_BEFORE = 2**32
# from then on names are looked up from another directory
CHANGE_DIRECTORY = "chdir"
# ... from the one that a descriptor stands for
CHANGE_TO_DESCRIPTOR = "fchdir"
# names may mean other files than outside
LEAVE_DIRECTORY = ("chroot", "pivot_root", "unshare", "setns")
# by the name of a call, which of its arguments is a path
PATHS_AT = {"open": 0, "creat": 0, CHANGE_DIRECTORY: 0, "openat": 1, "openat2": 1}
# by the name of a call, which of its arguments has the flags
FLAGS_AT = {
    "open": 1,
    "openat": 2,
    "dup3": 2,
    "socket": 1,
    "accept4": 3,
    "eventfd2": 1,
    "epoll_create1": 0,
    "timerfd_create": 1,
    "signalfd4": 3,
    "inotify_init1": 0,
    "pipe2": 1,
}
# calls with flags of their own, and some of these: RWF_DSYNC, RWF_SYNC, RWF_APPEND
FLAGGED = ("preadv2", "pwritev2")
MAKES_DURABLE, MAKES_SYNCED, APPENDS = 0x2, 0x4, 0x10
# after them a number stands for another file
COPIES = ("dup", "dup2", "dup3", "fcntl")
# commands of fcntl that make a copy: F_DUPFD, F_DUPFD_CLOEXEC
COPYING_COMMANDS = (0, 1030)
# closes descriptors from one to another
CLOSE_RANGE = "close_range"
# after them a process is another program, which has not all of its descriptors
EXECS = ("execve", "execveat")
# what threads and processes share with who started them: its descriptors, and being one process (CLONE_...)
SHARES_FILES, IS_THREAD = 0x400, 0x10000
# it has mounts of its own (CLONE_NEWNS)
HAS_OWN_MOUNTS = 0x20000
# moves the place of the next read or write
SEEK = "lseek"
# what they start is followed by itself
SUBMIT_AIO, ENTER_RING = "io_submit", "io_uring_enter"

# why calls do not count that may be of the disk
FILE_UNKNOWN = (
    "reads and writes whose file could not be told, "
    "since it was closed or its thread had ended before that was looked up"
)

_X86_64 = {
    "read": 0,
    "write": 1,
    "open": 2,
    "close": 3,
    "lseek": 8,
    "mmap": 9,
    "pread64": 17,
    "pwrite64": 18,
    "readv": 19,
    "writev": 20,
    "pipe": 22,
    "msync": 26,
    "dup": 32,
    "dup2": 33,
    "sendfile": 40,
    "socket": 41,
    "accept": 43,
    "execve": 59,
    "fcntl": 72,
    "fsync": 74,
    "fdatasync": 75,
    "chdir": 80,
    "fchdir": 81,
    "creat": 85,
    "pivot_root": 155,
    "chroot": 161,
    "sync": 162,
    "io_submit": 209,
    "openat": 257,
    "unshare": 272,
    "splice": 275,
    "sync_file_range": 277,
    "timerfd_create": 283,
    "accept4": 288,
    "signalfd4": 289,
    "eventfd2": 290,
    "epoll_create1": 291,
    "dup3": 292,
    "pipe2": 293,
    "inotify_init1": 294,
    "preadv": 295,
    "pwritev": 296,
    "syncfs": 306,
    "setns": 308,
    "execveat": 322,
    "copy_file_range": 326,
    "preadv2": 327,
    "pwritev2": 328,
    "io_uring_enter": 426,
    "pidfd_open": 434,
    "close_range": 436,
    "openat2": 437,
}
_AARCH64 = {
    "io_submit": 2,
    "eventfd2": 19,
    "epoll_create1": 20,
    "dup": 23,
    "dup3": 24,
    "fcntl": 25,
    "inotify_init1": 26,
    "pivot_root": 41,
    "chdir": 49,
    "fchdir": 50,
    "chroot": 51,
    "openat": 56,
    "close": 57,
    "pipe2": 59,
    "lseek": 62,
    "read": 63,
    "write": 64,
    "readv": 65,
    "writev": 66,
    "pread64": 67,
    "pwrite64": 68,
    "preadv": 69,
    "pwritev": 70,
    "sendfile": 71,
    "signalfd4": 74,
    "splice": 76,
    "sync": 81,
    "fsync": 82,
    "fdatasync": 83,
    "sync_file_range": 84,
    "timerfd_create": 85,
    "unshare": 97,
    "socket": 198,
    "accept": 202,
    "execve": 221,
    "mmap": 222,
    "msync": 227,
    "accept4": 242,
    "syncfs": 267,
    "setns": 268,
    "execveat": 281,
    "copy_file_range": 285,
    "preadv2": 286,
    "pwritev2": 287,
    "io_uring_enter": 426,
    "pidfd_open": 434,
    "close_range": 436,
    "openat2": 437,
}


def call_numbers(machine: str) -> Mapping[str, int]:
    """Numbers of the calls by name, for a machine as `os.uname` names it; empty where they are not known."""
    return {"x86_64": _X86_64, "aarch64": _AARCH64}.get(machine, {})
