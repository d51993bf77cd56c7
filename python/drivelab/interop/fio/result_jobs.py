"""Makes a trial of a fio job: its directions become operations, its latencies ours as far as they mean the same."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from drivelab.interop.fio.result_options import Asked, is_one_call
from drivelab.interop.fio.result_stats import (
    DirectionStats,
    LatencyStats,
    direction_stats,
    latency_stats,
    sync_together,
    together,
)
from drivelab.interop.foreign import ForeignTrial, told, workload_name
from drivelab.interop.json_fields import JsonFields
from drivelab.model.estimate import Estimate
from drivelab.model.histogram import Histogram

_DIRECTIONS = ("read", "write", "trim")
_QUANTILES = {50.0: "p50", 90.0: "p90", 99.0: "p99", 99.9: "p999", 99.99: "p9999"}
# with fewer I/Os they lie all on one side of the quantile more often than once in forty times
_FEWEST = {"p50": 6, "p90": 36, "p99": 368, "p999": 3688, "p9999": 36888}
_LATENCIES = {"slat": "submission", "clat": "completion", "lat": "total"}
# clat of a call that submits and waits is what the program waited, but for what fio does around it
_SAME_MEAN_RATIO = 1.05


@dataclass(frozen=True, slots=True)
class JobResult:
    """A job, or clones of one that ran side by side.

    Attributes
    ----------
    name : str
        As its section is called.
    group : int
        fio's ``groupid``.
    host : str
        The client that it ran on; empty without clients.
    asked : Asked
        What its options say.
    parts : tuple of JsonFields
        Its entries in the document.
    """

    name: str
    group: int
    host: str
    asked: Asked
    parts: tuple[JsonFields, ...]


def trial_of_job(job: JobResult) -> tuple[ForeignTrial | None, list[str]]:
    """The trial that a job is, and what has to be said of it; None when it issued nothing and did not fail.

    Raises
    ------
    DrivelabError
        I503: a field cannot be read.
    """
    directions = _directions(job)
    failure = _failure(job)
    if not directions and not failure:
        return None, [f"job {job.name} issued nothing: it is left out"]
    main = _main_operation(job, directions)
    sync = sync_together([one for part in job.parts if (one := latency_stats(part.below("sync", "lat_ns")))])
    is_synced = bool(job.asked.sync_every and sync and "write" in directions)
    if is_synced and main == "write":
        main = "durable_write"
    notes: list[str] = []
    estimates = dict(_rates(directions))
    histograms: dict[tuple[str, str], Histogram] = {}
    for name, stats in directions.items():
        prefix = f"{name}_" if name != main else ""
        found, whole, why = _latencies(job, name, stats, prefix)
        estimates |= found
        histograms |= whole
        notes += why
    if sync is not None:
        estimates |= _of_latency(sync, "sync_total_latency_ns_", "sync lat_ns")
        histograms |= {("sync", "total"): sync.histogram} if sync.histogram else {}
    if is_synced and sync is not None:
        estimates |= _durable(job, directions, sync, "" if main == "durable_write" else "durable_write_")
        notes.append(
            "fio times a write and its sync call apart: a durable write has their mean together, and no quantiles"
        )
    processor_ns = _processor_ns(job)
    count = sum(stats.count for stats in directions.values())
    if count:
        method = "usr_cpu and sys_cpu of the jobs over I/Os"
        estimates |= {
            f"{part}_cpu_ns_per_io": told(spent / count, "ns", method, count)
            for part, spent in (("user", processor_ns.get("user_ns")), ("system", processor_ns.get("system_ns")))
            if spent is not None
        }
    window_ns = max((stats.runtime_ns for stats in directions.values()), default=0)
    if processor_ns and window_ns:
        method = "usr_cpu and sys_cpu over the time of the job"
        estimates["cpu_share"] = told(sum(processor_ns.values()) / window_ns, "1", method, count)
    return _trial(job, directions, main, estimates, histograms, failure), notes


def _trial(
    job: JobResult,
    directions: Mapping[str, DirectionStats],
    operation: str,
    estimates: Mapping[str, Estimate],
    histograms: Mapping[tuple[str, str], Histogram],
    failure: str,
) -> ForeignTrial:
    first = job.parts[0]
    errors = int(sum(part.number("total_err", 0) for part in job.parts))
    operations = {
        name: {"count": stats.count, "bytes": stats.bytes, "errors": errors if place == 0 else 0}
        for place, (name, stats) in enumerate(directions.items())
    }
    return ForeignTrial(
        workload=workload_name(job.name),
        title=job.name[:80],
        operation=operation,
        known=job.asked.known,
        estimates=estimates,
        line=first.line,
        parameters=job.asked.parameters,
        machine=job.host,
        drive=job.asked.drive,
        operations=operations,
        histograms=histograms,
        measured_ns=max((stats.runtime_ns for stats in directions.values()), default=0),
        backend=job.asked.backend,
        is_direct=job.asked.known.direct if "direct" in job.asked.known.model_fields_set else None,
        processor_ns=_processor_ns(job),
        failure=failure,
        details={"job": job.name, "groupid": job.group, "description": first.text("desc")},
    )


def _directions(job: JobResult) -> dict[str, DirectionStats]:
    """Those in which something was issued; all of them together where fio did not keep them apart."""
    found = {}
    for name in (*_DIRECTIONS, "mixed"):
        stats = [one for part in job.parts if (one := direction_stats(part.below(name))) is not None]
        if stats:
            found[name] = together(stats)
    if len(found) > 1:
        # unified_rw_reporting=both: what is mixed stands there once more
        found.pop("mixed", None)
    return found


def _main_operation(job: JobResult, directions: Mapping[str, DirectionStats]) -> str:
    if job.asked.is_known and "operations" in job.asked.known.model_fields_set:
        shares = {share.operation: share.weight for share in job.asked.known.operations}
        known = [name for name in directions if name in shares]
        if known:
            return max(known, key=lambda name: shares[name])
    return max(directions, key=lambda name: directions[name].count, default="read")


def _failure(job: JobResult) -> str:
    numbers = sorted({int(part.number("error", 0)) for part in job.parts} - {0})
    words = [f"{number} ({os.strerror(number)})" if number < 200 else str(number) for number in numbers]
    return f"fio ended job {job.name} with error {' and '.join(words)}" if numbers else ""


def _rates(directions: Mapping[str, DirectionStats]) -> Iterator[tuple[str, Estimate]]:
    if not directions:
        return
    several = len(directions) > 1
    if several:
        for name, stats in directions.items():
            yield f"{name}_iops", told(stats.iops, "1/s", "iops", stats.count)
            yield f"{name}_throughput_bytes_per_s", told(stats.bytes_per_s, "B/s", "bw_bytes", stats.count)
    count = sum(stats.count for stats in directions.values())
    added = ", the directions added" if several else ""
    yield "iops", told(sum(stats.iops for stats in directions.values()), "1/s", f"iops{added}", count)
    moved = sum(stats.bytes_per_s for stats in directions.values())
    yield "throughput_bytes_per_s", told(moved, "B/s", f"bw_bytes{added}", count)


def _latencies(
    job: JobResult, operation: str, stats: DirectionStats, prefix: str
) -> tuple[dict[str, Estimate], dict[tuple[str, str], Histogram], list[str]]:
    estimates: dict[str, Estimate] = {}
    histograms: dict[tuple[str, str], Histogram] = {}
    notes: list[str] = []
    whole = stats.latencies.get("lat")
    one_call = _waits_in_one_call(job, stats)
    for kind, name in _LATENCIES.items():
        latency = stats.latencies.get(kind)
        if latency is None or (one_call and kind == "clat"):
            continue
        estimates |= _of_latency(latency, f"{prefix}{name}_latency_ns_", kind)
        if latency.histogram is not None:
            histograms[operation, name] = latency.histogram
    call = stats.latencies.get("clat")
    if one_call and call is not None and whole is not None and not whole.percentiles:
        estimates |= dict(_quantiles(call, f"{prefix}total_latency_ns_", "clat"))
        if call.histogram is not None:
            histograms[operation, "total"] = call.histogram
        notes.append("quantiles of synchronous engines are those of clat, which is the whole call")
    elif whole is not None and not whole.percentiles:
        notes.append(
            "without lat_percentiles=1 fio tells percentiles of clat only: of asynchronous engines they are "
            "those of the completion latency, and the total latency has its mean alone"
        )
    if not stats.latencies:
        notes.append(f"latencies of {job.name} were not measured: they are missing, not 0")
    return estimates, histograms, notes


def _waits_in_one_call(job: JobResult, stats: DirectionStats) -> bool:
    """Whether clat is the whole call: an engine that submits and waits at once, and means that say so too."""
    call, whole = stats.latencies.get("clat"), stats.latencies.get("lat")
    if call is None or whole is None or "slat" in stats.latencies:
        return False
    is_engine = not job.asked.is_known or is_one_call(job.asked.engine)
    return is_engine and whole.mean_ns <= _SAME_MEAN_RATIO * call.mean_ns


def _of_latency(stats: LatencyStats, start: str, name: str) -> dict[str, Estimate]:
    found = {
        f"{start}mean": told(stats.mean_ns, "ns", f"{name} mean", stats.count),
        f"{start}min": told(stats.minimum_ns, "ns", f"{name} min", stats.count),
        f"{start}max": told(stats.maximum_ns, "ns", f"{name} max; the next may be larger", stats.count),
    }
    return found | dict(_quantiles(stats, start, name))


def _quantiles(stats: LatencyStats, start: str, name: str) -> Iterator[tuple[str, Estimate]]:
    for per_cent, quantile in _QUANTILES.items():
        value = stats.percentiles.get(per_cent)
        if value is None:
            continue
        if stats.count and stats.count < _FEWEST[quantile]:
            method = f"{name}: too few I/Os for this quantile; what these were"
            yield f"{start}{quantile}", Estimate(None, None, None, "ns", stats.count, 1.0, method, observed=value)
        else:
            yield f"{start}{quantile}", told(value, "ns", f"{name} percentile, within 0.8 %", stats.count)


def _durable(
    job: JobResult, directions: Mapping[str, DirectionStats], sync: LatencyStats, prefix: str
) -> dict[str, Estimate]:
    write, every = directions["write"], job.asked.sync_every
    whole = write.latencies.get("lat")
    if whole is None:
        return {}
    # a write waits for the others before its sync call, too: half of them on average
    writes = (every + 1) / 2
    each_ns, of = whole.mean_ns, "lat_ns mean of writes"
    if job.asked.known.queue_depth > 1:
        # writes that overlap, and that end while fio waits for a sync: what counts is how far they are apart
        if job.asked.clones > 1 or set(directions) != {"write"} or write.iops <= 0:
            return {}
        each_ns, of = 1e9 / write.iops - sync.mean_ns / every, "time of a write between sync calls"
        if each_ns <= 0:
            return {}
    times = "" if every == 1 else f"{writes:g} times the "
    method = f"{times}{of} plus lat_ns mean of their sync calls"
    return {f"{prefix}total_latency_ns_mean": told(writes * each_ns + sync.mean_ns, "ns", method, sync.count)}


def _processor_ns(job: JobResult) -> dict[str, float]:
    """Shares of the time that the jobs ran, as time."""
    if not all("job_runtime" in part.values for part in job.parts):
        return {}
    return {
        name: sum(part.number(key, 0) / 100 * part.number("job_runtime") * 1e6 for part in job.parts)
        for name, key in (("user_ns", "usr_cpu"), ("system_ns", "sys_cpu"))
    }
