"""Reads what IOzone prints in its throughput mode (``-t``): what several processes reached together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from drivelab.interop.foreign import (
    ForeignFile,
    ForeignTrial,
    SourceText,
    nothing_in,
    number_of,
    size_level,
    told,
    whole_number_of,
)
from drivelab.interop.iozone.flags import durability_of, flags_of
from drivelab.interop.iozone.tests import BY_REPORT, IozoneTest
from drivelab.model.estimate import Estimate
from drivelab.model.workload import Access, BlockSizeShare, OperationShare, TargetRange, Workload

_MODE = re.compile(r"throughput report y-axis|^\W*children see throughput", re.IGNORECASE | re.MULTILINE)
_SUM = re.compile(
    r"\W*(?P<who>children see|parent sees) throughput for\s+(?P<count>\d{1,6})\s+(?P<test>[a-z -]+?)\s*=\s*"
    r"(?P<rate>[^\s/]{1,40})\s*(?P<unit>kB|ops)/sec\s*",
    re.IGNORECASE,
)
_RECORD = re.compile(r"\W*Each process writes a (\d{1,15}) kBytes? file in (\d{1,15}) kBytes? records", re.IGNORECASE)
_COMMAND = re.compile(r"\W*Command line used:(.{1,400})", re.IGNORECASE)
_VERSION = re.compile(r"\W*Version \$Revision: ([\d.]{1,12})", re.IGNORECASE)
# as it calls its processes, and the same tests in its reports
_TESTS = {
    "initial writers": "writer",
    "rewriters": "re-writer",
    "readers": "reader",
    "re-readers": "re-reader",
    "reverse readers": "backward read",
    "stride readers": "stride read",
    "random readers": "random read",
    "random writers": "random write",
    "pwrite writers": "pwrite",
    "pread readers": "pread",
    "fwriters": "fwrite",
    "freaders": "fread",
}
_KB = 1024
_JOBS_MAX = 1024
_LARGEST_BLOCK = 2**30


@dataclass(slots=True)
class _Run:
    """What a file says of all of its results."""

    command: str = ""
    version: str = ""
    file_bytes: int = 0
    record_bytes: int = 0
    skipped: dict[str, None] = field(default_factory=dict)


def is_throughput(text: str) -> bool:
    """Whether a text holds results of the throughput mode."""
    return _MODE.search(text) is not None


def read_throughput(source: SourceText) -> ForeignFile:
    """What the processes of IOzone's throughput mode reached together.

    Parameters
    ----------
    source : SourceText
        What it printed; also single lines of it.

    Raises
    ------
    DrivelabError
        I503: a field that cannot be read. I505: no results.
    """
    run = _Run()
    trials = list(_trials(source, run))
    if not trials:
        raise nothing_in(source, "iozone")
    return ForeignFile(source, "iozone", run.version, tuple(trials), tuple(_notes(run)))


def _trials(source: SourceText, run: _Run) -> Iterator[ForeignTrial]:
    waiting: ForeignTrial | None = None
    for number, line in enumerate(source.text.splitlines(), start=1):
        if match := _SUM.fullmatch(line):
            if match["who"].lower().startswith("parent"):
                if waiting is not None:
                    rate = number_of(match["rate"], source, number, "what the parent sees")
                    told_by_parent = {"parent": f"{rate:g} {match['unit']}/s"}
                    waiting = replace(waiting, details={**waiting.details, **told_by_parent})
                continue
            if waiting is not None:
                yield waiting
            waiting = _trial(source, number, match, run)
        elif match := _RECORD.match(line):
            run.file_bytes, run.record_bytes = int(match[1]) * _KB, int(match[2]) * _KB
        elif match := _COMMAND.match(line):
            run.command = match[1].strip()
        elif match := _VERSION.match(line):
            run.version = match[1]
    if waiting is not None:
        yield waiting


def _trial(source: SourceText, number: int, match: re.Match[str], run: _Run) -> ForeignTrial | None:
    name = " ".join(match["test"].lower().split())
    test = BY_REPORT.get(_TESTS.get(name, ""))
    if test is None:
        run.skipped[name] = None
        return None
    rate = number_of(match["rate"], source, number, "what the children see")
    jobs = whole_number_of(match["count"], source, number, "number of processes", least=1)
    flags = flags_of(run.command)
    sizes = {"file_size": run.file_bytes, "block_size": run.record_bytes}
    return ForeignTrial(
        workload=test.workload,
        title=test.title,
        operation=test.operation,
        known=_known(test, jobs, run, flags),
        estimates=_estimates(rate, match["unit"].lower(), run.record_bytes),
        line=number,
        parameters={"processes": str(jobs)} | {key: size_level(size) for key, size in sizes.items() if size},
        factors=("processes",),
        backend="mmap" if "B" in flags else test.backend,
        is_direct="I" in flags if run.command else None,
        details={"command": run.command} if run.command else {},
    )


def _estimates(rate: float, unit: str, record_bytes: int) -> dict[str, Estimate]:
    method = "sum of what each process reached, as printed"
    if unit == "ops":
        found = {"iops": told(rate, "1/s", method)}
        return found | ({"throughput_bytes_per_s": told(rate * record_bytes, "B/s", method)} if record_bytes else {})
    found = {"throughput_bytes_per_s": told(rate * _KB, "B/s", f"{method}, in kB of 1024 bytes per s")}
    return found | ({"iops": told(rate * _KB / record_bytes, "1/s", method)} if record_bytes else {})


def _known(test: IozoneTest, jobs: int, run: _Run, flags: set[str]) -> Workload:
    fields: dict[str, Any] = {
        "target": TargetRange(path="", size_bytes=run.file_bytes),
        "operations": (OperationShare(operation=test.operation),),
        "access": Access(kind=test.access),
        "backend": "mmap" if "B" in flags else test.backend,
        "queue_depth": 1,
        "job_count": min(jobs, _JOBS_MAX),
    }
    if 0 < run.record_bytes <= _LARGEST_BLOCK:
        fields["block_sizes"] = (BlockSizeShare(bytes=run.record_bytes),)
    if run.command:
        fields |= {"direct": "I" in flags, "durability": durability_of(flags, test.operation)}
    return Workload(**fields)


def _notes(run: _Run) -> Iterator[str]:
    yield (
        "a rate is the sum of those of all processes (Children see), each over its own time; over the time from the "
        "first start to the last end it is what the parent sees, which is kept beside it"
    )
    if not run.record_bytes:
        yield "the size of a record does not stand in the file: rates have no IOPS"
    if not run.command:
        yield "the command line does not stand in the file: whether writes were flushed is not known"
    elif not {"e", "o", "I"} & flags_of(run.command):
        yield "nothing was flushed (no -e, -o or -I): numbers of small files are those of the page cache"
    if run.skipped:
        yield f"results that are not taken over: {', '.join(list(run.skipped)[:12])}"
