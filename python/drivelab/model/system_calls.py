"""The system calls that a followed program is watched for, with the kernel's numbers of them."""

from __future__ import annotations

from collections.abc import Mapping

READS = ("read", "pread64", "readv", "preadv", "preadv2")
WRITES = ("write", "pwrite64", "writev", "pwritev", "pwritev2")
SYNCS = ("fsync", "fdatasync", "sync_file_range", "msync", "syncfs")
OPENS = ("open", "creat", "openat", "openat2")
# after them a number stands for another file
COPIES = ("dup", "dup2", "dup3", "fcntl")
# commands of fcntl that make a copy: F_DUPFD, F_DUPFD_CLOEXEC
COPYING_COMMANDS = (0, 1030)
# what they start is not followed, only counted
ASYNCHRONOUS = ("io_submit", "io_uring_enter")

_X86_64 = {
    "read": 0,
    "write": 1,
    "open": 2,
    "close": 3,
    "pread64": 17,
    "pwrite64": 18,
    "readv": 19,
    "writev": 20,
    "msync": 26,
    "dup": 32,
    "dup2": 33,
    "fcntl": 72,
    "fsync": 74,
    "fdatasync": 75,
    "creat": 85,
    "io_submit": 209,
    "openat": 257,
    "sync_file_range": 277,
    "dup3": 292,
    "preadv": 295,
    "pwritev": 296,
    "syncfs": 306,
    "preadv2": 327,
    "pwritev2": 328,
    "io_uring_enter": 426,
    "openat2": 437,
}
_AARCH64 = {
    "io_submit": 2,
    "dup": 23,
    "dup3": 24,
    "fcntl": 25,
    "openat": 56,
    "close": 57,
    "read": 63,
    "write": 64,
    "readv": 65,
    "writev": 66,
    "pread64": 67,
    "pwrite64": 68,
    "preadv": 69,
    "pwritev": 70,
    "fsync": 82,
    "fdatasync": 83,
    "sync_file_range": 84,
    "msync": 227,
    "syncfs": 267,
    "preadv2": 286,
    "pwritev2": 287,
    "io_uring_enter": 426,
    "openat2": 437,
}


def call_numbers(machine: str) -> Mapping[str, int]:
    """Numbers of the calls by name, for a machine as `os.uname` names it; empty where they are not known."""
    return {"x86_64": _X86_64, "aarch64": _AARCH64}.get(machine, {})
