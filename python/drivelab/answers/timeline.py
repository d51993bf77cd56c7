"""Reads from a stored run how it went over all its trials."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.stored_experiment import workload_titles
from drivelab.model.timeline import TrialTimeline
from drivelab.store import layout
from drivelab.store.read import StoredRun
from drivelab.store.selection import rows_of_trials, trial_columns

# an experiment that names this figure asks how the run went as a whole
TIMELINE = "timeline"
STRETCHES_AT_MOST = 360
_DATA = pa.array(["read", "write", "trim"])


def timeline_of_run(run: StoredRun) -> tuple[TrialTimeline, ...]:
    """How each trial of a run went, in order; nothing where its experiment does not ask.

    Stretches in which nothing was done, as in a pause, are left out.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    if TIMELINE not in run.record.experiment.get("figures", ()):
        return ()
    return tuple(_trials(run))


def _trials(run: StoredRun) -> Iterator[TrialTimeline]:
    titles = workload_titles(run.record.experiment)
    sizes = {target["label"]: int(target["size_bytes"]) for target in run.record.plan.get("targets", ())}
    pacings = _pacings(run)
    begun_s: dict[str, float] = {}
    written: dict[str, float] = {}
    columns = trial_columns(run, lambda field: field.name in ("target", "workload", "measured_ns"))
    for row in columns.to_pylist():
        target = str(row["target"])
        intervals = rows_of_trials(run, layout.INTERVALS, [row["trial"]])
        is_data = pc.and_(pc.equal(intervals["latency"], "total"), pc.is_in(intervals["operation"], _DATA))
        intervals = intervals.filter(is_data)
        starts, place = np.unique(np.asarray(intervals["start_ns"], np.float64), return_inverse=True)
        if not starts.size:
            continue
        count = np.bincount(place, np.asarray(intervals["count"], np.float64))
        moved = np.bincount(place, np.asarray(intervals["bytes"], np.float64))
        is_write = np.asarray(pc.equal(intervals["operation"], "write").to_pylist(), np.float64)
        wrote = np.bincount(place, np.asarray(intervals["bytes"], np.float64) * is_write)
        length = np.zeros_like(starts)
        length[place] = np.asarray(intervals["duration_ns"], np.float64)
        # I/O that was outstanding when a pause began ends in it, and its rate is none of the drive's
        work_ns, pause_ns = pacings.get(row["trial"], (0, 0))
        is_work = (count > 0) & ((starts % (work_ns + pause_ns) < work_ns) if work_ns else True)
        groups = np.arange(starts.size) // max(1, -(-starts.size // STRETCHES_AT_MOST))
        sums = [np.bincount(groups, values) for values in (count * is_work, moved * is_work, wrote, length * is_work)]
        middle = (np.bincount(groups, starts) / np.bincount(groups) + length.mean() / 2) / 1e9
        until = written.get(target, 0.0) + np.cumsum(sums[2])
        is_shown = sums[3] > 0
        seconds = sums[3][is_shown] / 1e9
        yield TrialTimeline(
            target=target,
            trial=row["trial"],
            workload=str(row["workload"]),
            title=titles.get(str(row["workload"]), str(row["workload"])),
            capacity_bytes=sizes.get(target, 0),
            middle_s=tuple((begun_s.get(target, 0.0) + middle[is_shown]).tolist()),
            written_bytes=tuple(until[is_shown].tolist()),
            iops=tuple((sums[0][is_shown] / seconds).tolist()),
            bytes_per_s=tuple((sums[1][is_shown] / seconds).tolist()),
        )
        begun_s[target] = begun_s.get(target, 0.0) + (row["measured_ns"] or 0) / 1e9
        written[target] = float(until[-1])


def _pacings(run: StoredRun) -> dict[str, tuple[int, int]]:
    """Of trials that pause after a time: how long they work and how long they pause, in ns."""
    patterns = run.record.plan.get("patterns", ())
    found = {}
    for step in run.record.plan.get("steps", ()):
        pacing = patterns[step["pattern"]].get("pacing", {}) if "pattern" in step else {}
        if pacing.get("think_ns") and pacing.get("think_after_ns"):
            found[step["trial"]] = (int(pacing["think_after_ns"]), int(pacing["think_ns"]))
    return found
