"""Reads what iostat -x and sar -d print: the kernel's counters of each block device, whoever issued the I/O.

They are no result of a program: nothing tells what was asked for, a mean latency is that of the block layer
(from a request's making to its end), and quantiles are not to be had.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from drivelab.interop.foreign import ForeignFile, ForeignTrial, SourceText, broken_line, nothing_in, number_of, told
from drivelab.model.estimate import Estimate
from drivelab.model.names import counted
from drivelab.model.workload import TargetRange, Workload

# by operation: its rate, its bytes a second with what one of them is, its mean time in ms
_RATES = {"read": "r/s", "write": "w/s", "trim": "d/s", "mixed": "tps"}
_BYTES = {
    "read": {"rkB/s": 1024, "rMB/s": 2**20, "rsec/s": 512},
    "write": {"wkB/s": 1024, "wMB/s": 2**20, "wsec/s": 512},
    "trim": {"dkB/s": 1024, "dMB/s": 2**20, "dsec/s": 512},
    "mixed": {"rkB/s": 1024, "wkB/s": 1024, "rd_sec/s": 512, "wr_sec/s": 512},
}
_TIMES = {"read": "r_await", "write": "w_await", "trim": "d_await", "mixed": "await"}
_HEADER = re.compile(r"^(?:[\d:]+(?: [AP]M)?\s+)?(Device:?|DEV)\s+(.*(?:r/s|tps)\b.*)$")
_STAMP = re.compile(r"\d\d:\d\d:\d\d(?: [AP]M)?\s")
_WHEN = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[T ]\d\d:\d\d:\d\d\S*(?: [AP]M)?")
_AVERAGE = "Average:"
_NOTES = (
    "counters of the kernel: all I/O of a device, whoever issued it; what was asked for is not known",
    "mean latencies are those of the block layer, and quantiles are not to be had",
)


@dataclass(slots=True)
class _Device:
    """The numbers of a device in each report, by column."""

    line: int
    reports: list[tuple[int, dict[str, float]]] = field(default_factory=list)


def is_report(text: str) -> bool:
    """Whether a text has a table of iostat -x or sar -d."""
    return any(_HEADER.match(line.strip()) for line in text.splitlines())


def read_results(source: SourceText) -> ForeignFile:
    """The means of each device over all reports but those that tell of the time since the boot.

    Raises
    ------
    DrivelabError
        I503, I504: a number or a line that cannot be read. I505: no device.
    """
    is_sar = re.search(r"^\S*.*\bDEV\s+tps\b", source.text, re.MULTILINE) is not None
    devices: dict[str, _Device] = {}
    report_count = 0
    for report, line, _, name, row in rows_of(source):
        report_count = max(report_count, report + 1)
        devices.setdefault(name, _Device(line)).reports.append((report, row))
    notes = list(_NOTES)
    first = 1 if not is_sar and report_count > 1 else 0
    if not is_sar:
        notes.append(
            "the first report is of the time since the boot, and is left out: iostat -y leaves it out itself"
            if first
            else "a single report of iostat is of the time since the boot, unless iostat -y wrote it"
        )
    program, count = "sar" if is_sar else "iostat", report_count - first
    trials = [trial for name, device in devices.items() for trial in _trials(name, device, first, count, program)]
    if not trials:
        raise nothing_in(source, "sysstat")
    version = re.search(r"sysstat version (\S+)", source.text)
    return ForeignFile(source, "sysstat", version[1] if version else "", tuple(trials), tuple(notes))


def rows_of(source: SourceText) -> Iterator[tuple[int, int, str, str, dict[str, float]]]:
    """Number of the report, line, what is printed of its time, device, and its numbers by column.

    Raises
    ------
    DrivelabError
        I503, I504: a number or a line that cannot be read.
    """
    columns: Sequence[str] = ()
    report, begins, last, when = -1, False, "", ""
    lines = source.text.splitlines()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if match := _HEADER.match(text):
            columns, begins = match[2].split(), True
        elif not text:
            columns = ()
        elif _WHEN.fullmatch(text):
            columns, when = (), text
        elif columns and not text.startswith(_AVERAGE):
            stamp = _STAMP.match(text)
            time = stamp[0] if stamp else ""
            report += time != last or (begins and not time)
            begins, last = False, time
            words = text.removeprefix(time).split()
            if len(words) <= len(columns) and number == len(lines) and not source.text.endswith("\n"):
                # it is still written
                return
            if len(words) != len(columns) + 1:
                raise broken_line(f"{text[:60]!r} has not one number for each column", source, number)
            cells = zip(columns, words[1:], strict=True)
            values = {name: number_of(cell.replace(",", "."), source, number, name) for name, cell in cells}
            yield report, number, time.strip() or when, words[0], values


def _trials(name: str, device: _Device, first: int, count: int, program: str) -> Iterator[ForeignTrial]:
    """Reads, writes and so on of a device; in reports that leave it out it was idle."""
    rows = [row for report, row in device.reports if report >= first]
    for operation, rate in _RATES.items():
        if not sum(row.get(rate, 0) for row in rows):
            continue
        yield ForeignTrial(
            workload=f"{program}-{operation}",
            title=f"{'I/O' if operation == 'mixed' else operation + 's'} of a device, by {program}",
            operation=operation,
            known=Workload(target=TargetRange(path=f"/dev/{name}")),
            estimates=_estimates(rows, count, operation, rate),
            line=device.line,
            drive=name[:80],
        )


def _estimates(rows: Sequence[Mapping[str, float]], count: int, operation: str, rate: str) -> dict[str, Estimate]:
    method = f"mean of {counted(count, 'report')}"
    found = {"iops": told(sum(row[rate] for row in rows) / count, "1/s", method, count)}
    columns = {column: factor for column, factor in _BYTES[operation].items() if column in rows[0]}
    if columns:
        moved = sum(row[column] * factor for row in rows for column, factor in columns.items()) / count
        found["throughput_bytes_per_s"] = told(moved, "B/s", method, count)
    if _TIMES[operation] in rows[0]:
        # of all I/Os, and not of reports
        spent_ms = sum(row[_TIMES[operation]] * row[rate] for row in rows) / sum(row[rate] for row in rows)
        found["total_latency_ns_mean"] = told(spent_ms * 1e6, "ns", "await, each report by its rate", count)
    return found
