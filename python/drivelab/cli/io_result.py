"""What one workload came to, as plain data and as text.

Asked and achieved stand side by side. A quantile that the data cannot carry is
null: the largest of 500 values is not a p99.9.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from drivelab.model.finding import Finding
from drivelab.model.histogram import Histogram
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import format_bytes, format_duration_ns, format_rate_bytes_per_s, format_rate_per_s
from drivelab.model.workload import OPERATIONS

SCHEMA = 1
QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999)
# with fewer values than this above a quantile, its 95 % interval has no upper end
_VALUES_ABOVE_MIN = math.log(1 / 0.025)
_INTERVAL_LATENCIES = ("total", "response")


def io_json(
    measured: Measurement, target: TargetFacts, summary: TrialSummary | None, findings: Sequence[Finding]
) -> dict[str, Any]:
    """Everything about a workload that ran, as plain data.

    Notes
    -----
    ``iops`` and ``throughput_bytes_per_s`` cover reads, writes and trims of
    the measured window. Latencies of ``sync`` are those of the sync call
    alone, of ``durable_write`` from the write's start until the sync call
    that covers it has returned.
    """
    engine = measured.engine
    asked = measured.workload
    count = sum(measured.operation_count(operation) for operation in OPERATIONS)
    moved = sum(int(engine["operations"].get(operation, {}).get("bytes", 0)) for operation in OPERATIONS)
    rated_s = measured.rated_ns(OPERATIONS) / 1e9
    return {
        "schema": SCHEMA,
        "target": target.text,
        "workload": asked.model_dump(mode="json"),
        "asked": {
            "backend": asked.backend,
            "queue_depth": asked.queue_depth,
            "job_count": asked.job_count,
            "direct": asked.direct,
        },
        "achieved": engine["achieved"]
        | {"backend": engine["backend"]["name"], "backend_reason": engine["backend"]["reason"]},
        "clock": engine["clock"],
        "measured_ns": engine["measured_ns"],
        "ramp_ns": engine["ramp_ns"],
        "drain_ns": engine["drain_ns"],
        "stopped_by": engine["stopped_by"],
        "iops": count / rated_s if rated_s else None,
        "throughput_bytes_per_s": moved / rated_s if rated_s else None,
        "operations": {name: _operation_json(measured, name) for name in operation_names(measured)},
        **cpu_json(engine["cpu"], count),
        "error_count": sum(int(counts.get("errors", 0)) for counts in engine["operations"].values()),
        "errors": engine["errors"],
        "arrivals": engine["arrivals"],
        "all_phases": engine["all_phases"],
        "zones": engine.get("zones"),
        "devices": [_device_json(asdict(counts), measured) for counts in measured.devices],
        "context": measured.context,
        "intervals": _intervals_json(measured.intervals),
        "judged_operation": summary.operation if summary else None,
        "estimates": {name: estimate.to_json() for name, estimate in summary.estimates.items()} if summary else {},
        "findings": [finding.to_json() for finding in findings],
    }


def cpu_json(spent: Mapping[str, int], count: int) -> dict[str, float | None]:
    """Processor time of the job threads per I/O; its parts are None when no timer tick fell into the window.

    Notes
    -----
    The total is exact. How it divides is sampled (``docs/metrics.md``): ``estimates`` has the intervals.
    """
    sampled = spent["user_ns"] + spent["system_ns"]
    per_io = spent.get("total_ns", sampled) / count if count else None
    parts = {
        f"{part}_cpu_ns_per_io": per_io * spent[f"{part}_ns"] / sampled if per_io is not None and sampled else None
        for part in ("user", "system")
    }
    return {"cpu_ns_per_io": per_io, **parts}


def operation_names(measured: Measurement) -> list[str]:
    """Every operation that has counts or latencies."""
    names = [*measured.engine["operations"], *(operation for operation, _ in measured.histograms)]
    return list(dict.fromkeys(names))


def _operation_json(measured: Measurement, name: str) -> dict[str, Any]:
    counts: Mapping[str, int] = measured.engine["operations"].get(name, {})
    facts: dict[str, Any] = {key: int(counts.get(key, 0)) for key in ("count", "bytes", "errors", "short")}
    if measured.engine["measured_ns"]:
        rated_s = measured.rated_ns((name,)) / 1e9
        facts["iops"] = facts["count"] / rated_s
        facts["throughput_bytes_per_s"] = facts["bytes"] / rated_s
    for (operation, latency), histogram in measured.histograms.items():
        if operation == name and histogram.total_count:
            facts[f"{latency}_latency_ns"] = _latency_json(histogram)
    return facts


def _latency_json(histogram: Histogram) -> dict[str, Any]:
    """Count, minimum, mean, maximum and quantiles of a latency; quantiles that the data cannot carry are None."""
    quantiles = {str(at): _quantile_or_none(histogram, at) for at in QUANTILES}
    return {
        "count": histogram.total_count,
        "min": histogram.minimum_ns,
        "mean": histogram.mean_ns,
        "max": histogram.maximum_ns,
        "quantiles": quantiles,
    }


def _quantile_or_none(histogram: Histogram, at: float) -> float | None:
    """A quantile, if enough values lie above it."""
    if histogram.total_count * -math.log(at) < _VALUES_ABOVE_MIN:
        return None
    return histogram.quantile_ns(at)


def _device_json(counts: dict[str, Any], measured: Measurement) -> dict[str, Any]:
    """Counts of one device, with those per operation: asked for by us, in all phases."""
    phases = measured.engine["all_phases"]
    operations = sum(int(phases.get(operation, {}).get("count", 0)) for operation in OPERATIONS)
    if not operations:
        return counts
    return counts | {
        "reads_per_operation": counts["reads"] / operations,
        "data_writes_per_operation_low": counts["data_writes_low"] / operations,
        "data_writes_per_operation_high": counts["data_writes_high"] / operations,
        "flushes_per_operation": counts["flushes"] / operations,
        "bytes_written_per_operation": counts["bytes_written"] / operations,
        "bytes_read_per_operation": counts["bytes_read"] / operations,
    }


def _intervals_json(intervals: pa.Table) -> list[dict[str, Any]]:
    """The interval series: counts, bytes, errors and quantiles by interval and operation."""
    rows = []
    for row in intervals.to_pylist():
        if row["latency"] not in _INTERVAL_LATENCIES:
            continue
        histogram = Histogram(
            _as_array(row["bucket"]), _as_array(row["bucket_count"]), row["min_ns"], row["max_ns"], row["sum_ns"]
        )
        has_values = histogram.total_count > 0
        rows.append(
            {name: row[name] for name in ("interval", "start_ns", "duration_ns", "operation", "latency")}
            | {"count": row["count"], "bytes": row["bytes"], "errors": row["errors"]}
            | {
                "min_ns": row["min_ns"] if has_values else None,
                "mean_ns": histogram.mean_ns if has_values else None,
                "p50_ns": _quantile_or_none(histogram, 0.5) if has_values else None,
                "p99_ns": _quantile_or_none(histogram, 0.99) if has_values else None,
                "max_ns": row["max_ns"] if has_values else None,
            }
        )
    return rows


def _as_array(values: Any) -> Any:
    import numpy as np

    return np.asarray(values, dtype=np.int64)


def io_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The result for people, line by line."""
    achieved = document["achieved"]
    depth = f"queue depth {document['asked']['queue_depth']} asked, {achieved['queue_depth_mean']:.3g} achieved"
    if achieved["backend"] == "null":
        yield f"null backend (what the engine itself costs), {depth}"
    else:
        direct = "direct" if achieved["direct"] else "through the page cache"
        tree = document["workload"].get("tree")
        if tree:
            direct = f"{tree['file_count']} files of {_sizes(tree)}"
        yield f"{document['target']}: {achieved['backend']}, {direct}, {depth}"
    if not document["measured_ns"]:
        yield f"  nothing was measured: ended by {_ending(document['stopped_by'])} before the ramp was over"
        return
    yield f"  measured {format_duration_ns(document['measured_ns'])}, ended by {_ending(document['stopped_by'])}"
    for name, facts in document["operations"].items():
        bounds = document["estimates"] if name == document["judged_operation"] else {}
        yield from _operation_lines(name, facts, bounds, f"{_unit(document)}s")
    if document["cpu_ns_per_io"] is not None:
        parts = [document[f"{part}_cpu_ns_per_io"] for part in ("user", "system")]
        shown = [format_duration_ns(part) for part in parts if part is not None]
        sampled = f" (sampled: {shown[0]} user, {shown[1]} system)" if len(shown) == 2 else ""
        yield f"  processor     {format_duration_ns(document['cpu_ns_per_io'])} per {_unit(document)}{sampled}"
    for counts in document["devices"]:
        yield _device_line(counts)
    yield from _traced_lines(document)
    if zones := document["zones"]:
        yield f"  zones         {zones['resets']} reset, {zones['finishes']} finished before they were full"
    arrivals = document["arrivals"]
    if arrivals:
        yield f"  arrivals      {arrivals['scheduled']} scheduled, {arrivals['late']} late, {arrivals['missed']} missed"
    for error in document["errors"]:
        failed = f"{error['count']} {error['operation']} failed with {error['name']}"
        first = error["first_offset_bytes"]
        yield f"  {failed}, first at {f'file {first}' if document['workload'].get('tree') else f'{first} B'}"


