"""One fio job result of one trial, or of all repeats of one combination."""

from __future__ import annotations

import errno
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow.compute as pc

from drivelab.interop.fio.exported_options import job_options
from drivelab.interop.fio.exported_stats import PERCENTILES, latency_distribution, latency_stats, rate_stats
from drivelab.model.histogram import Histogram, merge
from drivelab.model.measurement import DeviceCounts, Measurement

Trials = Sequence[Sequence[Measurement]]
_Rates = np.ndarray[Any, np.dtype[np.float64]]
_DIRECTIONS = ("read", "write", "trim")
_CALL_LEVELS = ("0", "4", "8", "16", "32", "64", ">=64")
_DEPTH_LEVELS = ("1", "2", "4", "8", "16", "32", ">=64")


# of which latencies there are percentiles: as readers of this project's exports want it
USUAL_PERCENTILES = {"clat_ns": PERCENTILES, "lat_ns": PERCENTILES}


def asked_percentiles(options: Mapping[str, str]) -> dict[str, Sequence[float]]:
    """Of which latencies fio writes which percentiles, with these options of a job."""
    asked = options.get("percentile_list", "")
    listed = tuple(float(each) for each in asked.split(":") if each.strip()) or PERCENTILES
    defaults = {"slat": "0", "clat": "1", "lat": "0"}
    words = {f"{name}_ns": options.get(f"{name}_percentiles", usual) for name, usual in defaults.items()}
    return {name: listed for name, word in words.items() if word != "0"}


def job_result(
    name: str,
    trials: Trials,
    group: int = 0,
    percentiles: Mapping[str, Sequence[float]] = USUAL_PERCENTILES,
) -> dict[str, Any]:
    """What fio writes about a job, from its trials.

    Parameters
    ----------
    name : str
        Name of the job.
    trials : sequence of sequence of Measurement
        Those one after the other, of each the ones at the same time: latencies are merged without loss, and rates
        are over the sum of the longest times.
    group : int
        fio's ``groupid``.
    percentiles : mapping of str to sequence of float
        Which are written of ``slat_ns``, ``clat_ns`` and ``lat_ns``.
    """
    measured = [each for together in trials for each in together]
    seconds = sum(max(each.measured_s for each in together) for together in trials)
    first = measured[0]
    spent = _spent(measured, seconds, job_count=sum(each.workload.job_count for each in trials[0]))
    backend = str(first.engine.get("backend", {}).get("name", first.workload.backend))
    return {
        "jobname": name,
        "groupid": group,
        "error": _error(measured),
        "eta": 0,
        "elapsed": max(1, math.ceil(seconds)),
        "job options": {"name": name} | job_options(first.workload, backend),
        **{name: _direction(trials, name, percentiles) for name in _DIRECTIONS},
        "sync": _sync(measured),
        "job_runtime": round(sum(each.measured_s * each.workload.job_count for each in measured) * 1000),
        **spent,
        "iodepth_level": _shares(measured, "outstanding_levels", _DEPTH_LEVELS),
        "iodepth_submit": _shares(measured, "sent_levels", _CALL_LEVELS),
        "iodepth_complete": _shares(measured, "found_levels", _CALL_LEVELS),
        **latency_distribution([found for each in _DIRECTIONS if (found := _histogram(measured, each, "total"))]),
        "latency_depth": first.workload.queue_depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    }


def _error(measured: Sequence[Measurement]) -> int:
    """The number of the error that ended a trial; 0 where none did."""
    ended = (each.engine.get("errors") for each in measured if each.engine.get("stopped_by") == "error")
    return next((int(getattr(errno, errors[0]["name"], errno.EIO)) for errors in ended if errors), 0)


def with_shares(jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The job results, with what part each has of the bytes a second of its group, in %."""
    moved: Counter[tuple[int, str]] = Counter()
    longest_ms: dict[tuple[int, str], int] = {}
    for job in jobs:
        for direction in _DIRECTIONS:
            key = job["groupid"], direction
            moved[key] += job[direction]["io_bytes"]
            longest_ms[key] = max(longest_ms.get(key, 0), job[direction]["runtime"])

    def share(job: Mapping[str, Any], direction: str) -> float:
        key = job["groupid"], direction
        if not moved[key] or not longest_ms[key]:
            return 0.0
        return min(100.0, 100.0 * float(job[direction]["bw_mean"]) / (moved[key] * 1000 / longest_ms[key] / 1024))

    return [job | {name: job[name] | {"bw_agg": share(job, name)} for name in _DIRECTIONS} for job in jobs]


def disk_utilisation(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
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
        "disk_util": disk_utilisation(measured),
    }


def _direction(trials: Trials, direction: str, percentiles: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    measured = [each for together in trials for each in together]
    # so that the counts over the time are the rates: of a window behind a ramp it is shorter than the window
    seconds = sum(max(each.rated_ns([direction]) for each in together) for together in trials) / 1e9
    counts = [each.engine["operations"].get(direction, {}) for each in measured]
    count, moved = (sum(int(found.get(key, 0)) for found in counts) for key in ("count", "bytes"))
    of_each = [[_interval_rates(each, direction) for each in together] for together in trials]
    rates = {
        key: np.concatenate([_summed([rates[key] for rates in together]) for together in of_each])
        for key in ("bytes", "count")
    }
    # a synchronous call has no submission of its own: as with fio's psync, the whole is the completion
    total = _histogram(measured, direction, "total")
    completion = _histogram(measured, direction, "completion") or total
    zones = [each.engine.get("zones") or {} for each in measured] if direction == "write" else []
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
        "slat_ns": latency_stats(_histogram(measured, direction, "submission"), percentiles.get("slat_ns", ())),
        "clat_ns": latency_stats(completion, percentiles.get("clat_ns", ())),
        "lat_ns": latency_stats(total, percentiles.get("lat_ns", ())),
        **rate_stats(rates["bytes"] / 1024, "bw"),
        # what part of its group's this is: known when all jobs are
        "bw_agg": 0.0,
        **rate_stats(rates["count"], "iops"),
    }


def _interval_rates(measured: Measurement, direction: str) -> Mapping[str, _Rates]:
    """Bytes and I/Os per second in each interval."""
    rows = measured.intervals
    chosen = rows.filter(pc.and_(pc.equal(rows["operation"], direction), pc.equal(rows["latency"], "total")))
    duration_s = chosen["duration_ns"].to_numpy() / 1e9
    lasted = duration_s > 0
    return {key: chosen[key].to_numpy()[lasted] / duration_s[lasted] for key in ("bytes", "count")}


def _summed(rates: Sequence[_Rates]) -> _Rates:
    """The rates of what ran at the same time, together."""
    whole = np.zeros(max(map(len, rates)))
    for of_one in rates:
        whole[: len(of_one)] += of_one
    return whole


def _histogram(measured: Sequence[Measurement], operation: str, latency: str) -> Histogram | None:
    found = [each.histograms[operation, latency] for each in measured if (operation, latency) in each.histograms]
    return merge(found) if found else None


def _sync(measured: Sequence[Measurement]) -> dict[str, Any]:
    histogram = _histogram(measured, "sync", "total")
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
