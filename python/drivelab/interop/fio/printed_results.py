"""Reads what fio prints for people, of versions 2 and 3, as the JSON that it would have printed beside it.

Counts and times are whole there, all else is rounded to four digits or so: bytes
and rates are reckoned from counts where every I/O has the same size. Of the
options the text has the order, the sizes, the engine and the depth.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

_PROGRAM = re.compile(r"^(fio-\d\S*)\s*$", re.MULTILINE)
_HEADER = re.compile(
    r"^(?P<name>[^\n]{1,200}): \(g=(?P<group>\d+)\): rw=(?P<rw>[^,\n]+), bs=(?P<sizes>[^\n]+?), "
    r"ioengine=(?P<engine>[^,\n]+), iodepth=(?P<depth>\d+)",
    re.MULTILINE,
)
_JOB = re.compile(
    r"^(?P<name>[^\n]{1,200}): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err= ?(?P<error>\d+)[^\n]*$",
    re.MULTILINE,
)
_DIRECTION = re.compile(
    r"^\s+(?P<name>read|write|trim|mixed)\s*: (?:IOPS=(?P<iops>[^,]+), BW=\S+ \([^)]*\)\((?P<moved>[^/]+)/"
    r"|io=(?P<old_moved>[^,]+), bw=[^,]+, iops=(?P<old_iops>[^,]+), runt=\s*)(?P<runtime>\d+)msec"
)
_LATENCY = re.compile(
    r"^\s+(?P<name>slat|clat|lat|sync) \((?P<unit>[num]sec)\)\s*: "
    r"min=\s*(?P<min>[\d.kMG]+), max=\s*(?P<max>[\d.kMG]+), "
    r"avg=\s*(?P<mean>[\d.kMG]+), stdev=\s*(?P<stddev>[\d.kMG]+)"
)
_PERCENTILES = re.compile(r"^\s+(?P<name>slat|clat|lat|sync) percentiles \((?P<unit>[num]sec)\):")
_PERCENTILE = re.compile(r"(\d+\.\d+)th=\[\s*(\d+)\]")
_CPU = re.compile(r"^\s+cpu\s*: usr=([\d.]+)%, sys=([\d.]+)%")
_ISSUED = re.compile(
    r"^\s+issued(?: rwts: total=(\d+),(\d+),(\d+)(?:,(\d+))?|\s*: total=r=(\d+)/w=(\d+)/d=(\d+))[, ]+short="
)
# an array stands further in than its members, and than drives that are none
_DISK = re.compile(r"^( {2}| {4})(?P<name>[^\s:]+): ios=", re.MULTILINE)
_SIZES = re.compile(r"(?:\([RWT]\) )?([\d.]+[kKMGT]?i?B?)-([\d.]+[kKMGT]?i?B?)")
_NUMBER = re.compile(r"([\d.]+)\s*([kKMGTP]?)(i?)B?")
_UNIT_NS = {"nsec": 1, "usec": 1000, "msec": 1_000_000}
_DIRECTIONS = ("read", "write", "trim")
_MIXED = "mixed"
_NAME_OF_SYNC = "fsync/fdatasync"


def printed_documents(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """The runs that a text tells of, each as the JSON of fio, with where it begins and ends in the text."""
    edges = sorted({0, *_begins(text), len(text)})
    for begin, end in pairwise(edges):
        part = text[begin:end]
        jobs = list(_jobs(part))
        if jobs:
            program = _PROGRAM.search(part)
            version = program[1] if program else ""
            yield {"fio version": version, "jobs": jobs, "disk_util": list(_disks(part))}, begin, end


def _begins(text: str) -> Iterator[int]:
    """Where runs begin: with the lines of their jobs, behind which the name of the program stands."""
    heads, jobs = ([match.start() for match in form.finditer(text)] for form in (_HEADER, _JOB))
    for program in _PROGRAM.finditer(text):
        place = bisect_left(jobs, program.start())
        after = bisect_left(heads, jobs[place - 1] if place else 0)
        yield min([*heads[after : after + 1], program.start()])


def _disks(text: str) -> Iterator[dict[str, str]]:
    found = list(_DISK.finditer(text))
    arrays = [match for match in found if len(match[1]) > 2]
    yield from ({"name": match["name"]} for match in arrays or found)


def _jobs(text: str) -> Iterator[dict[str, Any]]:
    headers = {match["name"].strip(): match for match in _HEADER.finditer(text)}
    found = list(_JOB.finditer(text))
    names = [(match["name"].strip(), match["group"]) for match in found]
    ends = [match.start() for match in found[1:]]
    counts = Counter(names)
    for match, key, end in zip(found, names, [*ends, len(text)], strict=False):
        clones = max(int(match["jobs"]), counts[key])
        options = _options(headers[key[0]], clones) if key[0] in headers else {}
        yield _job(match, text[match.end() : end], options)


def _options(header: re.Match[str], clones: int) -> dict[str, str]:
    """By the names of fio, as far as the line that begins a job has them."""
    sizes = [(round(_plain(low)), round(_plain(high))) for low, high in _SIZES.findall(header["sizes"])]
    options = {"rw": header["rw"], "ioengine": header["engine"], "iodepth": header["depth"], "numjobs": str(clones)}
    if sizes and all(low == high for low, high in sizes):
        one_for_all = len(set(sizes)) == 1
        options["bs"] = str(sizes[0][0]) if one_for_all else ",".join(str(low) for low, _ in sizes)
    elif sizes:
        options["bsrange"] = ",".join(f"{low}-{high}" for low, high in sizes)
    return options


def _job(match: re.Match[str], text: str, options: Mapping[str, str]) -> dict[str, Any]:
    job: dict[str, Any] = {
        "jobname": match["name"].strip(),
        "groupid": int(match["group"]),
        "error": int(match["error"]),
        "job options": dict(options),
    }
    # of which direction, or of sync calls, lines are that have no name of it
    current: dict[str, Any] = {}
    percentiles: dict[str, float] = {}
    unit_ns = 1
    for line in text.splitlines():
        if found := _DIRECTION.match(line):
            current = job.setdefault(found["name"], {})
            current |= _moved(found)
        elif line.strip().startswith(_NAME_OF_SYNC):
            current = job.setdefault("sync", {})
        elif found := _LATENCY.match(line):
            current.setdefault(_key(found["name"]), {}).update(_latency(found))
        elif found := _PERCENTILES.match(line):
            percentiles = current.setdefault(_key(found["name"]), {}).setdefault("percentile", {})
            unit_ns = _UNIT_NS[found["unit"]]
        elif line.lstrip().startswith("|"):
            percentiles |= {at: int(value) * unit_ns for at, value in _PERCENTILE.findall(line)}
        elif found := _CPU.match(line):
            job |= {"usr_cpu": float(found[1]), "sys_cpu": float(found[2])}
        elif found := _ISSUED.match(line):
            _count(job, [int(count or 0) for count in found.groups()[:4] if found[1]] or _old_counts(found))
    moved = [job[name] for name in (*_DIRECTIONS, _MIXED) if name in job]
    if "usr_cpu" in job and moved:
        # shares are of the time of all jobs together
        job["job_runtime"] = int(match["jobs"]) * max(one["runtime"] for one in moved)
    return job


def _key(name: str) -> str:
    """What a latency is called in JSON, where that of a sync is its only one."""
    return "lat_ns" if name == "sync" else f"{name}_ns"


def _moved(found: re.Match[str]) -> dict[str, Any]:
    runtime_ms = int(found["runtime"])
    is_old = found["old_moved"] is not None
    moved = _plain(found["old_moved"], 1024) if is_old else _plain(found["moved"])
    return {
        "io_bytes": round(moved),
        "runtime": runtime_ms,
        "iops": _plain(found["old_iops"] if is_old else found["iops"]),
        "bw_bytes": moved * 1000 / runtime_ms if runtime_ms else 0.0,
    }


def _latency(found: re.Match[str]) -> dict[str, float]:
    unit_ns = _UNIT_NS[found["unit"]]
    return {key: _plain(found[key]) * unit_ns for key in ("min", "max", "mean", "stddev")}


def _old_counts(found: re.Match[str]) -> list[int]:
    return [int(count) for count in found.groups()[4:7]]


def _count(job: dict[str, Any], counts: list[int]) -> None:
    """How many I/Os there were is whole, and so are the rates and bytes that follow from it."""
    sizes = job["job options"].get("bs", "").split(",")
    # where nothing is told apart all is counted as if it were reads
    names = _DIRECTIONS if _MIXED not in job or _DIRECTIONS[0] in job else (_MIXED, *_DIRECTIONS[1:])
    for place, (name, count) in enumerate(zip((*names, "sync"), counts, strict=False)):
        own = job.get(name)
        if own is None:
            continue
        for key in ("slat_ns", "clat_ns", "lat_ns"):
            if key in own:
                own[key]["N"] = count
        if name == "sync" or not own["runtime"]:
            continue
        own |= {"total_ios": count, "iops": count * 1000 / own["runtime"]}
        if sizes[0]:
            moved = count * int(sizes[min(place, len(sizes) - 1)])
            own |= {"io_bytes": moved, "bw_bytes": moved * 1000 / own["runtime"]}


def _plain(text: str, base: int = 0) -> float:
    """A number with its prefix: ``30.8k``, ``120MiB``, ``126MB``, ``4096B``; ``4K`` of a size is 4096.

    Version 2 means 1024 by every prefix of bytes: ``1024.0MB`` is a GiB.
    """
    match = _NUMBER.match(text.strip())
    if match is None:
        return 0.0
    power = " kmgtp".index(match[2].lower() or " ")
    # fio writes the K of sizes large and that of thousands small
    base = base or (1024 if match[3] or match[2] == "K" else 1000)
    return float(match[1]) * float(base) ** power
