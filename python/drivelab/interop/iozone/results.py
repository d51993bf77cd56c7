"""Reads what IOzone prints: its table, by the column positions of the header, and its report for spreadsheets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from drivelab.interop.foreign import (
    ForeignFile,
    ForeignTrial,
    SourceText,
    broken_line,
    nothing_in,
    size_level,
    told,
    whole_number_of,
)
from drivelab.interop.iozone.flags import durability_of, flags_of
from drivelab.interop.iozone.tests import BY_COLUMN, BY_REPORT, IozoneTest
from drivelab.model.estimate import Estimate
from drivelab.model.workload import Access, BlockSizeShare, OperationShare, TargetRange, Workload

Unit = Literal["kB/s", "us", "ops/s"]
_HEADER = re.compile(r"\s*[kK]B\s+reclen\s+\S")
_HEADER_WORDS = ("kb", "reclen", *(test.head for test in BY_COLUMN))
_ROW = re.compile(r"\s*\d+\s+\d+(\s+\d+)*\s*")
_REPORT = re.compile(r'\s*"([A-Za-z][A-Za-z -]{0,40}) report"\s*', re.IGNORECASE)
_SIZES = re.compile(r'\s*("\d+"\s*)+')
_REPORT_ROW = re.compile(r'\s*"(\d+)"((?:\s+\d+)*)\s*')
# a number may stand this many characters away from the end of its head
_SLIP = 3
_KB = 1024
_LARGEST_BLOCK = 2**30


@dataclass(frozen=True, slots=True)
class _Cell:
    """A number of the table or a report, and its line."""

    value: int
    line: int


@dataclass(slots=True)
class _Found:
    """What the lines of a file hold; places are (test, kB of the file, kB of a record)."""

    source: SourceText
    unit: Unit = "kB/s"
    command: str = ""
    version: str = ""
    began: str = ""
    flags: set[str] = field(default_factory=set)
    # one mapping for each run of IOzone in the file
    cells: list[dict[tuple[str, int, int], _Cell]] = field(default_factory=list)
    skipped: dict[str, None] = field(default_factory=dict)
    zeros: set[tuple[str, int, int]] = field(default_factory=set)


def read_results(source: SourceText) -> ForeignFile:
    """The results that IOzone printed.

    Parameters
    ----------
    source : SourceText
        Its table, the report of ``-R``, or both.

    Raises
    ------
    DrivelabError
        I503, I504: a field or line that cannot be read. I505: no results.
    """
    found = _Found(source)
    lines = source.text.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        _remember(found, line)
        if _HEADER.match(line):
            number = _read_table(found, lines, number)
        elif match := _REPORT.fullmatch(line):
            number = _read_report(found, lines, number, match[1])
        else:
            number += 1
    trials = tuple(_trial(found, place, cell) for run in found.cells for place, cell in run.items())
    if not trials:
        raise nothing_in(source, "iozone")
    return ForeignFile(source, "iozone", found.version, trials, tuple(_notes(found)), found.began)


def _remember(found: _Found, line: str) -> None:
    """What a line outside of the table and the reports says of the whole run."""
    lower = line.strip().lower()
    if match := re.match(r"version \$revision: ([\d.]{1,12})", lower):
        found.version = match[1]
    elif lower.startswith("command line used:"):
        found.command = line.partition(":")[2].strip()[:400]
        found.flags |= flags_of(found.command)
    elif lower.startswith("run began:"):
        found.began = line.partition(":")[2].strip()[:40]
    elif "microseconds per op" in lower:
        found.unit = "us"
    elif "operations per sec" in lower:
        found.unit = "ops/s"
    elif lower.startswith("o_direct feature enabled"):
        found.flags.add("I")
    elif lower.startswith("include fsync in write timing"):
        found.flags.add("e")
    elif lower.startswith("sync mode"):
        found.flags.add("o")


def _read_table(found: _Found, lines: Sequence[str], header: int) -> int:
    """Read the rows below a header; the place of the first line behind them."""
    heads = list(re.finditer(r"\S+", lines[header]))
    words = [head[0].lower() for head in heads]
    if tuple(words) != _HEADER_WORDS[: len(words)] or len(words) < 3:
        unknown = next(
            (word for word, known in zip(words, (*_HEADER_WORDS, "", ""), strict=False) if word != known), ""
        )
        raise broken_line(f"column {unknown[:20]!r} is none that IOzone prints there", found.source, header + 1)
    ends = [head.end() for head in heads]
    cells: dict[tuple[str, int, int], _Cell] = {}
    found.cells.append(cells)
    number = header + 1
    while number < len(lines):
        line = lines[number]
        if line.strip() and not _ROW.fullmatch(line):
            if re.match(r"\s*\d+\s+\d+\s", line):
                raise broken_line(f"{line.strip()[:60]!r} is no row of the table", found.source, number + 1)
            break
        if line.strip():
            _read_row(found, cells, line, number + 1, ends)
        number += 1
    return number


def _read_row(
    found: _Found, cells: dict[tuple[str, int, int], _Cell], line: str, number: int, ends: Sequence[int]
) -> None:
    numbers = list(re.finditer(r"\d+", line))
    source = found.source
    if len(numbers) == len(ends):
        # nothing is blank: wide numbers may push the others aside
        columns = list(range(len(ends)))
    else:
        shift = numbers[1].end() - ends[1]
        columns = [0, 1]
        for one in numbers[2:]:
            column = min(range(len(ends)), key=lambda place: abs(ends[place] + shift - one.end()))
            if column <= columns[-1] or abs(ends[column] + shift - one.end()) > _SLIP:
                raise broken_line(f"{one[0][:20]} stands below no head of the table", source, number)
            columns.append(column)
    file_kb = whole_number_of(numbers[0][0], source, number, "column kB", least=1)
    record_kb = whole_number_of(numbers[1][0], source, number, "column reclen", least=1)
    for column, one in zip(columns[2:], numbers[2:], strict=True):
        test = BY_COLUMN[column - 2]
        value = whole_number_of(one[0], source, number, f"column {test.workload}")
        _keep(found, cells, (test.workload, file_kb, record_kb), _Cell(value, number))


def _read_report(found: _Found, lines: Sequence[str], title: int, name: str) -> int:
    """Read a report of a test; the place of the first line behind it."""
    source = found.source
    test = BY_REPORT.get(" ".join(name.lower().split()))
    number = title + 1
    while number < len(lines) and not lines[number].strip():
        number += 1
    if number == len(lines) or not _SIZES.fullmatch(lines[number]):
        raise broken_line(
            f"no sizes of records stand below the title {name!r}", source, min(number, len(lines) - 1) + 1
        )
    sizes = re.findall(r'"(\d+)"', lines[number])
    records = [whole_number_of(text, source, number + 1, "size of a record", least=1) for text in sizes]
    if not found.cells:
        found.cells.append({})
    number += 1
    while number < len(lines) and lines[number].strip():
        row = _REPORT_ROW.fullmatch(lines[number])
        if row is None:
            if lines[number].lstrip().startswith('"') and not _REPORT.fullmatch(lines[number]):
                raise broken_line(f"{lines[number].strip()[:60]!r} is no row of a report", source, number + 1)
            break
        values = row[2].split()
        if len(values) > len(records):
            raise broken_line(f"{len(values)} numbers where there are {len(records)} sizes", source, number + 1)
        file_kb = whole_number_of(row[1], source, number + 1, "size of the file", least=1)
        for record_kb, text in zip(records, values, strict=False):
            value = whole_number_of(text, source, number + 1, f"record of {record_kb} kB")
            if test is None:
                found.skipped[name] = None
            else:
                _keep(found, found.cells[-1], (test.workload, file_kb, record_kb), _Cell(value, number + 1))
        number += 1
    return number


def _keep(found: _Found, cells: dict[tuple[str, int, int], _Cell], place: tuple[str, int, int], cell: _Cell) -> None:
    """Of what stands in the table and in a report the table counts; they are the same numbers."""
    if cell.value == 0:
        found.zeros.add(place)
    else:
        cells.setdefault(place, cell)


def _trial(found: _Found, place: tuple[str, int, int], cell: _Cell) -> ForeignTrial:
    workload, file_kb, record_kb = place
    test = next(test for test in (*BY_COLUMN, *BY_REPORT.values()) if test.workload == workload)
    file_bytes, record_bytes = file_kb * _KB, record_kb * _KB
    return ForeignTrial(
        workload=workload,
        title=test.title,
        operation=test.operation,
        known=_known(found, test, file_bytes, record_bytes),
        estimates=_estimates(found.unit, cell.value, record_bytes),
        line=cell.line,
        parameters={"file_size": size_level(file_bytes), "block_size": size_level(record_bytes)},
        factors=("file_size", "block_size"),
        backend=test.backend if not {"B"} & found.flags else "mmap",
        is_direct="I" in found.flags if found.command else None,
        details={"command": found.command} if found.command else {},
    )


def _estimates(unit: Unit, value: int, record_bytes: int) -> dict[str, Estimate]:
    if unit == "us":
        method = "as printed, in whole microseconds per operation"
        per_s = 1e6 / value
        return {
            "total_latency_ns_mean": told(value * 1000, "ns", method),
            "iops": told(per_s, "1/s", f"one over the mean: {method}"),
            "throughput_bytes_per_s": told(per_s * record_bytes, "B/s", f"record over the mean: {method}"),
        }
    per_s = value if unit == "ops/s" else value * _KB / record_bytes
    method = "as printed, in operations per s" if unit == "ops/s" else "as printed, in kB of 1024 bytes per s"
    return {
        "throughput_bytes_per_s": told(per_s * record_bytes, "B/s", method),
        "iops": told(per_s, "1/s", f"{method}; one record is one operation"),
    }


def _known(found: _Found, test: IozoneTest, file_bytes: int, record_bytes: int) -> Workload:
    fields: dict[str, Any] = {
        "target": TargetRange(path="", size_bytes=file_bytes),
        "operations": (OperationShare(operation=test.operation),),
        "access": Access(kind=test.access),
        "backend": "mmap" if "B" in found.flags else test.backend,
        "queue_depth": 1,
        "job_count": 1,
    }
    if record_bytes <= _LARGEST_BLOCK:
        fields["block_sizes"] = (BlockSizeShare(bytes=record_bytes),)
    if found.command:
        fields["direct"] = "I" in found.flags
        fields["durability"] = durability_of(found.flags, test.operation)
    return Workload(**fields)


def _notes(found: _Found) -> Iterator[str]:
    units: Mapping[Unit, str] = {
        "kB/s": "kB of 1024 bytes per s",
        "us": "microseconds per operation",
        "ops/s": "operations per s",
    }
    yield f"numbers are {units[found.unit]}"
    if found.zeros:
        yield f"a zero is a combination that IOzone did not measure: {len(found.zeros)} of them are left out"
    if found.skipped:
        yield f"reports that are not taken over: {', '.join(list(found.skipped)[:12])}"
    if not found.command:
        missing = "the command line does not stand in the file"
        yield f"{missing}: whether writes were flushed, or the page cache bypassed, is not known"
    elif "e" not in found.flags and "o" not in found.flags and "I" not in found.flags:
        yield "nothing was flushed (no -e, -o or -I): numbers of small files are those of the page cache"
