"""Reads the lines of comma-separated values that bonnie++ prints, formats 1.03 and 1.96 to 1.98.

Fields are known by their place: the header that bonnie++ prints leaves out two columns of format 1.98.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from drivelab.interop.bonnie.fields import (
    FIELDS,
    FILES_PER_UNIT,
    FORMATS,
    OLD_FIELDS,
    OLD_SEEK_PROCESSES,
    OLD_VERSION,
    PHASES,
    SEEK_FIELDS,
    SEEKS_WRITTEN_BACK,
    Phase,
)
from drivelab.interop.foreign import (
    ForeignFile,
    ForeignTrial,
    SourceText,
    broken_field,
    broken_line,
    nothing_in,
    number_of,
    told,
    whole_number_of,
)
from drivelab.model.contents import Contents
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.workload import Access, BlockSizeShare, OperationShare, TargetRange, Workload

_LATENCY = re.compile(r"(\d{1,18})(us|ms|s)")
_UNITS_NS = {"us": 10**3, "ms": 10**6, "s": 10**9}
_SIZE = re.compile(r"(\d{1,12})([kKmMgGtT]?)")
# files, and where they are not empty their sizes and directories: 16:10000:10/4
_OLD_FILES = re.compile(r"(\d*)(?::(\w+)(?::(\d+))?)?(?:/(\d+))?")
# a phase of less than half a second: bonnie++ prints no number
_TOO_SHORT = re.compile(r"\+{3,9}")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of results, and its fields by their names."""

    source: SourceText
    number: int
    fields: Mapping[str, str]

    def broken(self, what: str, name: str) -> DrivelabError:
        return broken_field(what, self.source, self.number, f"column {name}")

    def size_bytes(self, name: str) -> int | None:
        """A size with its suffix; bonnie++ takes a bare number for MiB."""
        text = self.fields[name].strip()
        match = _SIZE.fullmatch(text)
        if not text:
            return None
        if match is None:
            raise self.broken(f"{text[:40]!r} is not a size", name)
        exponent = " kmgt".index(match[2].lower()) if match[2] else 2
        return int(match[1]) << (10 * exponent)


def read_results(source: SourceText) -> ForeignFile:
    """The results of lines that bonnie++ printed.

    Parameters
    ----------
    source : SourceText
        Lines of comma-separated values; comments, the table for people and the header of ``-x`` may stand between.

    Raises
    ------
    DrivelabError
        I503: a field that cannot be read. I504: a line with another number of fields.
        I505: no results. I507: another format.
    """
    lines = list(_lines(source))
    trials: list[ForeignTrial] = []
    short: dict[str, None] = {}
    for line in lines:
        for phase in [_as_done(line, one) for one in PHASES]:
            text = line.fields[phase.field].strip()
            if _TOO_SHORT.fullmatch(text):
                short[phase.workload] = None
            found = _trial(line, phase)
            if found is not None:
                trials.append(found)
    if not trials:
        raise nothing_in(source, "bonnie")
    versions = dict.fromkeys(line.fields["version"].strip()[:40] for line in lines)
    return ForeignFile(source, "bonnie", ", ".join(versions), tuple(trials), tuple(_notes(lines, list(short))))


def is_results_line(text: str) -> bool:
    """Whether a line is one of results."""
    return bool(re.match(r"\s*1\.\d\d[a-z]?,\d\.\d", text)) and text.count(",") >= len(FORMATS["1.97"]) // 2


def is_old_line(text: str) -> bool:
    """Whether a line is one of bonnie++ 1.03: a name and a size, and no version in front."""
    has_fields = text.count(",") == len(OLD_FIELDS) - 1
    return has_fields and re.match(r"\s*[^,]+,(\d+[kKmMgGtT]?(:\w+)?)?,[\d.+]*,\d*", text) is not None


