"""One fio job result of one trial, or of all repeats of one combination."""

from __future__ import annotations

import errno
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.interop.fio.exported_options import job_options
from drivelab.interop.fio.exported_stats import PERCENTILES, latency_distribution, latency_stats, rate_stats
from drivelab.model.histogram import Histogram, merge
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.workload import TREE_OPERATIONS

Trials = Sequence[Sequence[Measurement]]
_Rates = np.ndarray[Any, np.dtype[np.float64]]
_DIRECTIONS = ("read", "write", "trim")
MIXED = "mixed"
_CALL_LEVELS = ("0", "4", "8", "16", "32", "64", ">=64")
_DEPTH_LEVELS = ("1", "2", "4", "8", "16", "32", ">=64")


@dataclass(frozen=True, slots=True)
class AskedResult:
    """What the options of a job ask of its result.

    Attributes
    ----------
    percentiles : mapping of str to sequence of float
        Which are written of ``slat_ns``, ``clat_ns`` and ``lat_ns``.
    bw_window_ms, iops_window_ms : int
        How long each of the samples is, whose least, largest and mean are told.
    has_apart, has_mixed : bool
        Whether reads, writes and trims are told apart, and together as ``mixed``.
    is_of_group : bool
        Whether all jobs of a group are one result.
    """

    percentiles: Mapping[str, Sequence[float]]
    bw_window_ms: int = 500
    iops_window_ms: int = 500
    has_apart: bool = True
    has_mixed: bool = False
    is_of_group: bool = True


# as readers of this project's exports want it
USUAL_RESULT = AskedResult({"clat_ns": PERCENTILES, "lat_ns": PERCENTILES})


def asked_result(options: Mapping[str, str]) -> AskedResult:
    """What fio writes with these options of a job."""
    asked = options.get("percentile_list", "")
    listed = tuple(float(each) for each in asked.split(":") if each.strip()) or PERCENTILES
    defaults = {"slat": "0", "clat": "1", "lat": "0"}
    words = {f"{name}_ns": options.get(f"{name}_percentiles", usual) for name, usual in defaults.items()}
    reporting = options.get("unified_rw_reporting", "none")
    return AskedResult(
        percentiles={name: listed for name, word in words.items() if word != "0"},
        bw_window_ms=int(options.get("bwavgtime") or 500),
        iops_window_ms=int(options.get("iopsavgtime") or 500),
        has_apart=reporting not in ("mixed", "1"),
        has_mixed=reporting in ("mixed", "both", "1", "2"),
        is_of_group=options.get("group_reporting", "0") not in ("0", "false"),
    )


def job_result(
    name: str,
    trials: Trials,
    group: int = 0,
    asked: AskedResult = USUAL_RESULT,
) -> dict[str, Any]:
    """What fio writes about a job, from its trials.

    Parameters
    ----------
    trials : sequence of sequence of Measurement
        Those one after the other, of each the ones at the same time: latencies are merged without loss, and rates
        are over the sum of the longest times.
    group : int
        fio's ``groupid``.
    """
    measured = [each for together in trials for each in together]
    seconds = sum(max(each.measured_s for each in together) for together in trials)
    first = measured[0]
    spent = _spent(measured, seconds, job_count=sum(each.workload.job_count for each in trials[0]))
    everything = [name for direction in _DIRECTIONS for name in operations_of(direction, measured)]
    backend = str(first.engine.get("backend", {}).get("name", first.workload.backend))
    return {
        "jobname": name,
        "groupid": group,
        "error": _error(measured),
        "eta": 0,
        "elapsed": max(1, math.ceil(seconds)),
        "job options": {"name": name} | job_options(first.workload, backend),
        **_told_apart(trials, asked),
        "job_runtime": round(sum(each.measured_s * each.workload.job_count for each in measured) * 1000),
        **spent,
        "iodepth_level": _shares(measured, "outstanding_levels", _DEPTH_LEVELS),
        "iodepth_submit": _shares(measured, "sent_levels", _CALL_LEVELS),
        "iodepth_complete": _shares(measured, "found_levels", _CALL_LEVELS),
        **latency_distribution([found] if (found := _histogram(measured, everything, "total")) else []),
        "latency_depth": first.workload.queue_depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
        **({"steadystate": first.context["steadystate"]} if "steadystate" in first.context else {}),
    }


def _error(measured: Sequence[Measurement]) -> int:
    """The number of the error that ended a trial; 0 where none did."""
    by_options = (int((each.context.get("ended_by") or {}).get("errno", 0)) for each in measured)
    if found := next(filter(None, by_options), 0):
        return found
    ended = (each.engine.get("errors") for each in measured if each.engine.get("stopped_by") == "error")
    return next((int(getattr(errno, errors[0]["name"], errno.EIO)) for errors in ended if errors), 0)


