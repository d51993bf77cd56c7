"""The tests of IOzone: how its table and its reports call them, and the workloads that they are here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drivelab.model.workload import AccessKind, BackendName


@dataclass(frozen=True, slots=True)
class IozoneTest:
    """A test of IOzone.

    Attributes
    ----------
    head : str
        The last word of its head in the table; empty where it has no column.
    report : str
        Its title in the report, in lower case, without the word report.
    workload, title : str
        Name of the workload, and what it is for people.
    operation : str
        read or write.
    """

    head: str
    report: str
    workload: str
    title: str
    operation: Literal["read", "write"]
    access: AccessKind = "sequential"
    backend: BackendName = "sync"


# in the order of the table
BY_COLUMN = (
    IozoneTest("write", "writer", "write", "write a new file", "write"),
    IozoneTest("rewrite", "re-writer", "rewrite", "write over a file", "write"),
    IozoneTest("read", "reader", "read", "read", "read"),
    IozoneTest("reread", "re-reader", "reread", "read again", "read"),
    IozoneTest("read", "random read", "random-read", "random read", "read", "random"),
    IozoneTest("write", "random write", "random-write", "random write", "write", "random"),
    IozoneTest("read", "backward read", "backward-read", "read backwards", "read", "reverse"),
    IozoneTest("rewrite", "record rewrite", "record-rewrite", "write one record again and again", "write", "same"),
    IozoneTest("read", "stride read", "strided-read", "read with gaps", "read", "strided"),
    IozoneTest("fwrite", "fwrite", "stdio-write", "fwrite a new file", "write", backend="stdio"),
    IozoneTest("frewrite", "re-fwrite", "stdio-rewrite", "fwrite over a file", "write", backend="stdio"),
    IozoneTest("fread", "fread", "stdio-read", "fread", "read", backend="stdio"),
    IozoneTest("freread", "re-fread", "stdio-reread", "fread again", "read", backend="stdio"),
)
_MORE = (
    IozoneTest("", "pwrite", "pwrite", "pwrite a new file", "write"),
    IozoneTest("", "re-pwrite", "pwrite-again", "pwrite over a file", "write"),
    IozoneTest("", "pread", "pread", "pread", "read"),
    IozoneTest("", "re-pread", "pread-again", "pread again", "read"),
)
BY_REPORT = {test.report: test for test in (*BY_COLUMN, *_MORE)}