def _sizes(tree: Mapping[str, Any]) -> str:
    least, most = (format_bytes(tree[f"file_bytes_{end}"]) for end in ("min", "max"))
    return least if least == most else f"{least} to {most}"


def _ending(reason: str) -> str:
    words = {"runtime": "its runtime", "range_end": "the end of the range", "caller": "the user"}
    return (words | {"precision": "its precision"}).get(reason, reason)


def _unit(document: Mapping[str, Any]) -> str:
    """What is counted, in words."""
    return "operation" if document["workload"].get("tree") else "I/O"


def _operation_lines(name: str, facts: Mapping[str, Any], estimates: Mapping[str, Any], unit: str) -> Iterator[str]:
    rates = []
    if facts["count"] and "iops" in facts:
        rates.append(f"{format_rate_per_s(facts['iops'])} per s")
    if facts["bytes"]:
        rates.append(format_rate_bytes_per_s(facts["throughput_bytes_per_s"]))
    yield f"  {name.replace('_', ' '):<14}{facts['count']} {unit}{''.join(f', {rate}' for rate in rates)}"
    for latency in ("submission", "completion", "total", "response"):
        if f"{latency}_latency_ns" in facts:
            start = f"{latency}_latency_ns_p"
            found = {at: estimates.get(f"{start}{_quantile_name(at)}") for at in map(str, QUANTILES)}
            timed = facts[f"{latency}_latency_ns"]
            sample = f", of {timed['count']}" if timed["count"] < facts["count"] else ""
            yield f"    {latency:<12}{latency_text(timed, found)}{sample}"