def with_shares(jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The job results, with what part each has of the bytes a second of its group, in %."""
    moved: Counter[tuple[int, str]] = Counter()
    longest_ms: dict[tuple[int, str], int] = {}
    for job in jobs:
        for direction in _directions_of(job):
            key = job["groupid"], direction
            moved[key] += job[direction]["io_bytes"]
            longest_ms[key] = max(longest_ms.get(key, 0), job[direction]["runtime"])

    def share(job: Mapping[str, Any], direction: str) -> float:
        key = job["groupid"], direction
        if not moved[key] or not longest_ms[key]:
            return 0.0
        return min(100.0, 100.0 * float(job[direction]["bw_mean"]) / (moved[key] * 1000 / longest_ms[key] / 1024))

    return [job | {name: job[name] | {"bw_agg": share(job, name)} for name in _directions_of(job)} for job in jobs]


def _directions_of(job: Mapping[str, Any]) -> tuple[str, ...]:
    """The directions that a result tells of: read, write and trim, or mixed, or all of them."""
    return tuple(name for name in (*_DIRECTIONS, MIXED) if name in job)


def _disk_utilisation(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """The object ``disk_util`` of fio: what each device executed in all of some trials; times in ms, ``util`` in %."""
    found: dict[str, dict[str, Any]] = {}
    groups = _at_the_same_time(measured)
    seconds = sum(max(each.measured_s for each in group) for group in groups)
    for group in groups:
        shared = [DeviceCounts(**one) for one in (group[0].context.get("together") or {}).get("shared_devices", ())]
        for counts in [*shared, *(counts for each in group for counts in each.devices)]:
            row = found.setdefault(counts.device, {"name": counts.device})
            for key, value in {
                "read_ios": counts.reads,
                "write_ios": counts.writes,
                "read_sectors": counts.bytes_read // 512,
                "write_sectors": counts.bytes_written // 512,
                "read_merges": counts.read_merges,
                "write_merges": counts.write_merges,
                "read_ticks": counts.read_ns // 1_000_000,
                "write_ticks": counts.write_ns // 1_000_000,
                "in_queue": (counts.read_ns + counts.write_ns + counts.flush_ns) // 1_000_000,
            }.items():
                row[key] = row.get(key, 0) + value
            # of runs that were kept before it was read
            if counts.busy_ns is not None and seconds:
                row["util"] = min(100.0, row.get("util", 0.0) + counts.busy_ns / 1e7 / seconds)
    return list(found.values())


def _at_the_same_time(measured: Iterable[Measurement]) -> list[list[Measurement]]:
    """The trials in groups of those that ran together: what they all were counted tells which those are."""
    groups: dict[str, list[Measurement]] = {}
    for number, each in enumerate(measured):
        together = each.context.get("together")
        key = json.dumps(together["shared_devices"]) if together else str(number)
        groups.setdefault(key, []).append(each)
    return list(groups.values())


def document_of(
    at: datetime, version: str, jobs: Sequence[dict[str, Any]], measured: Sequence[Measurement]
) -> dict[str, Any]:
    """The results of jobs, as they were at a moment."""
    return {
        "fio version": f"drivelab-{version}",
        "timestamp": int(at.timestamp()),
        "timestamp_ms": int(at.timestamp() * 1000),
        "time": at.strftime("%a %b %d %H:%M:%S %Y"),
        "global options": {},
        "jobs": with_shares(jobs),
        "disk_util": _disk_utilisation(measured),
    }


def _told_apart(trials: Trials, asked: AskedResult) -> dict[str, Any]:
    """The directions of a result, and its sync calls, in fio's order."""
    measured = [each for together in trials for each in together]
    apart = {name: _direction(trials, (name,), asked) for name in _DIRECTIONS} | {"sync": _sync(measured)}
    mixed = {MIXED: _direction(trials, _DIRECTIONS, asked)}
    return (apart if asked.has_apart else {}) | (mixed if asked.has_mixed else {})


def _direction(trials: Trials, directions: Sequence[str], asked: AskedResult) -> dict[str, Any]:
    measured = [each for together in trials for each in together]
    names = [name for direction in directions for name in operations_of(direction, measured)]
    # so that the counts over the time are the rates: of a window behind a ramp it is shorter than the window
    seconds = sum(max(each.rated_ns(names) for each in together) for together in trials) / 1e9
    counts = [each.engine["operations"].get(name, {}) for each in measured for name in names]
    count, moved = (sum(int(found.get(key, 0)) for found in counts) for key in ("count", "bytes"))
    windows = {"bytes": asked.bw_window_ms, "count": asked.iops_window_ms}
    rates = {
        key: np.concatenate(
            [_summed([_window_rates(each, names, key, ms) for each in together]) for together in trials]
        )
        for key, ms in windows.items()
    }
    # a synchronous call has no submission of its own: as with fio's psync, the whole is the completion
    total = _histogram(measured, names, "total")
    completion = _histogram(measured, names, "completion") or total
    zones = [each.engine.get("zones") or {} for each in measured] if directions == ("write",) else []
    resets = {"drivelab_zone_resets": sum(found["resets"] for found in zones)} if any(zones) else {}
    return resets | {
        "io_bytes": moved,
        "io_kbytes": moved // 1024,
        "bw_bytes": round(moved / seconds) if seconds else 0,
        "bw": round(moved / 1024 / seconds) if seconds else 0,
        "iops": count / seconds if seconds else 0.0,
        "runtime": max(1, round(seconds * 1000)) if count else 0,
        "total_ios": count,
        "short_ios": sum(int(found.get("short", 0)) for found in counts),
        "drop_ios": 0,
        "slat_ns": latency_stats(_histogram(measured, names, "submission"), asked.percentiles.get("slat_ns", ())),
        "clat_ns": latency_stats(completion, asked.percentiles.get("clat_ns", ())),
        "lat_ns": latency_stats(total, asked.percentiles.get("lat_ns", ())),
        **rate_stats(rates["bytes"] / 1024, "bw"),
        # what part of its group's this is: known when all jobs are
        "bw_agg": 0.0,
        **rate_stats(rates["count"], "iops"),
    }


def operations_of(direction: str, measured: Iterable[Measurement]) -> tuple[str, ...]:
    """What fio counts as a direction: its engines that work on files count all that they do as reads."""
    done = dict.fromkeys(share.operation for each in measured for share in each.workload.operations)
    return (direction, *(name for name in done if name in TREE_OPERATIONS)) if direction == "read" else (direction,)


def _window_rates(measured: Measurement, names: Sequence[str], key: str, window_ms: int) -> _Rates:
    """What was done a second in each whole window of so many ms; in all of it, where it has no whole one."""
    rows = measured.intervals
    of_names = pc.is_in(rows["operation"], pa.array(names, pa.string()))
    chosen = rows.filter(pc.and_(of_names, pc.equal(rows["latency"], "total")))
    if not len(chosen):
        return np.empty(0)
    end_ns = max(measured.measured_s * 1e9, float(pc.max(pc.add(chosen["start_ns"], chosen["duration_ns"])).as_py()))
    window_ns = min(window_ms * 1e6, end_ns)
    place = (chosen["start_ns"].to_numpy() // window_ns).astype(np.int64)
    sums = np.bincount(place, weights=chosen[key].to_numpy(), minlength=1)
    # a clock's last tick is no reason to lose a window
    whole = max(1, int(end_ns / window_ns + 1e-3))
    return np.pad(sums, (0, max(0, whole - len(sums))))[:whole].astype(np.float64) * (1e9 / window_ns)


def _summed(rates: Sequence[_Rates]) -> _Rates:
    """The rates of what ran at the same time, together."""
    whole = np.zeros(max(map(len, rates)))
    for of_one in rates:
        whole[: len(of_one)] += of_one
    return whole


def _histogram(measured: Sequence[Measurement], names: Sequence[str], latency: str) -> Histogram | None:
    keys = [(name, latency) for name in names]
    found = [each.histograms[key] for each in measured for key in keys if key in each.histograms]
    return merge(found) if found else None


def _sync(measured: Sequence[Measurement]) -> dict[str, Any]:
    histogram = _histogram(measured, ("sync",), "total")
    count = histogram.total_count if histogram else 0
    return {"total_ios": count, "lat_ns": latency_stats(histogram, PERCENTILES)}


def _spent(measured: Sequence[Measurement], seconds: float, *, job_count: int) -> dict[str, float]:
    """Processor time in percent of the time measured, of all jobs together, as fio reports a group, and events."""
    spent = [each.engine.get("cpu") or {} for each in measured]

    def percent(key: str) -> float:
        return sum(float(each.get(key, 0)) for each in spent) / 1e7 / seconds / max(1, job_count) if seconds else 0.0

    counted = {"ctx": "context_switches", "majf": "major_faults", "minf": "minor_faults"}
    counts = {name: sum(int(each.get(key, 0)) for each in spent) for name, key in counted.items()}
    return {"usr_cpu": percent("user_ns"), "sys_cpu": percent("system_ns"), **counts}


def _shares(measured: Sequence[Measurement], name: str, levels: Sequence[str]) -> dict[str, float]:
    """Shares of levels in percent; zeros of runs that were kept before they were counted."""
    counts = [each.engine.get("achieved", {}).get(name) or [0] * len(levels) for each in measured]
    sums = [sum(of_level) for of_level in zip(*counts, strict=True)]
    whole = sum(sums) or 1
    return {level: 100.0 * count / whole for level, count in zip(levels, sums, strict=True)}
