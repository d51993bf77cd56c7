"""Reads fio's terse output, of versions 3 to 5, as the JSON that it would have printed beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

# in front of the fields of the directions: version, program, name, group, error
_HEAD = 5
_PERCENTILES = 20
# of a direction: bytes, rates and time; slat and clat; percentiles; lat; scatter of the bandwidth, since 5 of IOPS too
_OF_DIRECTION = 4 + 4 + 4 + _PERCENTILES + 4 + 5
_FIELDS = {3: _OF_DIRECTION, 4: _OF_DIRECTION, 5: _OF_DIRECTION + 1 + 5}
_DIRECTIONS = {3: ("read", "write"), 4: ("read", "write", "trim"), 5: ("read", "write", "trim")}
# behind the directions: processor, depths, latencies in us and in ms
_TAIL = 5 + 7 + 10 + 12
_OF_DISK = 9
_LINE = re.compile(r"^([345]);(fio-\d[^;\n]*);[^\n]*$", re.MULTILINE)


def terse_documents(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """The run that the terse lines of a text tell of as the JSON of fio, with where it begins and ends in the text."""
    lines = list(_LINE.finditer(text))
    jobs: list[dict[str, Any]] = []
    disks: dict[str, None] = {}
    for line in lines:
        fields = line[0].split(";")
        version = int(line[1])
        if len(fields) < _HEAD + len(_DIRECTIONS[version]) * _FIELDS[version] + _TAIL:
            continue
        job, named = _job(fields, version)
        jobs.append(job)
        disks |= dict.fromkeys(named)
    if jobs:
        document = {"fio version": lines[0][2], "jobs": jobs, "disk_util": [{"name": name} for name in disks]}
        yield document, lines[0].start(), lines[-1].end()


def _job(fields: Sequence[str], version: int) -> tuple[dict[str, Any], list[str]]:
    """The job, and the names of its disks."""
    job: dict[str, Any] = {"jobname": fields[2], "groupid": int(_number(fields[3])), "error": int(_number(fields[4]))}
    at, size = _HEAD, _FIELDS[version]
    for name in _DIRECTIONS[version]:
        job[name] = _direction(fields[at : at + size])
        at += size
    runtime = max(job[name]["runtime"] for name in _DIRECTIONS[version])
    job |= {"usr_cpu": _number(fields[at]), "sys_cpu": _number(fields[at + 1]), "job_runtime": runtime}
    rest = fields[at + _TAIL :]
    return job, [name for name in rest[: len(rest) // _OF_DISK * _OF_DISK : _OF_DISK] if name]


def _direction(fields: Sequence[str]) -> dict[str, Any]:
    moved, rate, iops, runtime = (_number(field) for field in fields[:4])
    count = round(iops * runtime / 1000)
    at = 12 + _PERCENTILES
    latencies = {"slat_ns": fields[4:8], "clat_ns": fields[8:12], "lat_ns": fields[at : at + 4]}
    # whole I/Os a second tell their number within the rounding
    found: dict[str, Any] = {name: _latency(values, count) for name, values in latencies.items()}
    pairs = (field.partition("%=") for field in fields[12:at])
    found["clat_ns"]["percentile"] = {share: _number(value) * 1000 for share, _, value in pairs if _number(share)}
    return found | {
        "io_bytes": moved * 1024,
        "bw_bytes": rate * 1024,
        "iops": iops,
        "runtime": runtime,
        "total_ios": count,
    }


def _latency(fields: Sequence[str], count: int) -> dict[str, Any]:
    """In us there."""
    values = [1000 * _number(field) for field in fields]
    return {"N": count if values[2] else 0, **dict(zip(("min", "max", "mean", "stddev"), values, strict=True))}


def _number(text: str) -> float:
    try:
        return float(text.rstrip("%"))
    except ValueError:
        return 0.0
