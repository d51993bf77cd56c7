"""The throughput fell off a cliff and stayed low: a cache, or room that was free, was used up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from drivelab.analyse.change_points import CLIFF_CAPACITY_SHARE, CLIFF_RATIO
from drivelab.analyse.findings import burst_ended
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.findings.foreign_work import is_beside_others
from drivelab.analyse.findings.virtual_drive import answers_for_hardware
from drivelab.analyse.token_bucket import token_of
from drivelab.analyse.trial_course import capacity_of_target, interval_bytes
from drivelab.model.finding import MEASURE_LONGER, Finding
from drivelab.model.units import format_decimal_bytes, format_percent, format_rate_bytes_per_s

CODE = "throughput-cliff"
# what any cache holds: a trial that moved less cannot tell that one was full
_LEAST_BYTES = 64 * 2**20
_STRETCHES = 20
_ADVICE = "quote the throughput after the cliff for anything that writes more than was written before it"


def find(evidence: TrialEvidence) -> list[Finding]:
    """A fall to 0.7 of the throughput or less that lasted for 2 % of the capacity, or until the trial ended.

    A trial of less than 64 MiB has none: what it says of throughput is scatter. Nor has one in which a burst ended.
    """
    names = ("bytes_until_cliff", "throughput_before_cliff_bytes_per_s", "throughput_after_cliff_bytes_per_s")
    until, before, after = (evidence.summary.estimates.get(name) for name in names)
    if until is None or before is None or after is None or evidence.is_null:
        return []
    if until.value is None or not before.value or after.value is None:
        return []
    moved = sum(int(evidence.measured.engine["operations"].get(name, {}).get("bytes", 0)) for name in ("read", "write"))
    if moved < _LEAST_BYTES or burst_ended.find(evidence):
        return []
    capacity = capacity_of_target(evidence.measured, evidence.target)
    is_short = moved - until.value < CLIFF_CAPACITY_SHARE * capacity
    ending = f"; it ended {format_decimal_bytes(moved - until.value)} later, so how long that lasts is not known"
    fast, slow = format_rate_bytes_per_s(before.value), format_rate_bytes_per_s(after.value)
    text = (
        f"after {format_decimal_bytes(until.value)} the throughput fell to "
        f"{format_percent(after.value / before.value)}, from {fast} to {slow}: {_cause(evidence, after.value)}. "
        f"{_what_lasts(evidence, after.value)}; "
        f"the numbers of the whole trial are a mixture{ending if is_short else ''}"
    )
    facts = {
        "bytes_until_cliff": until.value,
        "bytes_until_cliff_low": until.low,
        "bytes_until_cliff_high": until.high,
        "throughput_before_cliff_bytes_per_s": before.value,
        "throughput_after_cliff_bytes_per_s": after.value,
        "after_over_before_ratio": after.value / before.value,
        "capacity_bytes": capacity,
        **_base_rate(evidence, before.value, after.value),
    }
    return [Finding(CODE, "warning", text, evidence.name, facts, MEASURE_LONGER if is_short else _ADVICE)]


def _what_lasts(evidence: TrialEvidence, after_bytes_per_s: float) -> str:
    """What the drive does for longer: the level after the cliff, unless it came back from it."""
    if again := _came_back_to(evidence, after_bytes_per_s):
        return f"In the last tenth of the trial it was {format_rate_bytes_per_s(again)} again"
    if is_beside_others(evidence) or _rose_again(evidence, after_bytes_per_s):
        return "What it does for longer is not known"
    return f"What it does for longer is {format_rate_bytes_per_s(after_bytes_per_s)}"


def _came_back_to(evidence: TrialEvidence, after_bytes_per_s: float) -> float:
    """The throughput of the last tenth, where that is above the cliff again; else 0."""
    last = evidence.summary.estimates.get("throughput_last_tenth_bytes_per_s")
    value = 0.0 if last is None else last.value or 0.0
    return value if CLIFF_RATIO * value > after_bytes_per_s else 0.0


def _rose_again(evidence: TrialEvidence, after_bytes_per_s: float) -> bool:
    """Whether a twentieth of the trial is as before the cliff again, behind one that is as after it."""
    if _came_back_to(evidence, after_bytes_per_s):
        return True
    series = interval_bytes(evidence.measured.intervals, int(evidence.measured.engine.get("measured_ns", 0)))
    before = evidence.summary.estimates["throughput_before_cliff_bytes_per_s"].value or 0.0
    if series is None:
        return False
    length = max(1, series.moved.size // _STRETCHES)
    whole = series.moved.size // length * length
    moved, duration_ns = (one[:whole].reshape(-1, length).sum(axis=1) for one in (series.moved, series.duration_ns))
    is_high = moved / duration_ns * 1e9 > max(math.sqrt(before * after_bytes_per_s), after_bytes_per_s / CLIFF_RATIO)
    falls = np.flatnonzero(is_high[:-1] & ~is_high[1:])
    return bool(falls.size and is_high[falls[0] + 1 :].any())


def _base_rate(evidence: TrialEvidence, before_bytes_per_s: float, after_bytes_per_s: float) -> dict[str, Any]:
    """The rates before the cliff and after it, of what did not come back and a cache or a limit explains."""
    is_explained = evidence.operations("write") or _may_be_limited(evidence)
    if not is_explained or is_beside_others(evidence) or _rose_again(evidence, after_bytes_per_s):
        return {}
    block_bytes = evidence.measured.workload.block_sizes[0].bytes
    token, _ = token_of(block_bytes)
    unit = 1 if token == "bytes" else block_bytes
    return {"token": token, "burst_per_s": before_bytes_per_s / unit, "base_per_s": after_bytes_per_s / unit}


def _cause(evidence: TrialEvidence, after_bytes_per_s: float) -> str:
    """What makes a throughput fall, as far as the workload tells."""
    is_buffered = evidence.operations("write") and not evidence.is_direct and not evidence.is_durable
    if is_beside_others(evidence) and not is_buffered:
        return "other programs were at work, and may be why"
    if not is_buffered and _rose_again(evidence, after_bytes_per_s):
        room = ", or a drive that makes room now and then" if evidence.operations("write") else ""
        return f"it was slower and faster again without a pause, as with heat, or other users{room}"
    if not evidence.operations("write"):
        if _may_be_limited(evidence):
            return "reads have no cache to fill, so a limit of the volume, or work of others, is likely"
        return "reads have no cache to fill, so heat, or work of others, is likely"
    if is_buffered:
        return "the memory that buffered writes go to was full"
    if _may_be_limited(evidence):
        return "probably a limit of the volume was reached, or the cache of the host was full"
    if evidence.is_durable:
        return "no write cache in memory, which each sync empties; fast flash that was full, or heat"
    return "probably the write cache of the drive (fast flash or memory) was full, or the room that was free used up"


def _may_be_limited(evidence: TrialEvidence) -> bool:
    """Whether the drive is a volume, which a hypervisor, or a model of one, may limit."""
    model = evidence.target.simulated
    if model is not None:
        return model.io_limit is not None or model.byte_limit is not None
    return answers_for_hardware(evidence.target)
