"""A workload that many hosts issued at the same time: what each measured, and what they came to together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from drivelab.model.histogram import Histogram


@dataclass(frozen=True, slots=True)
class TogetherPart:
    """What one target measured.

    Attributes
    ----------
    key : str
        Which: ``host/target``.
    window_unix_ns : int
        When its window began, in nanoseconds since 1970 by the clock of whoever asked.
    jobs_unix_ns : (int, int)
        When its first and its last job began to issue.
    error_ns : int
        How far these may be off.
    measured_ns : int
        Length of its window.
    intervals : pyarrow.Table
        As a measurement has them.
    histograms : mapping of (str, str) to Histogram
        Of its whole window, by operation and latency.
    voids : mapping of str to str
        Findings by which its numbers do not describe the storage: codes, with their words.
    """

    key: str
    window_unix_ns: int
    jobs_unix_ns: tuple[int, int]
    error_ns: int
    measured_ns: int
    intervals: pa.Table
    histograms: Mapping[tuple[str, str], Histogram]
    voids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartRate:
    """What one target did in the time in which all were at work.

    Attributes
    ----------
    key, operation : str
        Which, and what.
    count, byte_count : float
        Done in that time; an interval that lies in it in part counts for that part.
    rate_per_s, throughput_bytes_per_s : float
        The same for a second.
    latencies : Histogram
        Total latencies of its whole window.
    """

    key: str
    operation: str
    count: float
    byte_count: float
    rate_per_s: float
    throughput_bytes_per_s: float
    latencies: Histogram

    def to_json(self) -> dict[str, Any]:
        """As it is printed."""
        return {
            "target": self.key,
            "operation": self.operation,
            **_done_json(self.count, self.byte_count, self.rate_per_s, self.throughput_bytes_per_s),
            **_latency_json(self.latencies),
        }


@dataclass(frozen=True, slots=True)
class TogetherAnswer:
    """What many targets did at the same time.

    Attributes
    ----------
    window_ns : int
        How long all were at work at once; 0 where they never were.
    begin_spread_ns : int
        From the first job of all that began to issue to the last.
    clock_error_ns : int
        How far that may be off.
    totals : mapping of str to (float, float)
        Of each operation what all did in that time: operations and bytes.
    latencies : mapping of str to Histogram
        Total latencies of all, each counted once, by operation.
    voids : mapping of str to (str, sequence of str)
        Findings by which numbers do not describe the storage, by code: the words for the first target, and all of them.
    """

    window_ns: int
    begin_spread_ns: int
    clock_error_ns: int
    rates: tuple[PartRate, ...]
    totals: Mapping[str, tuple[float, float]]
    latencies: Mapping[str, Histogram]
    voids: Mapping[str, tuple[str, Sequence[str]]]

    def to_json(self) -> dict[str, Any]:
        """As it is printed."""
        seconds = self.window_ns / 1e9
        totals = {
            operation: {
                **_done_json(count, moved, *((count / seconds, moved / seconds) if seconds else (0.0, 0.0))),
                **_latency_json(self.latencies[operation]),
            }
            for operation, (count, moved) in self.totals.items()
        }
        return {
            "meanings": _MEANINGS,
            "window_ns": self.window_ns,
            "begin_spread_ns": self.begin_spread_ns,
            "clock_error_ns": self.clock_error_ns,
            "totals": totals,
            "voids": {code: {"text": text, "targets": list(keys)} for code, (text, keys) in self.voids.items()},
            "targets": [rate.to_json() for rate in self.rates],
        }


def _done_json(count: float, moved: float, rate: float, throughput: float) -> dict[str, float]:
    return {"count": round(count), "bytes": round(moved), "rate_per_s": rate, "throughput_bytes_per_s": throughput}


def _latency_json(latencies: Histogram) -> dict[str, float]:
    """Latencies of whole windows, which have more I/Os than the time in which all worked."""
    return {
        "latency_count": latencies.total_count,
        "total_latency_ns_min": latencies.minimum_ns,
        "total_latency_ns_mean": latencies.mean_ns,
        **{f"total_latency_ns_{name}": latencies.quantile_ns(at) for name, at in _QUANTILES},
        "total_latency_ns_max": latencies.maximum_ns,
    }


_MEANINGS = {
    "count, bytes, rates": "of the window_ns in which all worked; an interval that lies in them in part counts for that"
    " part, so bytes need be no multiple of a block",
    "latency_count, latencies": "of the whole window of each target, each I/O once and none divided",
}
_QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999))
