"""Numbers of one direction of a fio job, in ns and bytes whatever the version, and those of several clones together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from drivelab.interop.json_fields import JsonFields
from drivelab.model.histogram import SUB_BUCKET_BITS, Histogram, merge

KINDS = ("slat", "clat", "lat")
# as many as one direction of a job can have are 1,856; more is a broken file
_BINS_MAX = 20_000


@dataclass(frozen=True, slots=True)
class LatencyStats:
    """What fio tells of one latency.

    Attributes
    ----------
    count : int
        Latencies behind it.
    percentiles : mapping of float to float
        ns by per cent.
    histogram : Histogram or None
        From the bins of JSON+: minimum and maximum exact, all others the middle of fio's bin, within 0.8 %.
    """

    count: int
    minimum_ns: float
    maximum_ns: float
    mean_ns: float
    percentiles: Mapping[float, float] = field(default_factory=dict)
    histogram: Histogram | None = None


@dataclass(frozen=True, slots=True)
class DirectionStats:
    """What fio tells of one direction of a job.

    Attributes
    ----------
    count, bytes : int
        I/Os completed, and what they moved.
    latencies : mapping of str to LatencyStats
        ``slat``, ``clat`` and ``lat``, those that were measured.
    """

    count: int
    bytes: int
    iops: float
    bytes_per_s: float
    runtime_ns: int
    latencies: Mapping[str, LatencyStats] = field(default_factory=dict)


def direction_stats(fields: JsonFields) -> DirectionStats | None:
    """The numbers of one direction; None when nothing was issued in it.

    Raises
    ------
    DrivelabError
        I503: a field cannot be read.
    """
    # before version 3 latencies are in us under other names, and io_bytes is in KiB
    is_new = any(f"{kind}_ns" in fields.values for kind in KINDS)
    moved = fields.number("io_bytes", 0) * (1 if is_new else 1024)
    rate = fields.number("bw_bytes") if "bw_bytes" in fields.values else fields.number("bw", 0) * 1024
    found = {
        kind: stats
        for kind in KINDS
        if (stats := latency_stats(fields.below(f"{kind}_ns" if is_new else kind), 1 if is_new else 1000))
    }
    told = [stats.count for stats in found.values()]
    count = int(fields.number("total_ios", max(told, default=0)))
    if not count and not moved:
        return None
    return DirectionStats(
        count=count,
        bytes=int(moved),
        iops=fields.number("iops", 0),
        bytes_per_s=rate,
        runtime_ns=round(fields.number("runtime", 0) * 1e6),
        latencies=found,
    )


def latency_stats(fields: JsonFields, unit_ns: int = 1) -> LatencyStats | None:
    """The numbers of one latency; None where it was not measured, which fio writes as zeros.

    Raises
    ------
    DrivelabError
        I503: a field cannot be read.
    """
    values = fields.values
    mean = fields.number("mean", 0)
    # old versions do not tell how many there are
    if not values or ("N" in values and not fields.number("N")) or ("N" not in values and not mean):
        return None
    count = int(fields.number("N", 0))
    lowest, highest = fields.number("min", 0) * unit_ns, fields.number("max", 0) * unit_ns
    mean_ns = mean * unit_ns
    return LatencyStats(
        count=count,
        minimum_ns=lowest,
        maximum_ns=highest,
        mean_ns=mean_ns,
        percentiles=dict(_percentiles(fields.below("percentile"), unit_ns)),
        histogram=_histogram(fields.below("bins"), unit_ns, lowest, highest, mean_ns),
    )


def together(stats: Sequence[DirectionStats]) -> DirectionStats:
    """Clones of one job that ran side by side as one: rates are added, percentiles are there only with bins."""
    if len(stats) == 1:
        return stats[0]
    found = {}
    for kind in KINDS:
        known = [one.latencies[kind] for one in stats if kind in one.latencies]
        if len(known) == len(stats):
            found[kind] = _latencies_together(known)
    return DirectionStats(
        count=sum(one.count for one in stats),
        bytes=sum(one.bytes for one in stats),
        iops=sum(one.iops for one in stats),
        bytes_per_s=sum(one.bytes_per_s for one in stats),
        runtime_ns=max(one.runtime_ns for one in stats),
        latencies=found,
    )


def sync_together(stats: Sequence[LatencyStats]) -> LatencyStats | None:
    """Latencies of the sync calls of clones as one; None without any."""
    return _latencies_together(stats) if stats else None


def _latencies_together(stats: Sequence[LatencyStats]) -> LatencyStats:
    if len(stats) == 1:
        return stats[0]
    counts = [one.count or 1 for one in stats]
    histograms = [one.histogram for one in stats if one.histogram is not None]
    whole = merge(histograms) if len(histograms) == len(stats) else None
    return LatencyStats(
        count=sum(one.count for one in stats),
        minimum_ns=min(one.minimum_ns for one in stats),
        maximum_ns=max(one.maximum_ns for one in stats),
        mean_ns=sum(count * one.mean_ns for count, one in zip(counts, stats, strict=True)) / sum(counts),
        percentiles={per_cent: whole.quantile_ns(per_cent / 100) for per_cent in _SHARED} if whole else {},
        histogram=whole,
    )


# those that drivelab has metrics of
_SHARED = (50.0, 90.0, 99.0, 99.9, 99.99)


def _percentiles(fields: JsonFields, unit_ns: int) -> Iterator[tuple[float, float]]:
    for name in fields.values:
        try:
            per_cent = float(name)
        except ValueError:
            raise fields.broken("it is no per cent", name) from None
        yield per_cent, fields.number(name) * unit_ns


def _histogram(
    fields: JsonFields, unit_ns: int, lowest_ns: float, highest_ns: float, mean_ns: float
) -> Histogram | None:
    """The bins as a histogram of ours: each lies in the bucket of its middle, so that equal bins stay equal."""
    if not fields.values:
        return None
    if len(fields.values) > _BINS_MAX:
        raise fields.broken(f"more than {_BINS_MAX} bins", next(iter(fields.values)))
    counts: dict[int, int] = {}
    for name in fields.values:
        if not name.isdecimal() or len(name) > 18:
            raise fields.broken("it is no time in ns", name)
        count = int(fields.number(name))
        if count:
            bucket = bucket_of(int(name) * unit_ns)
            counts[bucket] = counts.get(bucket, 0) + count
    if not counts:
        return None
    buckets = sorted(counts)
    total = sum(counts.values())
    return Histogram(
        bucket=np.array(buckets, np.int64),
        count=np.array([counts[bucket] for bucket in buckets], np.int64),
        minimum_ns=int(lowest_ns),
        maximum_ns=int(highest_ns),
        sum_ns=min(round(mean_ns * total), 2**63 - 1),
    )


def bucket_of(value_ns: int) -> int:
    """The bucket of a histogram of ours that a value lies in."""
    octave = max(0, value_ns.bit_length() - SUB_BUCKET_BITS - 1)
    return octave * (1 << SUB_BUCKET_BITS) + (value_ns >> octave)