def _quantile_name(at: str) -> str:
    """``99`` for 0.99, ``999`` for 0.999, as the estimates call them."""
    return at.removeprefix("0.").ljust(2, "0")


def _quantile_words(at: str) -> str:
    return "median" if at == "0.5" else f"p{float(at) * 100:g}"


def latency_text(facts: Mapping[str, Any], estimates: Mapping[str, Any] | None = None) -> str:
    """A latency on one line: mean, quantiles and maximum; a quantile that is only a bound stands with ``≥``."""
    parts = [f"mean {format_duration_ns(facts['mean'])}"]
    # a bound below a lower quantile tells nothing
    highest = 0.0
    for at, value in facts["quantiles"].items():
        if at == "0.9":
            continue
        estimate = (estimates or {}).get(at)
        # of a quantile that is withheld its lower end may be known
        if estimate is not None and None in (value, estimate["value"]):
            if estimate["low"] is not None and estimate["low"] >= highest:
                parts.append(f"{_quantile_words(at)} ≥ {format_duration_ns(estimate['low'])}")
        elif value is not None:
            highest = value
            parts.append(f"{_quantile_words(at)} {format_duration_ns(value)}")
    return ", ".join([*parts, f"max {format_duration_ns(facts['max'])}"])


def _traced_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The exact counts of the traced pass, or why there are none."""
    traced = document["context"].get("command_counts")
    estimates = document["estimates"]
    if traced:
        found = estimates.get("device_writes_per_operation", {})
        agrees = found.get("value") is not None and "trace" in found.get("method", "")
        kinds = ("data_writes", "metadata_writes", "fua_writes", "flushes")
        counts = ", ".join(f"{traced[f'{kind}_per_operation']:.3g} {kind.replace('_', ' ')}" for kind in kinds)
        doubt = "" if agrees else " (the timed pass differs)"
        yield f"  traced        {traced['operations']} more writes, per I/O exactly: {counts}{doubt}"
    elif document["context"].get("command_counts_reason"):
        yield f"  not traced    {document['context']['command_counts_reason']}"


def _device_line(counts: Mapping[str, Any]) -> str:
    read, written = format_bytes(counts["bytes_read"]), format_bytes(counts["bytes_written"])
    text = f"  {counts['device']:<13} read {read}, wrote {written}"
    if "flushes_per_operation" in counts and counts["writes"]:
        low, high = counts["data_writes_per_operation_low"], counts["data_writes_per_operation_high"]
        writes = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        flushes = f"{counts['flushes_per_operation']:.3g}"
        text += f"; per I/O: {writes} write{'s' * (writes != '1')}, {flushes} flush{'es' * (flushes != '1')}"
    return text
