"""Holds tables that were read to what their readers rely on: the columns with their types, no gaps, whole texts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.errors import DrivelabError
from drivelab.model.histogram import SUB_BUCKET_BITS, SUB_BUCKET_COUNT
from drivelab.store import layout
from drivelab.store.columns import (
    CALL_COLUMNS,
    EVENT_COLUMNS,
    HISTOGRAM_COLUMNS,
    INTERVAL_COLUMNS,
    OPERATION_COLUMNS,
    RECORD_COLUMNS,
    TRIAL_COLUMNS,
    arrow_schema,
)
from drivelab.store.remote.bring import place_of

COLUMNS = {
    layout.TRIALS: TRIAL_COLUMNS,
    layout.INTERVALS: INTERVAL_COLUMNS,
    layout.HISTOGRAMS: HISTOGRAM_COLUMNS,
    layout.IOS: RECORD_COLUMNS,
    layout.OPERATIONS: OPERATION_COLUMNS,
    layout.EVENTS: EVENT_COLUMNS,
    layout.CALLS: CALL_COLUMNS,
}
# what an older drivelab, or a trial of another kind, has not
_MAY_BE_MISSING = {
    layout.TRIALS: {"is_reference", "failure"},
    layout.IOS: {"response_latency_ns"},
    layout.OPERATIONS: {"layers_ns"},
    layout.CALLS: {"layers_ns", "is_placed", "is_direct"},
}
# what every row has
_NEVER_NULL = {
    layout.TRIALS: ("trial", "label", "target", "workload", "step", "block", "repeat", "started_utc", "operation"),
    layout.INTERVALS: ("trial", "interval", "start_ns", "duration_ns", "operation", "latency", "count", "bytes"),
    layout.HISTOGRAMS: tuple(column.name for column in HISTOGRAM_COLUMNS),
    layout.IOS: tuple(column.name for column in RECORD_COLUMNS),
    layout.OPERATIONS: tuple(column.name for column in OPERATION_COLUMNS),
    layout.EVENTS: ("kind", "operation_index", "class"),
    layout.CALLS: tuple(column.name for column in CALL_COLUMNS),
}
# a factor's levels are texts, a metric is a number
_OF_LEVELS = ("asked_", "achieved_")
_BUCKETS = (64 - SUB_BUCKET_BITS + 1) * SUB_BUCKET_COUNT
# sums of counts are exact below
_COUNT_MAX = 2**53
_SHOWN_MAX = 40


def require_columns(schema: pa.Schema, table: str, path: Path) -> None:
    """Return only if the columns of a stored table are those that it is described with.

    Raises
    ------
    DrivelabError
        S506: one is missing, or is of another type.
    """
    expected = arrow_schema(COLUMNS[table])
    for wanted in expected:
        place = schema.get_field_index(wanted.name)
        if (
            place < 0
            and wanted.name in _MAY_BE_MISSING.get(table, ())
            and not schema.get_all_field_indices(wanted.name)
        ):
            continue
        if place < 0 or schema.field(place).type != wanted.type:
            raise _damaged(path, f"it has no column {wanted.name} of type {wanted.type}")
    if len(set(schema.names)) < len(schema.names):
        raise _damaged(path, "two of its columns have one name")
    if table == layout.TRIALS:
        for field in schema:
            kind = pa.string() if field.name.startswith(_OF_LEVELS) else pa.float64()
            if field.name not in expected.names and field.type != kind:
                raise _damaged(path, f"its column {field.name!a} is not of type {kind}")


def require_rows(rows: pa.Table, table: str, path: Path) -> None:
    """Return only if rows that were read can be worked with: whole texts, no gaps, histograms that are some.

    Raises
    ------
    DrivelabError
        S506: they cannot.
    """
    try:
        rows.validate(full=True)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise _damaged(path, str(error).splitlines()[0]) from error
    for name in _NEVER_NULL[table]:
        if name in rows.column_names and rows[name].null_count:
            raise _damaged(path, f"its column {name} has gaps")
    if table == layout.TRIALS and "trial" in rows.column_names:
        _require_names(rows["trial"], path)
    if {"bucket", "bucket_count"} <= set(rows.column_names):
        _require_histograms(rows, path)


def _require_names(trials: pa.ChunkedArray, path: Path) -> None:
    """A trial's name is that of its files, too."""
    for name in pc.unique(trials).to_pylist():
        if not layout.is_file_name(name):
            raise _damaged(path, f"{name[:_SHOWN_MAX]!a} cannot name a trial")


def _require_histograms(rows: pa.Table, path: Path) -> None:
    lengths = [pc.fill_null(pc.list_value_length(rows[name]), 0) for name in ("bucket", "bucket_count")]
    if not pc.all(pc.equal(*lengths), min_count=0).as_py():
        raise _damaged(path, "a histogram in it does not have a count for each bucket")
    for name, most in (("bucket", _BUCKETS), ("bucket_count", _COUNT_MAX)):
        values = pc.list_flatten(rows[name])
        if values.null_count or (len(values) and pc.max(values).as_py() >= most):
            raise _damaged(path, f"a histogram in it has a {name} that is none")
    for name in ("min_ns", "max_ns", "sum_ns", "count"):
        if name in rows.column_names and len(rows) and (pc.min(rows[name]).as_py() or 0) < 0:
            raise _damaged(path, f"its column {name} has values below 0")


def _damaged(path: Path, why: str) -> DrivelabError:
    return DrivelabError("S506", f"{path.name} cannot be read: {why}", where=place_of(path))
