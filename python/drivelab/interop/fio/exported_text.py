"""Results in fio's JSON as fio prints them: its normal output, and the lines that `--minimal` asks for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from drivelab.interop.fio.export import JOB_COUNT
from drivelab.interop.fio.exported_stats import PERCENTILES
from drivelab.interop.fio.translated import TranslatedJob
from drivelab.model.names import counted

_DIRECTIONS = ("read", "write", "trim")
_OF_GROUP = {"read": "   READ", "write": "  WRITE", "trim": "   TRIM", "mixed": "  MIXED"}
_DECIMAL, _BINARY = ("", "k", "M", "G", "T", "P", "E"), ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
# digits and a point, of rates; of latencies
_RATE_WIDTH, _LATENCY_WIDTH = 4, 6
_LATENCIES_PER_LINE = 5
_LINE_WIDTH, _MARGIN = 80, 7
_TERSE_VERSION = 3
# what fio says of engines that read and write no blocks
_NO_BLOCKS = "4096"
# so many percentiles have a field in each line, whether they are there or not
_TERSE_PERCENTILES = 20
_MICROSECONDS = ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000")
_MILLISECONDS = (*_MICROSECONDS, "2000", ">=2000")
_OF_DRIVE = {"ios": "ios", "merge": "merges", "ticks": "ticks"}
_Latency = Mapping[str, Any]


def normal_text(document: Mapping[str, Any]) -> str:
    """What fio prints at the end of a run: each job, then each group, then each drive."""
    lines = [""]
    for job in document["jobs"]:
        options = {**document.get("global options", {}), **job["job options"]}
        lines += _job_lines(job, options, str(document["time"])) if _moved(job) else []
    for group in sorted({int(job["groupid"]) for job in document["jobs"]}):
        of_group = [job for job in document["jobs"] if job["groupid"] == group]
        lines += ["", f"Run status group {group} (all jobs):", *_group_lines(of_group)]
    drives = document.get("disk_util", ())
    lines += ["", "Disk stats (read/write):", *map(_drive_line, drives)] if drives else []
    return "\n".join(lines) + "\n"


def starting_text(jobs: Iterable[TranslatedJob], program: str) -> str:
    """What fio prints before it runs jobs: the order, sizes, engine and depth of each, and how many will run."""
    lines, counts = [], Counter[str]()
    # a job on several files is one
    for job in {(each.name, each.path, each.line): each for each in jobs}.values():
        given = job.resolved
        sizes = [_NO_BLOCKS] if job.pattern.uses_tree else given["bs"].split(",")
        # what is not issued has the size of what is
        of_each = zip_longest("RWT", sizes, fillvalue="")
        texts = (f"({letter}) {_extent(size or max(sizes))}" for letter, size in of_each)
        lines.append(
            f"{job.name}: (g={job.reporting_group}): rw={given.get('rw', 'read')}, bs={', '.join(texts)}, "
            f"ioengine={given['ioengine']}, iodepth={given.get('iodepth', '1')}\n"
            + ("...\n" if given["numjobs"] != "1" else "")
        )
        counts["thread" if given.get("thread", "0") != "0" else "process"] += int(given["numjobs"])
    started = " and ".join(counted(counts[name], name) for name in ("thread", "process") if counts[name])
    return f"{''.join(lines)}{program}\nStarting {started}\n"


def _extent(sizes: str) -> str:
    least, _, most = sizes.partition("-")
    return "-".join(f"{shortened(int(size), _RATE_WIDTH, binary=True)}B" for size in (least, most or least))


def terse_text(document: Mapping[str, Any]) -> str:
    """A line of version 3 for each job, with semicolons between the fields."""
    version = str(document["fio version"])
    drives = "".join(f";{field}" for drive in document.get("disk_util", ()) for field in _terse_drive(drive))
    return "".join(
        f"{';'.join(_terse_fields(job, version))}{drives}{_terse_description(job)}\n" for job in document["jobs"]
    )


def shortened(number: int, width: int, *, binary: bool = False) -> str:
    """A number of at most so many digits, with a decimal where there is room, and the prefix that this takes."""
    prefixes, thousand = (_BINARY, 1024) if binary else (_DECIMAL, 1000)
    step, rest = 0, None
    while len(str(number)) > width and step + 1 < len(prefixes):
        number, rest = divmod(number, thousand)
        step += 1
    room = width - len(str(number)) - 1
    if rest is None:
        return f"{number}{prefixes[step]}"
    if room <= 0:
        return f"{number + (rest >= thousand // 2)}{prefixes[step]}"
    whole, _, decimals = f"{rest / thousand:.{room}f}".partition(".")
    return f"{number + int(whole)}.{decimals}{prefixes[step]}"


def _moved(job: Mapping[str, Any]) -> bool:
    return any(job[direction]["total_ios"] for direction in _OF_GROUP if direction in job)


def _job_lines(job: Mapping[str, Any], options: Mapping[str, str], time: str) -> Iterator[str]:
    jobs = job.get(JOB_COUNT) or options.get("numjobs", "1")
    yield f"{job['jobname']}: (groupid={job['groupid']}, jobs={jobs}): err={job['error']:2d}: pid=0: {time}"
    if "description" in options:
        yield f"  Description  : [{options['description']}]"
    for direction in (name for name in _OF_GROUP if name in job):
        if job[direction]["total_ios"]:
            yield from _direction_lines(direction, job[direction])
    for unit, key in (("nsec", "latency_ns"), ("usec", "latency_us"), ("msec", "latency_ms")):
        # what is there at all is told
        shares = [f"{edge}={max(share, 0.01):.2f}%" for edge, share in job[key].items() if share > 0]
        for begin in range(0, len(shares), _LATENCIES_PER_LINE):
            yield f"  lat ({unit})   : {', '.join(shares[begin : begin + _LATENCIES_PER_LINE])}"
    if "sync" in job and job["sync"]["lat_ns"].get("N"):
        yield "  fsync/fdatasync/sync_file_range:"
        yield _latency_line("sync", job["sync"]["lat_ns"])
        yield from _percentile_lines("sync", job["sync"]["lat_ns"])
    yield (
        f"  cpu          : usr={job['usr_cpu']:.2f}%, sys={job['sys_cpu']:.2f}%, ctx={job['ctx']}, "
        f"majf={job['majf']}, minf={job['minf']}"
    )
    yield f"  IO depths    : {_levels(job['iodepth_level'], ('1', '2', '4', '8', '16', '32', '>=64'))}"
    for name, key in (("submit  ", "iodepth_submit"), ("complete", "iodepth_complete")):
        yield f"     {name}  : {_levels(job[key], ('0', '4', '8', '16', '32', '64', '>=64'))}"
    # what is told together stands where reads would
    counted = [job.get(direction, {}) for direction in (_DIRECTIONS if "read" in job else ("mixed", *_DIRECTIONS[1:]))]
    total, short, dropped = (
        ",".join(str(each.get(key, 0)) for each in counted) for key in ("total_ios", "short_ios", "drop_ios")
    )
    syncs = job.get("sync", {}).get("total_ios", 0)
    yield f"     issued rwts: total={total},{syncs} short={short},0 dropped={dropped},0"
    yield (
        f"     latency   : target={job['latency_target']}, window={job['latency_window']}, "
        f"percentile={job['latency_percentile']:.2f}%, depth={job['latency_depth']}"
    )
    if "steadystate" in job:
        yield _steady_line(job["steadystate"])


def _steady_line(found: Mapping[str, Any]) -> str:
    metric, _, slope = found["ss"].partition(":")[0].partition("_")
    number, unit = found["criterion"].rstrip("%"), "%" * found["criterion"].endswith("%")
    return (
        f"  steadystate  : attained={'yes' if found['attained'] else 'no'}, "
        f"bw={_both(found['data']['bw_mean'], 'B/s')}, iops={shortened(found['data']['iops_mean'], _RATE_WIDTH)}, "
        f"{metric}{' slope' if slope else ' mean dev'}={float(number):.3f}{unit}"
    )


def _direction_lines(name: str, found: Mapping[str, Any]) -> Iterator[str]:
    runtime_ms = max(1, found["runtime"])
    bytes_per_s = found["io_bytes"] * 1000 // runtime_ms
    iops = shortened(found["total_ios"] * 1000 // runtime_ms, _RATE_WIDTH)
    moved = shortened(found["io_bytes"], _RATE_WIDTH, binary=True)
    zones = f"; {found.get('drivelab_zone_resets', 0)} zone resets" if name == "write" else ""
    yield f"  {name}: IOPS={iops}, BW={_both(bytes_per_s, 'B/s')}({moved}B/{found['runtime']}msec){zones}"
    for kind in ("slat", "clat", "lat"):
        if found[f"{kind}_ns"].get("N"):
            yield _latency_line(f"{kind:>4s}", found[f"{kind}_ns"])
    for kind in ("slat", "clat", "lat"):
        yield from _percentile_lines(kind, found[f"{kind}_ns"])
    if found["bw_samples"]:
        scale, unit = (1024.0, "MiB") if found["bw_mean"] > 1024**2 else (1.0, "KiB")
        least, most = (int(found[key] / scale) for key in ("bw_min", "bw_max"))
        yield (
            f"   bw ({unit:>5s}/s): min={least:5d}, max={most:5d}, per={found['bw_agg']:.2f}%, "
            f"avg={found['bw_mean'] / scale:5.2f}, stdev={found['bw_dev'] / scale:5.2f}, samples={found['bw_samples']}"
        )
    if found["iops_samples"]:
        yield (
            f"   iops        : min={found['iops_min']:5d}, max={found['iops_max']:5d}, avg={found['iops_mean']:5.2f}, "
            f"stdev={found['iops_stddev']:5.2f}, samples={found['iops_samples']}"
        )


def _latency_line(name: str, found: _Latency) -> str:
    least, most, mean, deviation = (found[key] for key in ("min", "max", "mean", "stddev"))
    unit, scale = "nsec", 1
    if least > 2_000_000 and most > 99_999_999 and deviation > 1_000_000:
        unit, scale = "msec", 1_000_000
    elif least > 2000 and most > 99_999 and deviation > 1000:
        unit, scale = "usec", 1000
    low, high = (shortened(int(value) // scale, _LATENCY_WIDTH) for value in (least, most))
    return f"    {name} ({unit}): min={low}, max={high}, avg={mean / scale:5.2f}, stdev={deviation / scale:5.2f}"


def _percentile_lines(name: str, found: _Latency) -> Iterator[str]:
    percentiles = {float(at): int(value) for at, value in found.get("percentile", {}).items()}
    if not percentiles:
        return
    least, most = min(percentiles.values()), max(percentiles.values())
    unit, scale = "nsec", 1
    if least > 2_000_000 and most > 99_999_999:
        unit, scale = "msec", 1_000_000
    elif least > 2000 and most > 99_999:
        unit, scale = "usec", 1000
    width = max(5, len(str(most // scale)))
    per_line = (_LINE_WIDTH - _MARGIN) // (12 + width)
    cells = [f" {at:5.2f}th=[{-(-value // scale):{width}d}]" for at, value in percentiles.items()]
    yield f"    {name} percentiles ({unit}):"
    for begin in range(0, len(cells), per_line):
        end = "," if begin + per_line < len(cells) else ""
        yield f"     |{','.join(cells[begin : begin + per_line])}{end}"


def _levels(shares: Mapping[str, float], levels: Sequence[str]) -> str:
    return ", ".join(f"{level}={shares.get(level, 0.0):.1f}%" for level in levels)


def _group_lines(jobs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for direction in _OF_GROUP:
        found = [job[direction] for job in jobs if job.get(direction, {}).get("runtime")]
        if not found:
            continue
        runtimes = [each["runtime"] for each in found]
        moved = sum(each["io_bytes"] for each in found)
        rates = [each["io_bytes"] * 1000 // each["runtime"] for each in found]
        least, most = (_of_two(rate, "B/s") for rate in (min(rates), max(rates)))
        yield (
            f"{_OF_GROUP[direction]}: bw={_both(moved * 1000 // max(runtimes), 'B/s')}, {least[0]}-{most[0]} "
            f"({least[1]}-{most[1]}), io={_both(moved, 'B')}, run={min(runtimes)}-{max(runtimes)}msec"
        )


def _drive_line(drive: Mapping[str, Any]) -> str:
    pairs = (f"{name}={drive[f'read_{key}']}/{drive[f'write_{key}']}" for name, key in _OF_DRIVE.items())
    return f"  {drive['name']}: {', '.join(pairs)}, in_queue={drive['in_queue']}, util={drive.get('util', 0.0):.2f}%"


def _terse_drive(drive: Mapping[str, Any]) -> Iterator[str]:
    yield drive["name"]
    yield from (str(drive[f"{direction}_{key}"]) for key in _OF_DRIVE.values() for direction in ("read", "write"))
    yield from (str(drive["in_queue"]), f"{drive.get('util', 0.0):.2f}%")


def _of_two(number: int, unit: str) -> tuple[str, str]:
    binary, decimal = (shortened(number, _RATE_WIDTH, binary=kind) for kind in (True, False))
    return f"{binary}{unit}", f"{decimal}{unit}"


def _both(number: int, unit: str) -> str:
    binary, decimal = _of_two(number, unit)
    return f"{binary} ({decimal})"


def _terse_fields(job: Mapping[str, Any], version: str) -> Iterator[str]:
    yield from (str(_TERSE_VERSION), version, job["jobname"], str(job["groupid"]), str(job["error"]))
    # what is told together stands where reads would, or behind writes
    for direction in (name for name in ("read", "write", "mixed") if name in job):
        yield from _terse_direction(job[direction])
    yield from (f"{job['usr_cpu']:f}%", f"{job['sys_cpu']:f}%", str(job["ctx"]), str(job["majf"]), str(job["minf"]))
    yield from (f"{job['iodepth_level'].get(level, 0.0):.1f}%" for level in ("1", "2", "4", "8", "16", "32", ">=64"))
    of_us = {edge: job["latency_us"][edge] for edge in _MICROSECONDS}
    of_us["2"] += math.fsum(job["latency_ns"].values())
    yield from (f"{share:.2f}%" for share in of_us.values())
    yield from (f"{job['latency_ms'][edge]:.2f}%" for edge in _MILLISECONDS)


def _terse_description(job: Mapping[str, Any]) -> str:
    """What stands behind everything else."""
    text = job["job options"].get("description")
    return f";{text}" if text else ""


def _terse_direction(found: Mapping[str, Any]) -> Iterator[str]:
    runtime_ms = found["runtime"] or 1
    rates = (found["io_bytes"] * 1000 // runtime_ms // 1024, found["total_ios"] * 1000 // runtime_ms)
    yield from (str(number) for number in (found["io_bytes"] // 1024, *rates, found["runtime"]))
    yield from _terse_latency(found["slat_ns"])
    yield from _terse_latency(found["clat_ns"])
    known = found["clat_ns"].get("percentile") or dict.fromkeys(PERCENTILES, 0)
    percentiles = [f"{float(at):f}%={int(value) // 1000}" for at, value in known.items()]
    yield from (*percentiles, *["0%=0"] * (_TERSE_PERCENTILES - len(percentiles)))
    yield from _terse_latency(found["lat_ns"])
    share = found["bw_agg"] if found["bw_samples"] else 0.0
    yield from (str(found["bw_min"]), str(found["bw_max"]), f"{share:f}%")
    yield from (f"{found[key]:f}" for key in ("bw_mean", "bw_dev"))


def _terse_latency(found: _Latency) -> Iterator[str]:
    yield from (str(int(found[key]) // 1000) for key in ("min", "max"))
    yield from (f"{found[key] / 1000:f}" for key in ("mean", "stddev"))
