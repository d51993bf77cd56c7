"""Turns what a trial measured into rows of the tables, and rows back into what was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.finding import Finding
from drivelab.model.histogram import Histogram, bucket_high_ns, bucket_low_ns
from drivelab.model.measurement import Measurement
from drivelab.model.trial_summary import TrialSummary
from drivelab.store.cells import cell_value, devices_in, workload_in
from drivelab.store.columns import HISTOGRAM_COLUMNS, INTERVAL_COLUMNS, TRIAL_COLUMNS, arrow_schema
from drivelab.store.place import TrialPlace

_SYNC_OPERATIONS = ("sync", "durable_write")
# columns that come of a field of the workload
_ASKED_COLUMNS = {
    "backend": "asked_backend",
    "direct": "asked_direct",
    "queue_depth": "asked_queue_depth",
    "job_count": "asked_job_count",
    "block_sizes": "block_size_bytes",
    "durability": "durability",
}


def trial_table(
    measured: Measurement, summary: TrialSummary, place: TrialPlace, findings: Sequence[Finding]
) -> pa.Table:
    """One row: everything about a trial but its histograms and intervals."""
    row = _place_values(measured, summary, place) | _asked_and_achieved(measured) | _counted(measured, summary)
    row |= {
        # of what was imported only what its source tells is a fact
        "workload_json": measured.workload.model_dump_json(exclude_unset=is_imported(measured)),
        "engine_json": json.dumps(measured.engine),
        "devices_json": json.dumps([asdict(counts) for counts in measured.devices]),
        "context_json": json.dumps(measured.context, default=_plain),
        "estimates_json": json.dumps({key: estimate.to_json() for key, estimate in summary.estimates.items()}),
        "findings_json": json.dumps([finding.to_json() for finding in findings]),
        "is_reference": place.is_reference,
        "failure": place.failure,
    }
    fields, values = list(arrow_schema(TRIAL_COLUMNS)), [row[column.name] for column in TRIAL_COLUMNS]
    levels = {f"asked_{name}": level for name, level in place.asked.items()}
    levels |= {f"achieved_{name}": level for name, level in place.achieved.items()}
    # a factor of the workload (the queue depth) may have a column of its own already, as a number
    for name, level in sorted(item for item in levels.items() if item[0] not in row):
        fields.append(pa.field(name, pa.string()))
        values.append(level)
    for key, estimate in summary.estimates.items():
        for suffix, value in (("", estimate.value), ("_low", estimate.low), ("_high", estimate.high)):
            fields.append(pa.field(key + suffix, pa.float64()))
            values.append(value)
    arrays = [pa.array([value], field.type) for field, value in zip(fields, values, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def is_imported(measured: Measurement) -> bool:
    """Whether another program measured it: then only the set fields of its workload are known."""
    return bool(measured.context.get("imported"))


def histogram_table(measured: Measurement) -> pa.Table:
    """One row per operation and latency: the trial's histograms, without loss."""
    rows = [
        {
            "trial": measured.name,
            "operation": operation,
            "latency": latency,
            "count": histogram.total_count,
            "min_ns": histogram.minimum_ns,
            "max_ns": histogram.maximum_ns,
            "sum_ns": histogram.sum_ns,
            "bucket": histogram.bucket,
            "bucket_count": histogram.count,
        }
        for (operation, latency), histogram in measured.histograms.items()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(HISTOGRAM_COLUMNS))


def interval_table(measured: Measurement) -> pa.Table:
    """The trial's interval series, with its name and two quantiles beside every histogram."""
    given = measured.intervals.combine_chunks()
    schema = arrow_schema(INTERVAL_COLUMNS)
    added = {"trial": pa.array([measured.name] * given.num_rows, pa.string())}
    added["p50_ns"] = pa.array(row_quantiles(given, 0.5), pa.float64(), from_pandas=True)
    added["p99_ns"] = pa.array(row_quantiles(given, 0.99), pa.float64(), from_pandas=True)
    return pa.table([added.get(field.name, _column(given, field)) for field in schema], schema=schema)


