"""How the throughput of a stored run's trials went, judged by this drivelab and not by the one that measured them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.analyse.trial_course import capacity_bytes, course_of_intervals
from drivelab.model.throughput_course import ThroughputCourse
from drivelab.store import layout
from drivelab.store.cells import cell_value
from drivelab.store.read import StoredRun
from drivelab.store.selection import rows_of_trials

# an experiment that asks for this figure asks how the throughput changes
OVER_TIME = "throughput-over-time"
# more than any figure draws; each takes some milliseconds
TRIALS_MAX = 300
_AT_A_TIME = 50


def asks_over_time(run: StoredRun) -> bool:
    """Whether the experiment of a run asks how the throughput changes."""
    return OVER_TIME in run.record.experiment.get("figures", ())


def courses_of_run(run: StoredRun, trials: Collection[str]) -> dict[str, ThroughputCourse]:
    """The course of each of some trials, by name; of those with too few intervals none.

    Parameters
    ----------
    trials : collection of str
        Names of completed trials; the first `TRIALS_MAX` are looked at.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    facts = {str(target.get("label")): target.get("facts_before") or {} for target in run.record.targets}
    names = list(trials)[:TRIALS_MAX]
    found: dict[str, ThroughputCourse] = {}
    for begin in range(0, len(names), _AT_A_TIME):
        found |= _courses(run, names[begin : begin + _AT_A_TIME], facts)
    return found


def _courses(
    run: StoredRun, names: Collection[str], facts: Mapping[str, Mapping[str, Any]]
) -> dict[str, ThroughputCourse]:
    rows = {row["trial"]: row for row in rows_of_trials(run, layout.TRIALS, names).to_pylist()}
    intervals = rows_of_trials(run, layout.INTERVALS, names).drop_columns(["bucket", "bucket_count"])
    return dict(_each(names, rows, intervals, facts))


def _each(
    names: Collection[str],
    rows: Mapping[str, Mapping[str, Any]],
    intervals: pa.Table,
    facts: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, ThroughputCourse]]:
    for name in names:
        row = rows.get(name)
        # the bytes that a sync call at the end makes durable are in memory until then
        if row is None or '"end_sync_ns"' in row["estimates_json"]:
            continue
        capacity = _capacity_bytes(
            facts.get(row["target"], {}), cell_value("workload_json", row["workload_json"], name)
        )
        mine = intervals.filter(pc.equal(intervals["trial"], name))
        course = course_of_intervals(mine, int(row["measured_ns"] or 0), capacity)
        if course is not None:
            yield name, course


def _capacity_bytes(facts: Mapping[str, Any], workload: Mapping[str, Any]) -> int:
    drives = [int(drive.get("size_bytes") or 0) for drive in facts.get("drives") or ()]
    range_bytes = int((workload.get("target") or {}).get("size_bytes") or 0)
    return capacity_bytes(str(facts.get("kind")), int(facts.get("size_bytes") or 0), drives, range_bytes)
