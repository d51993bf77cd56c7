"""The calls of a followed program as numbers for CSV: a column for each quantity, with its unit in its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.model.trace import LAYERS, PARTS
from drivelab.report.figures.figure import Cell, DataTable

BY_NAME = (
    "call",
    "count",
    "of_unknown_files",
    "per_second",
    "p50_ns",
    "p99_ns",
    "p99_at_least_ns",
    "slowest_ns",
    "time_ns",
)
SINGLE = ("call", "file", "thread", "start_ns", "latency_ns", "others_alone_ns")
_PARTS = (*PARTS, LAYERS)
_QUANTILES = ("p50_ns", "p99_ns", "p99_at_least_ns")


def call_numbers(columns: Sequence[str], calls: Sequence[Mapping[str, Any]]) -> DataTable:
    """A row for each, with the parts of its time in ns; what is not known is an empty cell.

    Parameters
    ----------
    columns : sequence of str
        `BY_NAME`, or `SINGLE` for calls one by one.
    calls : sequence of mapping
        As their ``to_json`` gives them.
    """
    rows = [[*(_cell(one, name) for name in columns), *_parts(one["parts_ns"])] for one in calls]
    return DataTable((*columns, *(f"{part}_ns" for part in _PARTS)), rows)


def _cell(call: Mapping[str, Any], name: str) -> Cell:
    # of less than half of the calls no quantile is known
    is_known = name not in _QUANTILES or call["count"] >= call["of_unknown_files"]
    return call[name] if is_known else None


def _parts(parts_ns: Mapping[str, int]) -> list[Cell]:
    """They sum to the time of the call, so that where none has any, nothing is known of them."""
    return [parts_ns.get(part, 0) if any(parts_ns.values()) else None for part in _PARTS]