def row_quantiles(table: pa.Table, at: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A quantile of the histogram in each row.

    Parameters
    ----------
    table : pyarrow.Table
        Columns ``bucket`` and ``bucket_count`` (lists), ``min_ns``, ``max_ns``.
    at : float
        Quantile in [0, 1].

    Returns
    -------
    ndarray of float64, shape (rows,)
        Midpoint of the bucket of rank ceil(at * count), within the row's exact
        minimum and maximum; not a number in a row without counts.
    """
    result = np.full(table.num_rows, np.nan)
    lengths = np.asarray(pc.list_value_length(table["bucket"]).fill_null(0))
    bucket = np.asarray(pc.list_flatten(table["bucket"]), dtype=np.int64)
    if bucket.size == 0:
        return result
    counts = np.asarray(pc.list_flatten(table["bucket_count"]), dtype=np.int64)
    running = np.cumsum(counts)
    ends = np.cumsum(lengths)
    before = np.where(ends > lengths, running[np.maximum(ends - lengths - 1, 0)], 0)
    totals = np.where(lengths > 0, running[np.maximum(ends - 1, 0)] - before, 0)
    filled = totals > 0
    rank = np.maximum(1, np.ceil(at * totals[filled])).astype(np.int64)
    position = np.searchsorted(running, before[filled] + rank)
    middle = (bucket_low_ns(bucket[position]) + bucket_high_ns(bucket[position])) / 2
    low, high = np.asarray(table["min_ns"])[filled], np.asarray(table["max_ns"])[filled]
    result[filled] = np.clip(middle, low, high)
    return result


def measurement_from_rows(
    trial: Mapping[str, Any], histograms: Sequence[Mapping[str, Any]], intervals: pa.Table
) -> Measurement:
    """What was measured, from the rows of one trial; its per-I/O records stay in their file."""
    return Measurement(
        name=trial["trial"],
        workload=workload_in(trial["workload_json"], trial["trial"]),
        engine=cell_value("engine_json", trial["engine_json"], trial["trial"]),
        histograms={(row["operation"], row["latency"]): Histogram.from_row(row) for row in histograms},
        intervals=intervals.drop_columns(["trial", "p50_ns", "p99_ns"]),
        devices=devices_in(trial["devices_json"], trial["trial"]),
        context=cell_value("context_json", trial["context_json"], trial["trial"]),
    )


def _place_values(measured: Measurement, summary: TrialSummary, place: TrialPlace) -> dict[str, Any]:
    return {
        "trial": measured.name,
        "label": summary.label,
        "target": place.target,
        "workload": place.workload,
        "step": place.step,
        "block": place.block,
        "repeat": place.repeat,
        "started_utc": place.started_utc,
    }


def _asked_and_achieved(measured: Measurement) -> dict[str, Any]:
    asked, engine = measured.workload, measured.engine
    achieved = engine.get("achieved", {})
    sizes = {share.bytes for share in asked.block_sizes}
    found = {
        "asked_backend": asked.backend,
        "achieved_backend": engine.get("backend", {}).get("name"),
        "asked_direct": asked.direct,
        "achieved_direct": achieved.get("direct"),
        "asked_queue_depth": asked.queue_depth,
        "achieved_queue_depth_mean": achieved.get("queue_depth_mean"),
        "asked_job_count": asked.job_count,
        "achieved_job_count": achieved.get("job_count"),
        "block_size_bytes": sizes.pop() if len(sizes) == 1 and asked.tree is None else None,
        "durability": asked.durability.method,
    }
    if is_imported(measured):
        found |= {column: None for name, column in _ASKED_COLUMNS.items() if name not in asked.model_fields_set}
    return found


def _counted(measured: Measurement, summary: TrialSummary) -> dict[str, Any]:
    operations = measured.engine["operations"]
    # the sync call and the durable write move no bytes of their own: their data are the writes'
    own = operations.get("write" if summary.operation in _SYNC_OPERATIONS else summary.operation, {})
    if measured.mixes_file_operations:
        own = {key: sum(each.get(key, 0) for each in operations.values()) for key in ("count", "bytes")}
    # a program that does not tell a count has not told that there is none
    nothing = None if is_imported(measured) else 0
    return {
        "operation": summary.operation,
        "operation_count": own.get("count", nothing),
        "bytes": own.get("bytes", nothing),
        "error_count": sum(counts.get("errors", 0) for counts in operations.values()) if operations else nothing,
        "measured_ns": measured.engine["measured_ns"] or nothing,
        "stopped_by": measured.engine.get("stopped_by"),
    }


def _column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if field.name not in table.column_names:
        return pa.chunked_array([pa.nulls(table.num_rows, field.type)])
    return table[field.name].cast(field.type)


def _plain(value: object) -> object:
    """What JSON cannot hold as it is."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)
