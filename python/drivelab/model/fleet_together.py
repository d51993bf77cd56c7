"""A workload that many hosts issued at the same time: what each measured, and what they came to together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
    rate_per_s, throughput_bytes_per_s : float
        Its rates.
    total_latency_ns_p50, total_latency_ns_p99 : float
        Of its whole window.
    """

    key: str
    operation: str
    rate_per_s: float
    throughput_bytes_per_s: float
    total_latency_ns_p50: float
    total_latency_ns_p99: float


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
    rates : tuple of PartRate
        Of each target and operation.
    totals : mapping of str to (float, float)
        Of each operation what all did in a second of that time: operations and bytes.
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
        totals = {
            operation: {
                "rate_per_s": rate,
                "throughput_bytes_per_s": moved,
                "count": self.latencies[operation].total_count,
                **{f"total_latency_ns_{name}": self.latencies[operation].quantile_ns(at) for name, at in _QUANTILES},
            }
            for operation, (rate, moved) in self.totals.items()
        }
        return {
            "window_ns": self.window_ns,
            "begin_spread_ns": self.begin_spread_ns,
            "clock_error_ns": self.clock_error_ns,
            "totals": totals,
            "voids": {code: {"text": text, "targets": list(keys)} for code, (text, keys) in self.voids.items()},
            "targets": [asdict(rate) for rate in self.rates],
        }


_QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999))
