"""Rows of calls that were issued again: what they took there and here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drivelab.model.units import format_count, format_duration_ns

HEADS = ("call", "count", "there p50", "p99", "here p50", "p99", "times as long")
HEADS_ALONE = ("call", "count", "p50", "p99", "from its start p50", "p99")


def as_long(value: float) -> str:
    """How many times as long: ``0.69x``."""
    if value >= 10:
        return f"{format_count(value)}x"
    return f"{value:.2f}x" if value >= 0.1 else f"{value:.1g}x"


def times_cell(found: Mapping[str, Any] | None) -> str:
    """The same in a table, with its interval."""
    if not found:
        return "-"
    told = as_long(found["value"])[:-1]
    if found["low"] is None:
        return told
    return f"{told} ({as_long(found['low'])[:-1]}-{as_long(found['high'])[:-1]})"


def row(call: Mapping[str, Any]) -> tuple[str, ...]:
    """There and here, and how many times as long."""
    cells = (*quantile_cells(call["recorded"]), *quantile_cells(call["replayed"]))
    return _row_name(call), format_count(call["count"]), *cells, times_cell(call["times"])


def row_alone(call: Mapping[str, Any]) -> tuple[str, ...]:
    """Here alone, and from the recorded start."""
    cells = (*quantile_cells(call["replayed"]), *quantile_cells(call["response"]))
    return _row_name(call), format_count(call["count"]), *cells


def _row_name(call: Mapping[str, Any]) -> str:
    return f"{call['call']} (void)" if call.get("void") else str(call["call"])


def quantile_cells(quantiles: Mapping[str, float | None] | None) -> tuple[str, str]:
    """Median and p99; of too few calls for a p99 what it is at least."""
    p50_ns, p99_ns, least_ns = ((quantiles or {}).get(at) for at in ("p50_ns", "p99_ns", "p99_at_least_ns"))
    told = "-" if p50_ns is None else format_duration_ns(p50_ns)
    if p99_ns is None:
        return told, "-" if least_ns is None else f"≥ {format_duration_ns(least_ns)}"
    return told, format_duration_ns(p99_ns)
