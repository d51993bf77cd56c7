"""What one trial came to: every published number with its interval.

``docs/metrics.md`` says of each metric from which event to which it goes; a
test holds that page and this file together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.commands import commands_per_operation
from drivelab.analyse.interval_series import (
    IntervalSeries,
    series_from_measurement,
    window_medians_ns,
    without_first_turn,
)
from drivelab.analyse.precision import widened
from drivelab.analyse.quantile import quantile_estimates_from_histogram, quantile_estimates_from_intervals
from drivelab.analyse.ratio import floored_mean, mean_estimate_from_intervals, rate_estimate_from_intervals
from drivelab.analyse.throughput_change import throughput_tenths
from drivelab.analyse.trial_course import DATA_OPERATIONS, course_estimates, course_of_trial, writes_until_one_sync
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.histogram import Histogram
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.measurement import Measurement
from drivelab.model.metric import END_SYNC, FASTEST_WINDOW, ROUND_TRIP, SLOWEST_WINDOW, WINDOW_SPAN
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.windows import windows_of

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
# kept per interval; submission and completion latency are kept for the whole window only
_WITH_SERIES = ("total", "response")
_WHOLE_WINDOW = ("submission", "completion")
# kernels that divide processor time by sampling take one sample per timer tick: HZ=250 is the usual rate
_TICK_NS = 4_000_000
_NORMAL_97_5 = 1.959964
Floats = NDArray[np.float64]
_ENDS_OF_ITS_OWN = ("count", "bytes", "range_end")


def summarise(measured: Measurement, target: TargetFacts | None = None) -> TrialSummary:
    """The numbers of a trial, each with its 95 % interval.

    Parameters
    ----------
    target : TargetFacts, optional
        Says which of the counted devices are drives; needed for arrays only.

    Returns
    -------
    TrialSummary
        Latencies without a prefix are those of the operation that the trial is
        about; other operations have theirs (``sync_total_latency_ns_p99``), and so have all
        operations on files where several are done by turns.
        ``iops`` and ``throughput_bytes_per_s`` are over all reads, writes and
        trims; what is read and written back counts once. What was not measured is left out.
    """
    main = main_operation(measured)
    estimates = _rates(measured)
    estimates |= _latencies(measured, main, f"{main}_" if measured.mixes_file_operations else "")
    others = [operation for operation, latency in measured.histograms if latency == "total" and operation != main]
    for operation in others:
        estimates |= _latencies(measured, operation, f"{operation}_")
    estimates |= _processor_time(measured)
    estimates |= _duration(measured)
    estimates |= _windows(measured, main)
    estimates |= _round_trip(measured)
    estimates |= _queue_depth(measured)
    estimates |= commands_per_operation(measured, target)
    estimates |= course_estimates(course_of_trial(measured, target))
    estimates = widened(estimates, measured)
    label = str(measured.context.get("label") or measured.name)
    return TrialSummary(measured.name, label, main, estimates)


def one_estimate(measured: Measurement, metric: str) -> Estimate | None:
    """One number alone, as `summarise` has it before it is told: a rate, a throughput, or a quantile of a latency."""
    if metric in (RATE, THROUGHPUT):
        return _rates(measured).get(metric)
    latency, _, statistic = metric.partition("_latency_ns_")
    series = series_from_measurement(measured, main_operation(measured), latency)
    if series is None or not series.merged.total_count:
        return None
    return _quantiles(series, without_first_turn(series, measured), [QUANTILES[statistic]])[0]


def main_operation(measured: Measurement) -> str:
    """The operation a trial is about: the one with the largest share; writes until they are durable."""
    largest = max(measured.workload.operations, key=lambda share: share.weight)
    return measured.durable_operation() if largest.operation == "write" else largest.operation


def _rates(measured: Measurement) -> dict[str, Estimate]:
    found = {name: series_from_measurement(measured, name, "total") for name in DATA_OPERATIONS}
    series: dict[str, IntervalSeries] = {name: one for name, one in found.items() if one is not None}
    if not series:
        return {}
    estimates: dict[str, Estimate] = {}
    if len(series) > 1:
        for name, one in series.items():
            estimates[f"{name}_iops"] = _rate(measured, {name: one}, "count", "1/s")
            if _moves_bytes(measured, one.bytes):
                estimates[f"{name}_throughput_bytes_per_s"] = _rate(measured, {name: one}, "bytes", "B/s")
    together = {"read": series["read"]} if _only_rewrites(measured) else series
    moved = np.sum([one.bytes for one in together.values()], axis=0)
    rates = {"iops": _rate(measured, together, "count", "1/s")}
    if not _moves_bytes(measured, moved):
        return rates | estimates
    rates["throughput_bytes_per_s"] = _rate(measured, together, "bytes", "B/s")
    over_time = _end_sync(measured) or throughput_tenths(moved, next(iter(together.values())).duration_ns)
    return rates | over_time | estimates


def _only_rewrites(measured: Measurement) -> bool:
    """Whether everything that was written had been read right before, so that each block counts once."""
    workload = measured.workload
    return workload.rewrite_fraction > 0 and all(share.operation == "read" for share in workload.operations)


def _moves_bytes(measured: Measurement, moved: Floats) -> bool:
    """Whether there is a throughput to tell of: most operations on files have none."""
    return measured.workload.tree is None or bool(np.any(moved))


def _round_trip(measured: Measurement) -> dict[str, Estimate]:
    """What a client and a server take beside a log write, where that was measured for a forecast."""
    value = measured.context.get(ROUND_TRIP)
    return {ROUND_TRIP: _measured_once(float(value), "ns", 1, "median of nine stretches of time")} if value else {}


def _end_sync(measured: Measurement) -> dict[str, Estimate]:
    """How long the writes took, and how long the one sync call behind them; empty where that is not how it went.

    The last tenth of such a trial is the sync call, and its throughput says nothing.
    """
    sync = measured.histograms.get(("sync", "total"))
    writes = measured.operation_count("write")
    if sync is None or not writes_until_one_sync(measured):
        return {}
    window_ns = int(measured.engine.get("measured_ns", 0))
    return {
        "writes_returned_ns": _measured_once(max(0.0, window_ns - sync.mean_ns), "ns", writes, "window less the sync"),
        END_SYNC: _measured_once(sync.mean_ns, "ns", 1, "the one sync call, exact"),
    }


def _rate(measured: Measurement, series: Mapping[str, IntervalSeries], of: str, unit: Unit) -> Estimate:
    counts = np.sum([one.bytes if of == "bytes" else one.count for one in series.values()], axis=0)
    first = next(iter(series.values()))
    amounts, left_ns = _without_turn_of_ramp(counts, first.duration_ns, measured.rated_ns(series))
    return rate_estimate_from_intervals(amounts, left_ns, unit, first.window[-left_ns.shape[0] :])


def _without_turn_of_ramp(counts: Floats, duration_ns: Floats, rated_ns: float) -> tuple[Floats, Floats]:
    """The intervals of the last `rated_ns` of the window; what completed before them is told with the first.

    Before them the drive served what the ramp had begun, which is not counted: their rate is not the drive's.
    """
    edges_ns = np.concatenate(([0.0], np.cumsum(duration_ns)))
    left_ns = np.diff(np.maximum(edges_ns, edges_ns[-1] - rated_ns))
    first = int(np.argmax(left_ns > 0))
    return np.concatenate(([counts[: first + 1].sum()], counts[first + 1 :])), left_ns[first:]


def _latencies(measured: Measurement, operation: str, prefix: str) -> dict[str, Estimate]:
    estimates: dict[str, Estimate] = {}
    of_latency = {latency: series_from_measurement(measured, operation, latency) for latency in _WITH_SERIES}
    settled_of = {name: without_first_turn(one, measured) for name, one in of_latency.items() if one is not None}
    for latency, series in of_latency.items():
        if series is None or not series.merged.total_count:
            continue
        start, settled = f"{prefix}{latency}_latency_ns_", settled_of[latency]
        quantiles = _quantiles(series, settled, list(QUANTILES.values()))
        estimates |= {start + name: found for name, found in zip(QUANTILES, quantiles, strict=True)}
        smallest = series.merged.minimum_ns
        estimates[start + "mean"] = floored_mean(_mean(series, settled), estimates[start + "p50"], smallest)
        estimates |= _extremes(series.merged, start)
    for latency in _WHOLE_WINDOW:
        histogram = measured.histograms.get((operation, latency))
        like = settled_of.get("total")
        if like is None or histogram is None or not histogram.total_count:
            continue
        start = f"{prefix}{latency}_latency_ns_"
        quantiles = quantile_estimates_from_histogram(histogram, list(QUANTILES.values()), like)
        estimates |= {start + name: found for name, found in zip(QUANTILES, quantiles, strict=True)}
        count = histogram.total_count
        estimates[start + "mean"] = _measured_once(histogram.mean_ns, "ns", count, "sum over count, exact")
        estimates |= _extremes(histogram, start)
    return estimates


def _quantiles(series: IntervalSeries, settled: IntervalSeries, at: list[float]) -> list[Estimate]:
    """Quantiles of the whole window, as uncertain as those behind its first turn."""
    if settled is series:
        return quantile_estimates_from_intervals(series, at)
    return quantile_estimates_from_histogram(series.merged, at, settled)


def _mean(series: IntervalSeries, settled: IntervalSeries) -> Estimate:
    """The mean of the whole window, with an interval that holds it and what is behind its first turn."""
    whole = mean_estimate_from_intervals(series)
    behind = whole if settled is series else mean_estimate_from_intervals(settled)
    if whole.value is None or behind.low is None or behind.high is None:
        return whole
    return replace(behind, value=whole.value, low=min(whole.value, behind.low), high=max(whole.value, behind.high))


def _extremes(histogram: Histogram, start: str) -> dict[str, Estimate]:
    count = histogram.total_count
    return {
        start + "min": _measured_once(histogram.minimum_ns, "ns", count, "smallest seen, exact"),
        start + "max": _measured_once(histogram.maximum_ns, "ns", count, "largest seen, exact; the next may be larger"),
    }


def _processor_time(measured: Measurement) -> dict[str, Estimate]:
    count = sum(measured.operation_count(name) for name in DATA_OPERATIONS)
    spent = measured.engine.get("cpu")
    if not count or not spent:
        return {}
    return _processor_share(spent, measured, count) | _processor_time_per_io(spent, count)


def _processor_share(spent: Mapping[str, int | None], measured: Measurement, count: int) -> dict[str, Estimate]:
    window_ns = int(measured.engine.get("measured_ns", 0))
    total_ns = spent.get("total_ns")
    if total_ns is None:
        total_ns = (spent["user_ns"] or 0) + (spent["system_ns"] or 0)
    if not window_ns:
        return {}
    method = "processor time of the job threads over the measured window; 1 is one processor"
    return {"cpu_share": _measured_once(total_ns / window_ns, "1", count, method)}


def _processor_time_per_io(spent: Mapping[str, Any], count: int) -> dict[str, Estimate]:
    method = "processor time of the job threads over operations, measured window"
    if spent.get("total_ns") is None:
        return {
            f"{part}_cpu_ns_per_io": _measured_once(spent[f"{part}_ns"] / count, "ns", count, method)
            for part in ("user", "system")
        }
    total_ns = int(spent["total_ns"])
    return {
        "cpu_ns_per_io": _measured_once(total_ns / count, "ns", count, f"{method}, exact"),
        "user_cpu_ns_per_io": _sampled_part(spent["user_ns"], spent["system_ns"], total_ns, count),
        "system_cpu_ns_per_io": _sampled_part(spent["system_ns"], spent["user_ns"], total_ns, count),
    }


def _duration(measured: Measurement) -> dict[str, Estimate]:
    """How long the whole took, of what has an end of its own: so many operations, or so many bytes."""
    window_ns = int(measured.engine.get("measured_ns", 0))
    if not window_ns or measured.engine.get("stopped_by") not in _ENDS_OF_ITS_OWN:
        return {}
    return {"duration_ns": _measured_once(window_ns, "ns", 1, "the measured window, exact")}


def _windows(measured: Measurement, main: str) -> dict[str, Estimate]:
    """From when to when it was measured, and how fast at most and at least, of what was measured in several windows."""
    windows = windows_of(measured)
    count = len(windows)
    # most trials have one: nothing is gone through again for them
    series = series_from_measurement(measured, main, "total") if count > 1 else None
    if series is None:
        return {}
    span_ns = windows[-1].begun_after_ns + windows[-1].measured_ns
    medians = window_medians_ns(series)
    return {
        WINDOW_SPAN: _measured_once(span_ns, "ns", count, "from the first window to the last, exact"),
        FASTEST_WINDOW: _measured_once(min(medians), "ns", count, "lowest of the windows' medians"),
        SLOWEST_WINDOW: _measured_once(max(medians), "ns", count, "highest of the windows' medians"),
    }


def _sampled_part(part_ns: int, rest_ns: int, total_ns: int, count: int) -> Estimate:
    """A part of the exact processor time per operation, where ticks of the timer decided how it divides."""
    per_operation, ticks = total_ns / count, total_ns / _TICK_NS
    both_ns = part_ns + rest_ns
    method = "share of the timer ticks times the exact total; Wilson interval over one tick per 4 ms"
    if not both_ns:
        return Estimate(None, 0.0, per_operation, "ns", 0, 0.0, f"{method}: no tick fell into it")
    low, high = wilson_interval(part_ns / both_ns, ticks)
    share = part_ns / both_ns
    return Estimate(
        share * per_operation, low * per_operation, high * per_operation, "ns", math.floor(ticks), ticks, method
    )


def wilson_interval(share: float, trials: float) -> tuple[float, float]:
    """The 95 % interval of a share that was seen in so many independent trials (Wilson 1927)."""
    square = _NORMAL_97_5**2
    middle = (trials * share + square / 2) / (trials + square)
    half = _NORMAL_97_5 * math.sqrt(trials * share * (1 - share) + square / 4) / (trials + square)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def _queue_depth(measured: Measurement) -> dict[str, Estimate]:
    achieved = measured.engine.get("achieved", {}).get("queue_depth_mean")
    asked = _measured_once(measured.workload.queue_depth, "1", 1, "as asked, per job")
    if achieved is None:
        return {"queue_depth_asked": asked}
    method = "time spent in I/O over time passed, per job (Little's law)"
    count = sum(measured.operation_count(name) for name in DATA_OPERATIONS)
    return {"queue_depth_asked": asked, "queue_depth_achieved": _measured_once(achieved, "1", count, method)}


def _measured_once(value: float, unit: Unit, count: int, method: str) -> Estimate:
    """A total that was read off once and has no interval."""
    return Estimate(float(value), None, None, unit, count, float(count), method)
