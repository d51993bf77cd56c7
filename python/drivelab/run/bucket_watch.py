"""Runs a workload that watches for the end of a burst: in slices, with rests between them, until that is known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from drivelab.analyse.bucket_watch import next_move
from drivelab.analyse.token_bucket import Done, done_in
from drivelab.model.workload import Limits, Workload
from drivelab.run.before_writing import look_before
from drivelab.run.engine import EngineRun, Looks, Progress, ProgressListener, RecordListener, StopRequest, run_workload
from drivelab.run.joined_runs import joined_histograms, joined_summary

if TYPE_CHECKING:
    from drivelab import _engine

_SECOND_NS = 1_000_000_000
_LOOK_S = 0.1
AFTER_REST_S = 2.0


def run_as_asked(
    workload: Workload,
    *,
    stop: StopRequest | None = None,
    on_progress: ProgressListener | None = None,
    on_records: RecordListener | None = None,
    drive: _engine.SimulatedDrive | None = None,
    looks: Looks | None = None,
    start: _engine.StartGate | None = None,
) -> EngineRun:
    """What `run_workload` measures; of a workload that watches for the end of a burst, all its slices as one run.

    Raises
    ------
    DrivelabError
        E301 to E315, as the engine reports them.
    """
    if not workload.watches_burst:
        return run_workload(
            workload, stop=stop, on_progress=on_progress, on_records=on_records, drive=drive, looks=looks, start=start
        )
    runs: list[EngineRun] = []
    done: list[Done] = []
    limit_s = workload.limits.runtime_ns / _SECOND_NS
    while True:
        move = next_move(_together(done), limit_s)
        if move.kind == "end":
            return _joined(runs, workload)
        if move.kind == "rest":
            _rest(move.seconds, stop, drive)
        limits = Limits(runtime_ns=round((move.seconds if move.kind == "issue" else AFTER_REST_S) * _SECOND_NS))
        # another seed for each slice: else all would read the same places
        seeded = workload.model_copy(update={"limits": limits, "seed": workload.seed + len(runs)})
        listener = _since_first(on_progress, runs)
        if drive is None and runs:
            # what the target's name means may have changed in a rest
            look_before(seeded)
        runs.append(run_workload(seeded, stop=stop, on_progress=listener, drive=drive))
        done.append(done_in(runs[-1].intervals, _start_ns(runs[-1]) - _start_ns(runs[0])))
        if runs[-1].summary["stopped_by"] in ("error", "caller"):
            return _joined(runs, workload)


def _rest(seconds: float, stop: StopRequest | None, drive: _engine.SimulatedDrive | None) -> None:
    if drive is not None:
        drive.rest(round(seconds * _SECOND_NS))
        return
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (stop is not None and stop.is_set()):
        time.sleep(min(_LOOK_S, max(0.0, end - time.monotonic())))


def _since_first(listener: ProgressListener | None, runs: Sequence[EngineRun]) -> ProgressListener | None:
    """A listener that is told of all slices until now as one run."""
    if listener is None or not runs:
        return listener
    before = runs[-1].summary
    gone_ns = int(before["started_monotonic_ns"]) + int(before["measured_ns"]) - _start_ns(runs[0])

    def told(progress: Progress) -> bool:
        return listener(replace(progress, elapsed_ns=progress.elapsed_ns + gone_ns))

    return told


def _start_ns(run: EngineRun) -> int:
    return int(run.summary["started_monotonic_ns"])


def _together(parts: Sequence[Done]) -> Done:
    """The I/Os of all slices."""
    arrays = zip(*((part.begin_s, part.end_s, part.count) for part in parts), strict=True)
    return Done(*(np.concatenate(each) for each in arrays)) if parts else Done(*[np.empty(0)] * 3)


def _joined(runs: Sequence[EngineRun], workload: Workload) -> EngineRun:
    """Several runs as one, from the beginning of the first to the end of the last."""
    length_ns = _start_ns(runs[-1]) - _start_ns(runs[0]) + int(runs[-1].summary["measured_ns"])
    return EngineRun(
        summary=joined_summary([run.summary for run in runs]) | {"measured_ns": length_ns},
        histograms=joined_histograms([run.histograms for run in runs]),
        intervals=pa.concat_tables(
            [_shifted(run, _start_ns(run) - _start_ns(runs[0]), workload.interval_ns) for run in runs]
        ),
        records=None,
    )


def _shifted(run: EngineRun, after_ns: int, interval_ns: int) -> pa.Table:
    """The intervals of a slice as those of the whole: each where it began."""
    rows = run.intervals
    start = rows["start_ns"].to_numpy() + after_ns
    number = (start // interval_ns).astype(np.int32)
    rows = rows.set_column(rows.schema.get_field_index("start_ns"), rows.schema.field("start_ns"), pa.array(start))
    return rows.set_column(rows.schema.get_field_index("interval"), rows.schema.field("interval"), pa.array(number))
