"""Burst credit as the trials of a stored run have seen it, judged by this drivelab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from drivelab.analyse.token_bucket import bucket_of_workload, done_in
from drivelab.model.token_bucket import Token, TokenBucket
from drivelab.store import layout
from drivelab.store.cells import cell_value
from drivelab.store.read import StoredRun
from drivelab.store.selection import rows_of_trials

# two base rates that are one
_SAME_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Seen:
    """What a trial has seen: on which target, and with I/Os of which size."""

    target: str
    block_bytes: int
    bucket: TokenBucket


def buckets_of_run(run: StoredRun) -> tuple[tuple[str, TokenBucket], ...]:
    """What each trial has seen that watched for the end of a burst, with its target; in their order.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    return tuple((one.target, one.bucket) for one in _without_doubles([seen for _, seen in _seen(run)]))


def burst_rates(run: StoredRun) -> dict[str, tuple[Token, float]]:
    """What each trial that watched for the end of a burst came to before it, rests left out: in I/Os or bytes a second.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    return {
        trial: (seen.bucket.token, seen.bucket.burst_per_s)
        for trial, seen in _seen(run)
        if seen.bucket.burst_per_s is not None
    }


def _seen(run: StoredRun) -> list[tuple[str, Seen]]:
    asked = run.record.experiment.get("workloads") or ()
    watching = {workload["name"] for workload in asked if workload.get("watches_burst")}
    steps = run.record.plan.get("steps", ())
    names = [step["trial"] for step in steps if step["workload"] in watching] if watching else []
    if not names:
        return []
    rows = rows_of_trials(run, layout.TRIALS, names).to_pylist()
    intervals = rows_of_trials(run, layout.INTERVALS, names).drop_columns(["bucket", "bucket_count"])
    found = []
    for row in rows:
        workload = cell_value("workload_json", row["workload_json"], row["trial"])
        done = done_in(intervals.filter(pc.equal(intervals["trial"], row["trial"])))
        bucket = bucket_of_workload(done, int(workload["block_sizes"][0]["bytes"]))
        if bucket is not None:
            found.append((row["trial"], Seen(row["target"], int(workload["block_sizes"][0]["bytes"]), bucket)))
    return found


def _without_doubles(found: Sequence[Seen]) -> list[Seen]:
    """Each limit once: one of I/Os also ends a burst of large I/Os, and one of bytes that of small ones.

    Both trials of a target then end at one rate, in I/Os or in bytes. What the first of them emptied the second found
    empty, so the larger credit counts.
    """
    kept = list(found)
    for large in [one for one in found if one.bucket.token == "bytes" and one.bucket.base_per_s]:
        for small in [one for one in found if one.target == large.target and one.bucket.token == "I/Os"]:
            base_small, base_large = small.bucket.base_per_s or 0.0, large.bucket.base_per_s or 0.0
            if _is_same(base_large / large.block_bytes, base_small):
                kept.remove(large)
                kept[kept.index(small)] = _with_larger_credit(small, large, 1 / large.block_bytes)
            elif _is_same(base_small * small.block_bytes, base_large):
                kept.remove(small)
                kept[kept.index(large)] = _with_larger_credit(large, small, small.block_bytes)
    return kept


def _is_same(value: float, other: float) -> bool:
    return abs(value - other) <= _SAME_SHARE * other


def _with_larger_credit(one: Seen, other: Seen, unit: float) -> Seen:
    size, burst, base = other.bucket.size, one.bucket.burst_per_s, one.bucket.base_per_s
    if size is None or not burst or not base or size * unit <= (one.bucket.size or 0.0):
        return one
    credit = replace(one.bucket, verdict="bucket", size=size * unit, lasts_s=size * unit / (burst - base))
    return replace(one, bucket=credit)
