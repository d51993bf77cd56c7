"""The columns of every table of a run directory, with their types and meanings.

``docs/data_format.md`` lists them; a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

_TYPES = {
    "string": pa.string(),
    "bool": pa.bool_(),
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "list<uint32>": pa.list_(pa.uint32()),
    "list<uint64>": pa.list_(pa.uint64()),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, which carries the unit, its type, and what it means."""

    name: str
    type: str
    meaning: str


def arrow_schema(columns: tuple[Column, ...], *, nullable: bool = True) -> pa.Schema:
    """The columns as an Arrow schema."""
    return pa.schema([pa.field(column.name, _TYPES[column.type], nullable=nullable) for column in columns])


TRIAL_COLUMNS = (
    Column("trial", "string", "name of the trial, unique within the run"),
    Column("label", "string", "the trial for people"),
    Column("target", "string", "label of the target"),
    Column("workload", "string", "name of the workload in its experiment; empty without one"),
    Column("step", "int32", "number of the step in the plan, from 1; 0 without a plan"),
    Column("block", "int32", "block of the randomised order, from 1; 0 without a plan"),
    Column("repeat", "int32", "which repeat of its combination of factors, from 1"),
    Column("started_utc", "string", "when the trial was begun, ISO 8601"),
    Column("operation", "string", "the operation that the trial is about"),
    Column("operation_count", "int64", "I/Os of that operation completed in the measured window"),
    Column("bytes", "int64", "bytes they moved"),
    Column("error_count", "int64", "I/Os of any operation that failed"),
    Column("measured_ns", "int64", "length of the measured window"),
    Column("stopped_by", "string", "what ended the trial: runtime, bytes, count, caller, range_end, error"),
    Column("asked_backend", "string", "backend asked for"),
    Column("achieved_backend", "string", "backend that issued the I/O"),
    Column("asked_direct", "bool", "whether the page cache was to be bypassed"),
    Column("achieved_direct", "bool", "whether the kernel accepted that"),
    Column("asked_queue_depth", "int32", "I/Os to keep outstanding, per job"),
    Column("achieved_queue_depth_mean", "double", "I/Os outstanding on average, per job"),
    Column("asked_job_count", "int32", "jobs asked for"),
    Column("achieved_job_count", "int32", "jobs that ran"),
    Column("block_size_bytes", "int64", "size of one I/O; null when sizes are mixed"),
    Column("durability", "string", "how writes were made durable"),
    Column("workload_json", "string", "the whole workload, as the engine read it"),
    Column("engine_json", "string", "the whole summary of the engine"),
    Column("devices_json", "string", "what each block device executed, the drive first"),
    Column("context_json", "string", "everything else that was observed about the trial"),
    Column("estimates_json", "string", "every estimate with its interval, counts and method"),
    Column("findings_json", "string", "the findings about this trial"),
    Column("is_reference", "bool", "whether it was measured only to see a drift of the drive"),
    Column("failure", "string", "why the attempt failed; empty for a completed trial"),
)

HISTOGRAM_COLUMNS = (
    Column("trial", "string", "name of the trial"),
    Column("operation", "string", "read, write, trim, sync, durable_write"),
    Column("latency", "string", "submission, completion, total, response"),
    Column("count", "int64", "number of latencies"),
    Column("min_ns", "int64", "smallest latency, exact"),
    Column("max_ns", "int64", "largest latency, exact"),
    Column("sum_ns", "int64", "sum of all latencies, exact"),
    Column("bucket", "list<uint32>", "indices of the buckets that are not empty, ascending"),
    Column("bucket_count", "list<uint64>", "number of latencies in each of them"),
)

INTERVAL_COLUMNS = (
    Column("trial", "string", "name of the trial"),
    Column("interval", "int32", "number of the interval, from 0"),
    Column("start_ns", "int64", "begin of the interval, since the begin of the measured window"),
    Column("duration_ns", "int64", "length of the interval"),
    Column("operation", "string", "read, write, trim, sync, durable_write"),
    Column("latency", "string", "submission, completion, total, response"),
    Column("count", "int64", "operations completed in the interval"),
    Column("bytes", "int64", "bytes they moved"),
    Column("errors", "int64", "operations that failed in the interval"),
    Column("min_ns", "int64", "smallest latency, exact"),
    Column("max_ns", "int64", "largest latency, exact"),
    Column("sum_ns", "int64", "sum of the latencies, exact"),
    Column("p50_ns", "double", "latency quantile 0.5, within 0.1 %; null without operations"),
    Column("p99_ns", "double", "latency quantile 0.99, within 0.1 %; null without operations"),
    Column("bucket", "list<uint32>", "indices of the buckets that are not empty, ascending"),
    Column("bucket_count", "list<uint64>", "number of latencies in each of them"),
)

RECORD_COLUMNS = (
    Column("job", "uint16", "number of the job, from 0"),
    Column("operation", "uint8", "0 read, 1 write, 2 trim, 3 sync"),
    Column("issue_ns", "int64", "when the I/O was issued, CLOCK_MONOTONIC"),
    Column("offset_bytes", "int64", "where"),
    Column("size_bytes", "int32", "how much"),
    Column("submission_latency_ns", "int32", "from prepared until the submit call returned"),
    Column("total_latency_ns", "int64", "from prepared until the completion was reaped"),
    Column("response_latency_ns", "int64", "from the intended issue time until reaped; left out in a closed loop"),
    Column("result", "int32", "bytes moved, or the negative error number"),
)
