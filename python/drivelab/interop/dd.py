"""Reads what dd says at its end, of GNU and of busybox, and the command lines before it where they are in the file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drivelab.interop.fio.result_options import size_bytes
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
from drivelab.interop.foreign import number_of as _number_of
from drivelab.model.names import counted
from drivelab.model.workload import (
    Access,
    BlockSizeShare,
    Durability,
    OperationShare,
    TargetRange,
    Workload,
)

# other languages have other words: the numbers and the signs between them are the same
_RECORDS = re.compile(r"(\d{1,18})\+(\d{1,18})\s+\S.*")
_COPIED = re.compile(
    r"(\d{1,18})\s+\S+\s*(?:\([^()]*(?:\([^()]*\))?[^()]*\))?[^,\d]*,\s*(\d[\d.,]*(?:e-?\d+)?)\s+\S+,\s*([\d.,]+)\s*(\S+)"
)
_RATE = re.compile(r"(\d[\d.,]*)\s*([kKMGT]i?)?B/s")
_COMMAND = re.compile(r"(?:^|[\s$#+>;&|])((?:busybox )?dd\s+(?:\w+=\S+\s*)+.*)")
_RATES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# busybox writes MB and means MiB
_BINARY_RATES = {"": 1, "k": 2**10, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_DEFAULT_BLOCK = "512"
_LARGEST_BLOCK = 2**30


@dataclass(frozen=True, slots=True)
class _Records:
    """A line of records: whole ones and parts."""

    whole: int
    partial: int


def read_results(source: SourceText) -> ForeignFile:
    """The results that dd printed, one after the other.

    Raises
    ------
    DrivelabError
        I503, I504: a field or line that cannot be read. I505: no results.
    """
    trials: list[ForeignTrial] = []
    notes: dict[str, None] = {}
    records: list[_Records] = []
    command = ""
    for number, line in enumerate(source.text.splitlines(), start=1):
        text = line.strip()
        if match := _RECORDS.fullmatch(text):
            records.append(_Records(int(match[1]), int(match[2])))
        elif match := _COPIED.fullmatch(text):
            trial = _trial(match, records[-2:], command, source, number, notes)
            records, command = [], ""
            if trial is not None:
                trials.append(trial)
        elif re.match(r"\d+ bytes\b.*,", text):
            raise broken_line(f"{text[:60]!r} is no result of dd", source, number)
        elif match := _COMMAND.search(line):
            command, records = match[1].strip()[:400], []
    if not trials:
        raise nothing_in(source, "dd")
    return ForeignFile(source, "dd", "", tuple(trials), tuple(notes))


def is_result_line(text: str) -> bool:
    """Whether a line is the last one that dd prints."""
    match = _COPIED.fullmatch(text.strip())
    return match is not None and _RATE.fullmatch(f"{match[3]} {match[4]}".replace(" ", "", 1)) is not None


def _trial(
    match: re.Match[str],
    records: list[_Records],
    command: str,
    source: SourceText,
    line: int,
    notes: dict[str, None],
) -> ForeignTrial | None:
    moved = whole_number_of(match[1], source, line, "bytes")
    seconds = _decimal(match[2], source, line, "seconds")
    if not moved or not seconds:
        notes["a dd that copied nothing, or took no time, is left out"] = None
        return None
    options = _options(command)
    _check_rate(match, moved / seconds, source, line)
    block = _block_bytes(options, records, moved, command)
    operation, path = _operation(options)
    fields = _known(options, operation, path, command)
    if block and block <= _LARGEST_BLOCK:
        fields["block_sizes"] = (BlockSizeShare(bytes=block),)
    count = records[-1].whole + records[-1].partial if records else 0
    method = f"{moved} bytes in {seconds:g} s"
    estimates = {"throughput_bytes_per_s": told(moved / seconds, "B/s", method, count)}
    is_whole = bool(records) and not records[-1].partial
    is_at_end = fields.get("durability", Durability()).at_end
    if count and is_whole:
        estimates["iops"] = told(count / seconds, "1/s", f"{counted(count, 'record')} in {seconds:g} s", count)
        if not is_at_end:
            estimates["total_latency_ns_mean"] = told(
                seconds / count * 1e9,
                "ns",
                f"{seconds:g} s over {counted(count, 'record')}, reading and writing of both sides",
                count,
            )
    if not command:
        notes[
            "the command line does not stand in the file: whether dd read or wrote the drive, and how, is not known"
        ] = None
    elif operation == "write" and not fields["direct"] and fields["durability"].method == "none":
        notes[
            "nothing was flushed (no conv=fdatasync, oflag=dsync or oflag=direct): dd ended when memory had the data, "
            "so the rate is that of memory unless far more was written than fits there"
        ] = None
    notes["the whole time of dd, with reading what it writes and writing what it reads"] = None
    return ForeignTrial(
        workload=f"dd-{operation}",
        title={"write": "write by dd", "read": "read by dd"}.get(operation, "copy by dd"),
        operation=operation,
        known=Workload(**fields),
        estimates=estimates,
        line=line,
        parameters=_parameters(options, block),
        drive=path.removeprefix("/dev/")[:80] if re.fullmatch(r"/dev/[\w.-]+", path) else "",
        operations={operation: {"count": count, "bytes": moved, "errors": 0}},
        measured_ns=round(seconds * 1e9),
        backend="sync" if command else "",
        is_direct=fields.get("direct"),
        details={"command": command} if command else {},
    )


def _decimal(text: str, source: SourceText, line: int, name: str) -> float:
    """A number with a decimal point or comma, whichever the language has."""
    return _number_of(text.replace(",", "."), source, line, name)


def _check_rate(match: re.Match[str], rate: float, source: SourceText, line: int) -> None:
    """The rate that dd prints has to be that of its bytes and seconds, in units of 1000 or of 1024."""
    told_rate = _RATE.fullmatch(f"{match[3]}{match[4]}")
    if told_rate is None:
        raise broken_line(f"{match[3][:20]} {match[4][:20]} is no rate", source, line)
    value = _decimal(told_rate[1], source, line, "rate")
    prefix = (told_rate[2] or "").removesuffix("i")
    # two digits are printed at the least
    near = [abs(value * units[prefix] / rate - 1) < 0.06 for units in (_RATES, _BINARY_RATES)]
    if not any(near) and value >= 1:
        what = f"{match[1]} bytes in {match[2][:20]} s are not {match[3][:20]} {match[4][:20]}"
        raise broken_line(what, source, line)


def _options(command: str) -> dict[str, str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return {name: value for name, found, value in (word.partition("=") for word in words) if found}


def _block_bytes(options: Mapping[str, str], records: list[_Records], moved: int, command: str) -> int | None:
    """The size of a record: as asked for, or as bytes over whole records tell."""
    if command:
        return size_bytes(options.get("bs", options.get("obs", _DEFAULT_BLOCK)))
    if records and records[-1].whole and not records[-1].partial and moved % records[-1].whole == 0:
        return moved // records[-1].whole
    return None


def _operation(options: Mapping[str, str]) -> tuple[str, str]:
    """What was done to the drive, and where."""
    source, sink = options.get("if", ""), options.get("of", "")
    if sink and sink not in ("/dev/null", "-") and source in ("/dev/zero", "/dev/urandom", "/dev/random"):
        return "write", sink
    if source and sink == "/dev/null":
        return "read", source
    return "copy", ""


def _known(options: Mapping[str, str], operation: str, path: str, command: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"target": TargetRange(path=path), "queue_depth": 1, "job_count": 1}
    if operation == "copy" or not command:
        return fields
    flags = {
        "read": set(options.get("iflag", "").split(",")),
        "write": {*options.get("oflag", "").split(","), *options.get("conv", "").split(",")},
    }[operation]
    fields |= {
        "operations": (OperationShare(operation=operation),),  # type: ignore[arg-type]
        "access": Access(kind="sequential"),
        "backend": "sync",
        "direct": "direct" in flags,
    }
    if "sync" in options.get("oflag", "").split(","):
        durability = Durability(method="o_sync")
    elif "dsync" in flags:
        durability = Durability(method="o_dsync")
    elif {"fdatasync", "fsync"} & flags:
        durability = Durability(method="fdatasync" if "fdatasync" in flags else "fsync", at_end=True)
    else:
        durability = Durability(method="none")
    return fields | {"durability": durability}


def _parameters(options: Mapping[str, str], block: int | None) -> dict[str, str]:
    found = {"block_size": size_level(block)} if block else {}
    names = {"count": "count", "oflag": "oflag", "iflag": "iflag", "conv": "conv", "if": "if", "of": "of"}
    return found | {ours: options[name][:60] for name, ours in names.items() if name in options}
