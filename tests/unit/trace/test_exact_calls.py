"""Calls as columns come to what the same calls come to one at a time, to the last digit."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from drivelab.model.system_calls import IS_THREAD, call_numbers
from drivelab.run.following.seen_file import SeenFile
from drivelab.trace import operations_of_calls as module
from drivelab.trace.operations_of_calls import operations_of_calls
from unit.trace.exact_calls import exact_operations

NUMBERS = call_numbers("x86_64")
DISK = frozenset({"7:0"})
FIRST = 100
# the two last are no file, and a file elsewhere
PATHS = [("/a", "7:0"), ("/b", "7:0"), ("/log", "7:0"), ("pipe:[1]", ""), ("/elsewhere", "8:0")]
CALLS = (
    *("write", "write", "read", "pwrite64", "pread64", "fdatasync", "lseek"),
    *("openat", "close", "dup", "dup2", "dup3", "fcntl", "execve", "close_range", "fork"),
)


class Made:
    """Calls, forks and looks at descriptors, by chance."""

    def __init__(self, seed: int, count: int) -> None:
        self.random = random.Random(seed)
        self.processes = [FIRST]
        self.rows: list[dict[str, Any]] = []
        self.files: list[SeenFile] = []
        for at in range(count):
            self._call(100 * at)
            if self.random.random() < 0.1:
                self._look(100 * at + 50)

    def _call(self, start_ns: int) -> None:
        call, process = self.random.choice(CALLS), self.random.choice(self.processes)
        row = {"call": call, "process": process, "start_ns": start_ns, "end_ns": start_ns + 10, "result": 0}
        arguments = [self.random.randrange(3, 7), 0, 0, 0]
        if call in ("write", "read", "pwrite64", "pread64"):
            row["result"] = self.random.choice([-5, 0, 10, 100, 512])
            arguments[3] = 100 * self.random.randrange(10)
        elif call == "lseek":
            row["result"] = 1000 * self.random.randrange(5)
        elif call == "openat":
            row["result"] = self.random.choice([-2, 3, 4, 5, 6])
            arguments[2] = self.random.choice([0, 0o2001, 0o1001]) | self.random.choice([0, 0o2000000])
        elif call in ("dup", "dup2", "dup3"):
            row["result"] = self.random.randrange(3, 7)
            arguments[2] = self.random.choice([0, 0o2000000])
        elif call == "fcntl":
            arguments[1] = self.random.choice([0, 1030, 2, 3])
            arguments[2] = self.random.randrange(2)
            row["result"] = self.random.randrange(3, 7) if arguments[1] in (0, 1030) else 0
        elif call == "close_range":
            arguments[1], arguments[2] = self.random.randrange(3, 7), self.random.choice([0, 4])
        elif call == "fork":
            row |= {"child": FIRST + len(self.processes), "flags": self.random.choice([17, 17, 17, 0x400])}
            self.processes.append(row["child"])
        self.rows.append({**row, **{f"argument_{place}": value for place, value in enumerate(arguments)}})

    def _look(self, now_ns: int) -> None:
        path, device = self.random.choice(PATHS)
        process, descriptor = self.random.choice(self.processes), self.random.randrange(3, 7)
        file = SeenFile(process, descriptor, path, device, self.random.random() < 0.3, True, now_ns, now_ns)
        file.last_ns += 100 * self.random.choice([0, 0, 3, 10])
        file.is_append, file.is_closed_on_exec = path == "/log", self.random.random() < 0.5
        file.size_bytes, file.position_bytes = self.random.choice([0, 700, 4096]), 10 * self.random.randrange(9)
        self.files.append(file)


@pytest.mark.parametrize("seed", range(20))
def test_calls_as_columns_are_the_calls_one_at_a_time(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # in several pieces
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 37)
    made = Made(seed, 250)
    calls = [row for row in made.rows if row["call"] != "fork"]
    threads = {process: process + 1000 for process in made.processes}
    recorded = [
        {"thread": threads[row["process"]], "number": NUMBERS[row["call"]], "is_doubtful": False}
        | {name: row[name] for name in row if name not in ("call", "process")}
        for row in calls
    ]
    forks = [row for row in made.rows if row["call"] == "fork"]
    started = pa.table(
        {
            "parent": [threads[row["process"]] for row in forks] + [FIRST],
            "child": [row["child"] for row in forks] + [threads[FIRST]],
            "time_ns": [row["start_ns"] for row in forks] + [0],
            "flags": [row["flags"] for row in forks] + [IS_THREAD],
        }
    )
    processes = {thread: process for process, thread in threads.items()}
    found = operations_of_calls(pa.Table.from_pylist(recorded), NUMBERS, made.files, DISK, processes, forks=started)
    operations, left_out, sizes = exact_operations(made.rows, made.files, DISK)
    names = ("start_ns", "operation", "size_bytes", "offset_bytes")
    told = [
        {name: operation[name] for name in names}
        | {name: row[name] for name in ("call", "process", "file", "is_placed")}
        for operation, row in zip(found.operations.to_pylist(), found.calls.to_pylist(), strict=True)
    ]
    assert told == operations
    assert found.left_out == left_out
    assert found.sizes == sizes
    assert {row["file"] for row in told} - {""}
