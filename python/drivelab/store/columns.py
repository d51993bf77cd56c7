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
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "list<uint32>": pa.list_(pa.uint32()),
    "list<uint64>": pa.list_(pa.uint64()),
    "list<int64>": pa.list_(pa.int64()),
    "map<string, string>": pa.map_(pa.string(), pa.string()),
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
    Column(
        "operation_count",
        "int64",
        "I/Os of that operation completed in the measured window; of a mix of operations on files all",
    ),
    Column("bytes", "int64", "bytes they moved"),
    Column("error_count", "int64", "I/Os of any operation that failed"),
    Column("measured_ns", "int64", "length of the measured window, or of all windows together"),
    Column("stopped_by", "string", "what ended the trial: runtime, bytes, count, precision, caller, range_end, error"),
    Column("asked_backend", "string", "backend asked for"),
    Column("achieved_backend", "string", "backend that issued the I/O"),
    Column("asked_direct", "bool", "whether the page cache was to be bypassed"),
    Column("achieved_direct", "bool", "whether the kernel accepted that"),
    Column("asked_queue_depth", "int32", "I/Os to keep outstanding, per job"),
    Column("achieved_queue_depth_mean", "double", "I/Os outstanding on average, per job"),
    Column("asked_job_count", "int32", "jobs asked for"),
    Column("achieved_job_count", "int32", "jobs that ran"),
    Column("block_size_bytes", "int64", "size of one I/O; null when sizes are mixed, and for operations on files"),
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
    Column("operation", "string", "an operation of the workload, sync, durable_write, rewrite"),
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
    Column(
        "start_ns", "int64", "start of the interval, since the start of the measured window; windows lie end to end"
    ),
    Column("duration_ns", "int64", "length of the interval; the last one of several windows has what was left of each"),
    Column("operation", "string", "an operation of the workload, sync, durable_write, rewrite"),
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
    Column("operation", "uint8", "0 read, 1 write, 2 trim, 3 sync, 5 to 15 those on files from create to list"),
    Column("issue_ns", "int64", "when the I/O was issued, CLOCK_MONOTONIC"),
    Column("offset_bytes", "int64", "where; of an operation on files the number of the file"),
    Column("size_bytes", "int32", "how much"),
    Column("submission_latency_ns", "int32", "from prepared until the submit call returned"),
    Column("total_latency_ns", "int64", "from prepared until the completion was reaped"),
    Column("response_latency_ns", "int64", "from the intended issue time until reaped; left out in a closed loop"),
    Column("result", "int32", "bytes moved, or the negative error number"),
)

OPERATION_COLUMNS = (
    Column("job", "uint16", "number of the job, from 0"),
    Column("thread", "int32", "the kernel's id of its thread"),
    Column("operation", "uint8", "0 read, 1 write, 2 trim, 3 sync, 4 durable_write: a write with its sync call"),
    Column("start_ns", "int64", "when it was issued, CLOCK_MONOTONIC"),
    Column("latency_ns", "int64", "from issued until done; the six parts below and `layers_ns` sum to it"),
    Column("offset_bytes", "int64", "where"),
    Column("size_bytes", "int32", "how much"),
    Column("fs_in_ns", "int64", "from the call until its first bio"),
    Column("queue_ns", "int64", "a bio waited for the driver, and nothing was at the device"),
    Column("device_ns", "int64", "a read or write was at the device, and no flush"),
    Column("flush_ns", "int64", "a flush was at the device"),
    Column("between_ns", "int64", "nothing was queued or at the device, between the first bio and the last completion"),
    Column("return_ns", "int64", "from the last completion until the call returned"),
    Column("device_writes", "int32", "commands that wrote data"),
    Column(
        "journal_writes",
        "int32",
        "those of them with a bio of the file system's own: journal, log, tree (as far as layers between tell)",
    ),
    Column("device_reads", "int32", "commands that read data"),
    Column("flushes", "int32", "commands that emptied the write cache"),
    Column("fua_writes", "int32", "bios with Force Unit Access"),
    Column("preflush_writes", "int32", "bios with a flush before their data"),
    Column("bytes_written", "int64", "by those commands"),
    Column("bytes_read", "int64", "by those commands"),
    Column("journal_bytes", "int64", "by the journal writes"),
    Column("bios", "int32", "bios that are charged to it"),
    Column("is_shared", "bool", "whether other operations waited for the same commands"),
    Column(
        "layers_ns", "list<int64>", "by layer above the drives, the uppermost first: something was in it, not below"
    ),
)

CALL_COLUMNS = (
    *OPERATION_COLUMNS,
    Column("call", "string", "name of the system call"),
    Column("process", "int32", "the kernel's id of its process"),
    Column("file", "string", "what its descriptor stood for; empty where it was not seen"),
    Column("is_placed", "bool", "whether `offset_bytes` is its place in the file; 0 stands for what is not known"),
    Column("is_direct", "bool", "whether its descriptor was open with O_DIRECT"),
)

EVENT_COLUMNS = (
    Column("kind", "string", "bio (handed to the block layer) or command (handed to the device)"),
    Column("operation_index", "int32", "row of the operation that it is charged to, from 0; -1 without one"),
    Column("device", "string", "major:minor of the traced disk"),
    Column("sector", "uint64", "first sector of 512 bytes; of a flush it means nothing"),
    Column("bytes", "uint32", "length; 0 for a flush"),
    Column("class", "string", "read, write, fua_write, metadata_write, flush, discard or other"),
    Column("pid", "int32", "thread that queued it, or was running when it was issued"),
    Column("process", "string", "name of that thread; empty when it is not known"),
    Column("queued_ns", "int64", "Q, CLOCK_MONOTONIC; null here and below where it never came"),
    Column("got_request_ns", "int64", "G"),
    Column("inserted_ns", "int64", "I"),
    Column("merged_ns", "int64", "M or F"),
    Column("issued_ns", "int64", "D, the first one"),
    Column("issued_last_ns", "int64", "D, the last one"),
    Column("completed_ns", "int64", "C of the data"),
    Column("ended_ns", "int64", "when the submitter was told"),
    Column("fragments", "int32", "pieces that splits made of it; 1 without a split"),
    Column("requeues", "int32", "how often it was put back"),
    Column("error", "int32", "0, or an error number"),
)
