"""What several runs of the engine count, as if they were one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from drivelab.model.histogram import Histogram, merge

_LEVELS = ("outstanding_levels", "sent_levels", "found_levels")


def joined_summary(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The summary of the last run, with what counts from the first on: begin, operations, errors, processor time."""
    first, last = summaries[0], summaries[-1]
    weights = [max(1, int(one["measured_ns"])) for one in summaries]
    achieved = [one["achieved"] for one in summaries]
    depth = {"queue_depth_mean": float(np.average([one["queue_depth_mean"] for one in achieved], weights=weights))}
    if "queue_depth_max" in achieved[-1]:
        depth["queue_depth_max"] = max(one["queue_depth_max"] for one in achieved)
    levels = {
        name: np.sum([one[name] for one in achieved], axis=0).tolist() for name in _LEVELS if name in achieved[-1]
    }
    return {
        **last,
        "started_monotonic_ns": first["started_monotonic_ns"],
        "operations": _summed_by_name([one["operations"] for one in summaries]),
        "all_phases": _summed_by_name([one["all_phases"] for one in summaries]),
        "errors": [error for one in summaries for error in one["errors"]],
        "cpu": summed([one["cpu"] for one in summaries]),
        "achieved": last["achieved"] | depth | levels,
    }


def joined_histograms(
    several: Sequence[Mapping[tuple[str, str], Histogram]],
) -> dict[tuple[str, str], Histogram]:
    """The histograms of all runs, by operation and latency."""
    keys = dict.fromkeys(key for one in several for key in one)
    return {key: merge([one[key] for one in several if key in one]) for key in keys}


def summed(several: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Numbers by name, added up; one that is unknown once is unknown."""
    known = [one for one in several if one is not None]
    if len(known) < len(several):
        return None
    found: dict[str, Any] = {}
    for one in known:
        for name, number in one.items():
            before = found.get(name, 0)
            found[name] = None if before is None or number is None else before + number
    return found


def _summed_by_name(several: Sequence[Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    names = dict.fromkeys(name for one in several for name in one)
    return {name: summed([one[name] for one in several if name in one]) or {} for name in names}