def _lines(source: SourceText) -> Iterator[_Line]:
    for number, text in enumerate(source.text.splitlines(), start=1):
        stripped = text.strip()
        if not re.match(r"[\w.]*,", stripped) or stripped.startswith(("format_version", "#")):
            # a comment, the table for people, its header
            continue
        parts = stripped.split(",")
        names = FORMATS.get(parts[0])
        if names is None and is_old_line(stripped):
            yield _Line(source, number, _old_fields(parts))
            continue
        if names is None:
            if re.fullmatch(r"[12](\.\d\d?)?", parts[0]) or len(parts) in (len(OLD_FIELDS), 44):
                what = f"format {parts[0][:20]!r} is not one of {', '.join((OLD_VERSION, *FORMATS))}"
                raise DrivelabError("I507", what, where=source.place(number), do="measure with bonnie++ 1.96 or newer")
            continue
        if len(parts) != len(names):
            raise broken_line(f"{len(parts)} fields where format {parts[0]} has {len(names)}", source, number)
        yield _Line(source, number, dict.fromkeys(SEEK_FIELDS, "") | dict(zip(names, parts, strict=True)))


def _old_fields(parts: Sequence[str]) -> dict[str, str]:
    """The fields of a line of 1.03; what it does not tell is empty."""
    found = dict.fromkeys((*FIELDS, *(f"{phase.field}_latency" for phase in PHASES)), "")
    found |= dict(zip(OLD_FIELDS, parts, strict=True)) | {"version": OLD_VERSION, "seek_processes": OLD_SEEK_PROCESSES}
    found["file_size"], _, found["io_chunk_size"] = found["file_size"].partition(":")
    if match := _OLD_FILES.fullmatch(found["num_files"].strip()):
        names = ("num_files", "max_size", "min_size", "num_dirs")
        found |= {name: text or "" for name, text in zip(names, match.groups(), strict=True)}
    return found


def _as_done(line: _Line, phase: Phase) -> Phase:
    """The phase; of files that hold something, what is printed as Read reads them, and does not only look them up."""
    size = line.fields["max_size"].strip()
    if phase.operation != "stat" or not size.isdecimal() or not int(size):
        return phase
    title = phase.title.replace("stat files", "read files")
    return replace(phase, workload=phase.workload.replace("stat", "read-files"), title=title, operation="read_file")


def _trial(line: _Line, phase: Phase) -> ForeignTrial | None:
    """A phase that was measured; one that was too short has its worst latency, and one that was left out nothing."""
    text = line.fields[phase.field].strip()
    estimates: dict[str, Estimate] = {}
    if text and not _TOO_SHORT.fullmatch(text):
        rate = number_of(text, line.source, line.number, f"column {phase.field}")
        estimates |= _rates(phase, rate)
        estimates |= _processor_time(line, phase, rate)
    estimates |= _worst_latency(line, phase)
    if not estimates:
        return None
    return ForeignTrial(
        workload=phase.workload,
        title=phase.title,
        operation=phase.operation,
        known=_known(line, phase),
        estimates=estimates,
        line=line.number,
        parameters=_parameters(line, phase),
        machine=line.fields["name"].strip()[:80],
        backend="" if phase.is_names else "sync",
        is_direct=None if phase.is_names else False,
        details={"seed": seed[:40]} if (seed := line.fields["seed"].strip()) else {},
    )


def _rates(phase: Phase, rate: float) -> dict[str, Estimate]:
    if phase.is_names:
        return {"iops": told(rate, "1/s", "files per s")}
    if phase.workload == "seeks":
        back = SEEKS_WRITTEN_BACK
        return {
            "iops": told(rate, "1/s", "seeks per s"),
            "read_iops": told(rate, "1/s", "seeks per s"),
            "write_iops": told(back * rate, "1/s", "a tenth of the seeks per s"),
        }
    moved = rate * 1024
    if phase.workload == "rewrite":
        return {
            "throughput_bytes_per_s": told(moved, "B/s", "as printed, in KiB/s"),
            "read_throughput_bytes_per_s": told(moved, "B/s", "as printed, in KiB/s"),
            "write_throughput_bytes_per_s": told(moved, "B/s", "as printed, in KiB/s"),
        }
    found = {"throughput_bytes_per_s": told(moved, "B/s", "as printed, in KiB/s")}
    if phase.field in ("putc", "getc"):
        found["iops"] = told(moved, "1/s", "one byte a call")
    return found


