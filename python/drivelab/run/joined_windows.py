"""A trial that was measured in several windows, with other trials between them, as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.windows import Window, windows_of
from drivelab.run.joined_runs import joined_histograms, joined_summary, summed

_LIMITS = ("runtime_ns", "bytes", "count")
_TIMES = ("measured_ns", "ramp_ns", "drain_ns")
# of the surroundings: shares of the time of a window, or processors in its mean
_SHARES = ("pressure", "cpu_steal_share", "cpu_busy_share")
_BEFORE = ("temperature_celsius_before", "extents")
# of the page cache: each window has a file of its own
_IN_MEMORY = ("resident_bytes_after", "dirty_bytes_after")


def joined_windows(windows: Sequence[Measurement]) -> Measurement:
    """All windows of a trial as one measurement.

    Parameters
    ----------
    windows : sequence of Measurement
        In order of time; at least one.

    Returns
    -------
    Measurement
        Intervals are numbered from window to window, and the last of each has the length that was left of it; the
        engine's ``windows`` say how long each was and when it began. Counts are sums, and so are limits: a trial ends
        when its last window does. Single I/Os are those of the first window.
    """
    if len(windows) == 1:
        return windows[0]
    engines = [one.engine for one in windows]
    begun_ns = [int(one["started_monotonic_ns"]) for one in engines]
    told = [
        replace(windows_of(one)[0], begun_after_ns=at - begun_ns[0]) for one, at in zip(windows, begun_ns, strict=True)
    ]
    times = {name: sum(int(one.get(name, 0)) for one in engines) for name in _TIMES}
    limits = windows[0].workload.limits
    limits = limits.model_copy(
        update={name: sum(getattr(one.workload.limits, name) for one in windows) for name in _LIMITS}
    )
    return replace(
        windows[0],
        workload=windows[0].workload.model_copy(update={"limits": limits}),
        engine=joined_summary(engines) | times | {"windows": [one.to_json() for one in told]},
        histograms=joined_histograms([one.histograms for one in windows]),
        intervals=_joined_intervals(windows, told),
        devices=_joined_devices([one.devices for one in windows]),
        context=_joined_context(windows),
    )


def _joined_intervals(windows: Sequence[Measurement], told: Sequence[Window]) -> pa.Table:
    length_ns, before, tables = int(windows[0].workload.interval_ns), 0, []
    for one, window in zip(windows, told, strict=True):
        rows = one.intervals
        count = max(1, -(-window.measured_ns // length_ns))
        # what completed at the very end of the window may carry the number of an interval that never was
        number = np.minimum(rows["interval"].to_numpy(), count - 1)
        left_ns = np.minimum(length_ns, window.measured_ns - number.astype(np.int64) * length_ns)
        columns = {
            "interval": number + before,
            "start_ns": (number.astype(np.int64) + before) * length_ns,
            "duration_ns": left_ns,
        }
        for name, values in columns.items():
            field = rows.schema.field(name)
            rows = rows.set_column(rows.schema.get_field_index(name), field, pa.array(values, field.type))
        tables.append(rows)
        before += count
    return pa.concat_tables(tables)


def _joined_devices(several: Sequence[Sequence[DeviceCounts]]) -> tuple[DeviceCounts, ...]:
    found: dict[str, DeviceCounts] = {}
    for devices in several:
        for counts in devices:
            known = found.get(counts.device)
            found[counts.device] = counts if known is None else known.plus(counts)
    return tuple(found.values())


def _joined_context(windows: Sequence[Measurement]) -> dict[str, Any]:
    """What was seen around all windows: what was before the first, and what was after the last."""
    contexts = [one.context for one in windows]
    weights = [max(1, int(one.engine["measured_ns"])) for one in windows]
    joined = contexts[0] | contexts[-1]
    joined |= {name: contexts[0][name] for name in _BEFORE if name in joined}
    joined |= {name: _mean([one.get(name) for one in contexts], weights) for name in _SHARES if name in joined}
    for name, join in _JOINED.items():
        if joined.get(name):
            known = [one[name] for one in contexts if one.get(name)]
            joined[name] = join(known) if len(known) == len(contexts) else None
    return joined


def _mean(several: Sequence[Any], weights: Sequence[int]) -> Any:
    """Of numbers, or of each number by its name; unknown where one is."""
    if any(one is None for one in several):
        return None
    if isinstance(several[0], Mapping):
        return {name: _mean([one[name] for one in several], weights) for name in several[0]}
    return float(np.average(several, weights=weights))


def _page_cache(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    kept = summed([{name: one[name] for name in _IN_MEMORY} for one in several])
    return several[0] | (kept or {})


def _processors(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    times = [int(one["duration_ns"]) for one in several]
    mean: dict[str, Any] = _mean(several, times)
    return mean | {"count": several[-1]["count"], "duration_ns": sum(times)}


def _programs(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What other programs did, the busiest ones by name: windows are about as long as each other."""
    total = summed([{name: number for name, number in one.items() if name != "busiest"} for one in several])
    by_name: dict[str, list[dict[str, Any]]] = {}
    for one in several:
        for program in one["busiest"]:
            by_name.setdefault(program["name"], []).append(program)
    busiest = []
    for name, found in by_name.items():
        moved = summed([{key: one[key] for key in ("bytes_read", "bytes_written")} for one in found]) or {}
        busiest.append({"name": name, "processors": sum(one["processors"] for one in found) / len(several)} | moved)
    return (total or {}) | {"busiest": busiest}


def _simulated(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    moved = summed([{name: count for name, count in one.items() if name != "write_amplification"} for one in several])
    assert moved is not None
    written = moved["bytes_written"]
    return moved | {"write_amplification": moved["flash_bytes_written"] / written if written else None}


_JOINED: Mapping[str, Callable[[Sequence[dict[str, Any]]], dict[str, Any] | None]] = {
    "other_work": summed,
    "own_reads": summed,
    "page_cache": _page_cache,
    "processors": _processors,
    "other_programs": _programs,
    "simulated": _simulated,
}
