"""The system calls that the jobs of a job file make, as strace sees them, whoever runs the job file."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_TRANSFERS = "pread64,pwrite64,preadv,pwritev,preadv2,pwritev2,io_submit"
TRACED = f"openat,{_TRANSFERS},splice,fallocate,fsync,fdatasync,sync_file_range,fadvise64,mmap,madvise"
STRACE = ("strace", "-f", "-y", "-v", "-qq", "-s0", "--seccomp-bpf", "-e", f"trace={TRACED}")
_LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (\d+|0x\w+)(?:<.*>)?$")
_UNFINISHED = re.compile(r"(\d+) +(\w+\(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"(\d+) +<\.\.\. \w+ resumed>(.*)$")
_FILE = re.compile(r"(\d+)<([^>]*)>")
_TRANSFER = re.compile(r"\d+<[^>]*>, .*, (\d+), (\d+)$")
_VECTOR = re.compile(r"\d+<[^>]*>, \[\{iov_base=.*, iov_len=(\d+)\}\], 1, (\d+)(?:, \w+)?$")
_ASYNCHRONOUS = re.compile(
    r"aio_lio_opcode=IOCB_CMD_(P\w+), .*?aio_fildes=\d+<([^>]*)>.*?aio_nbytes=(\d+), aio_offset=(\d+)"
)
_ASYNCHRONOUS_SYNC = re.compile(r"aio_lio_opcode=IOCB_CMD_(FD?SYNC), .*?aio_fildes=\d+<([^>]*)>")
_VECTORS = {"preadv": "read", "pwritev": "write", "preadv2": "read", "pwritev2": "write"}
_OPERATIONS = {"pread64": "read", "pwrite64": "write", **_VECTORS}
# from a file, or to one; what lies in a file is reserved, or given up
_FROM_FILE = re.compile(r"\d+<[^>]*>, \[(\d+)[^\]]*\], \d+<pipe:[^>]*>, NULL, (\d+), ")
_TO_FILE = re.compile(r"\d+<pipe:[^>]*>, NULL, (\d+<[^>]*>), \[(\d+)[^\]]*\], (\d+), ")
_RESERVED = re.compile(r"\d+<[^>]*>, ([^,]+), (\d+), (\d+)$")
_MODES = {"0": "write", "FALLOC_FL_KEEP_SIZE": "read", "FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE": "trim"}
_SYNCS = ("fsync", "fdatasync", "sync_file_range")
# what decides how I/O is done; the others say how the file is found
_FLAGS = ("O_DIRECT", "O_SYNC", "O_DSYNC")


@dataclass(slots=True)
class Calls:
    """What was called on one file by the threads or processes of a job.

    Attributes
    ----------
    by_process : dict of str to list of (str, int, int)
        Operation, bytes and offset of each I/O of a job, in order.
    turns : list of (int, str)
        When each I/O and sync call was made among the calls on all files, and its name.
    syncs : Counter of str
        Sync calls by name.
    drops : int
        How often the page cache was told that it may give the file up.
    hint : str
        What the kernel was told of the order, by whomever: of the file, or of its mapping.
    flags : frozenset of str
        How the file was opened for it.
    """

    by_process: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)
    turns: list[tuple[int, str]] = field(default_factory=list)
    syncs: Counter[str] = field(default_factory=Counter)
    drops: int = 0
    hint: str = ""
    flags: frozenset[str] = frozenset()

    @property
    def ios(self) -> list[tuple[str, int, int]]:
        """The I/Os of one job after those of the other."""
        return list(itertools.chain(*self.by_process.values()))

    def places(self, operation: str) -> list[tuple[int, int]]:
        """Offset and bytes of each I/O of an operation, one job after the other."""
        return [(offset, size) for name, size, offset in self.ios if name == operation]

    def sequences(self, operation: str) -> list[list[tuple[int, int]]]:
        """Offset and bytes of each I/O of an operation, for each job; jobs have no order."""
        by_job = (
            [(offset, size) for name, size, offset in ios if name == operation] for ios in self.by_process.values()
        )
        return sorted(filter(None, by_job))

    def adjacent(self, operation: str) -> int:
        """I/Os that begin where the one before of the same operation and job ends, or seem to where jobs meet."""
        places = self.places(operation)
        return sum(later[0] == sum(earlier) for earlier, later in itertools.pairwise(places))


def calls_by_file(log: Path, job_counts: Mapping[str, int], *, jobs_open: bool = True) -> dict[str, Calls]:
    """The calls on each file by its name, from what strace wrote.

    The process that was started prepares files; jobs are the others. A file
    that others come back to later was counted again, or read by another step.

    Parameters
    ----------
    log : Path
        Its output.
    job_counts : mapping of str to int
        Jobs of each file by its name.
    jobs_open : bool
        Whether jobs open their files themselves; else a thread that opens one prepares it.
    """
    found = {name: Calls() for name in job_counts}
    jobs: dict[str, dict[str, None]] = {name: {} for name in job_counts}
    first = ""
    calls = list(_on_files(log))
    opened = {(process, path) for process, call, _, path in calls if call == "openat"}
    for turn, (process, call, arguments, path) in enumerate(calls):
        first = first or process
        name = Path(path).name
        if name not in found:
            continue
        prepares = process == first or (not jobs_open and (process, path) in opened)
        if not prepares and call != "openat":
            jobs[name][process] = None
        is_first_time = len(jobs[name]) <= job_counts[name]
        if is_first_time:
            if process in jobs[name] and call in (*_OPERATIONS, "aio", *_SYNCS):
                found[name].turns.append((turn, call))
            _add(found[name], call, arguments, process if process in jobs[name] else "")
    return found


def _add(calls: Calls, call: str, arguments: str, job: str) -> None:
    """Count a call; `job` is the process of a job, and empty of any other."""
    last = arguments.rpartition("_")[2].lower()
    if call == "openat" and not calls.by_process:
        calls.flags = frozenset(_FLAGS) & set(re.split(r"[,| ]+", arguments))
    elif call in ("fadvise64", "madvise") and last in ("random", "sequential"):
        calls.hint = last
    if not job:
        return
    ios = calls.by_process.setdefault(job, [])
    if call in _OPERATIONS:
        pattern = _VECTOR if call in _VECTORS else _TRANSFER
        if match := pattern.match(arguments):
            ios.append((_OPERATIONS[call], int(match[1]), int(match[2])))
    elif call == "splice":
        if match := _FROM_FILE.match(arguments):
            ios.append(("read", int(match[2]), int(match[1])))
        elif match := _TO_FILE.match(arguments):
            ios.append(("write", int(match[3]), int(match[2])))
    elif call == "fallocate":
        if match := _RESERVED.match(arguments):
            ios.append((_MODES[match[1]], int(match[3]), int(match[2])))
    elif call == "aio":
        operation, size, offset = arguments.split()
        ios.append((operation, int(size), int(offset)))
    elif call in _SYNCS:
        calls.syncs[call] += 1
    elif call == "fadvise64":
        calls.drops += last == "dontneed"


def _on_files(log: Path) -> Iterator[tuple[str, str, str, str]]:
    """Process, call, arguments and path of each call that worked; a mapping has the path of its file."""
    mapped: dict[str, str] = {}
    for process, call, arguments, answer in _whole_lines(log):
        if call == "io_submit":
            for operation, path, size, offset in _ASYNCHRONOUS.findall(arguments):
                yield process, "aio", f"{operation[1:].lower()} {size} {offset}", path
            for operation, path in _ASYNCHRONOUS_SYNC.findall(arguments):
                yield process, "fsync" if operation == "FSYNC" else "fdatasync", "", path
        elif call == "openat":
            if match := _FILE.match(answer):
                yield process, call, arguments, match[2]
        elif call == "mmap":
            if match := _FILE.search(arguments):
                mapped[answer] = match[2]
        elif call == "madvise":
            if path := mapped.get(arguments.partition(",")[0]):
                yield process, call, arguments, path
        elif call == "splice" and (match := _TO_FILE.match(arguments)):
            yield process, call, arguments, match[1].partition("<")[2].rstrip(">")
        elif match := _FILE.match(arguments):
            yield process, call, arguments, match[2]


def _whole_lines(log: Path) -> Iterator[tuple[str, str, str, str]]:
    """Process, call, arguments and answer; calls that others interrupted are put together."""
    begun: dict[str, str] = {}
    for line in log.read_text().splitlines():
        if unfinished := _UNFINISHED.match(line):
            begun[unfinished[1]] = unfinished[2]
            continue
        if resumed := _RESUMED.match(line):
            line = f"{resumed[1]} {begun.pop(resumed[1], '')}{resumed[2]}"
        if match := _LINE.match(line):
            yield match[1], match[2], match[3], line.rpartition(" = ")[2]