def _processor_time(line: _Line, phase: Phase, rate: float) -> dict[str, Estimate]:
    """The share of a processor, and what an I/O takes of it where there is a number of I/Os."""
    text = line.fields[f"{phase.field}_cpu"].strip()
    if not text or _TOO_SHORT.fullmatch(text):
        return {}
    share = number_of(text, line.source, line.number, f"column {phase.field}_cpu") / 100
    per_s = rate * 1024 if phase.field in ("putc", "getc") else rate
    is_counted = phase.is_names or phase.field in ("putc", "getc", "seeks")
    found = {"cpu_share": told(share, "1", "%CP")}
    if is_counted and per_s:
        found["cpu_ns_per_io"] = told(share / per_s * 1e9, "ns", "%CP over the rate")
    return found


def _worst_latency(line: _Line, phase: Phase) -> dict[str, Estimate]:
    text = line.fields[f"{phase.field}_latency"].strip()
    if not text or _TOO_SHORT.fullmatch(text):
        return {}
    match = _LATENCY.fullmatch(text)
    if match is None:
        raise line.broken(f"{text[:40]!r} is not a latency with its unit", f"{phase.field}_latency")
    method = "the worst operation of the phase; the next may be larger"
    return {"total_latency_ns_max": told(int(match[1]) * _UNITS_NS[match[2]], "ns", method)}


def _known(line: _Line, phase: Phase) -> Workload:
    fields: dict[str, Any] = {"target": TargetRange(path="")}
    fields["operations"] = (OperationShare(operation=phase.operation),)  # type: ignore[arg-type]
    fields["access"] = Access(kind=phase.access)  # type: ignore[arg-type]
    fields["job_count"] = _job_count(line, phase)
    if phase.is_names:
        return Workload(**fields)
    size = line.size_bytes("file_size")
    fields["target"] = TargetRange(path="", size_bytes=size or 0)
    fields |= {"backend": "sync", "queue_depth": 1, "direct": False, "contents": Contents(kind="random")}
    if phase.field in ("putc", "getc"):
        fields["block_sizes"] = (BlockSizeShare(bytes=1),)
    if phase.workload in ("rewrite", "seeks"):
        fields["rewrite_fraction"] = 1.0 if phase.workload == "rewrite" else SEEKS_WRITTEN_BACK
    return Workload(**fields)


def _job_count(line: _Line, phase: Phase) -> int:
    name = "seek_processes" if phase.workload == "seeks" and line.fields["seek_processes"].strip() else "concurrency"
    text = line.fields[name].strip() or "1"
    return max(1, min(1024, whole_number_of(text, line.source, line.number, f"column {name}")))


def _parameters(line: _Line, phase: Phase) -> dict[str, str]:
    concurrency = line.fields["concurrency"].strip()[:20]
    found = {"concurrency": concurrency} if concurrency else {}
    if not phase.is_names:
        return found | {"file_size": line.fields["file_size"].strip()[:20]}
    files = line.fields["num_files"].strip()
    if files:
        count = whole_number_of(files, line.source, line.number, "column num_files") * FILES_PER_UNIT
        found["file_count"] = str(count)
    names = {"max_size": "file_size_max", "min_size": "file_size_min", "num_dirs": "directory_count"}
    return found | {ours: text[:20] for name, ours in names.items() if (text := line.fields[name].strip())}


def _notes(lines: Sequence[_Line], short: Sequence[str]) -> Iterator[str]:
    are_old = all(line.fields["version"] == OLD_VERSION for line in lines)
    if short:
        left = "is not there" if are_old else "has its worst latency only"
        yield (
            "+++++ is a phase of less than half a second, of which bonnie++ gives no rate: "
            f"{', '.join(short)} of some line {left}"
        )
    yield "the size of a block does not stand in the file: rates of blocks have no IOPS, and seeks no throughput"
    if are_old:
        yield "bonnie++ 1.03 prints no latencies"
    else:
        yield "the latency of a phase is its worst operation; bonnie++ gives no other"
    if any(line.fields["max_size"].strip() in ("link", "symlink") for line in lines):
        yield "some files were links: what was created, looked up and deleted there were links to one file"
