"""The throughput went up and down in one and the same period."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.swings import Swing, throughput_swing
from drivelab.analyse.trial_course import interval_bytes, writes_until_one_sync
from drivelab.model.finding import Finding
from drivelab.model.units import format_duration_ns, format_percent, format_rate_bytes_per_s

CODE = "throughput-swings"


def find(evidence: TrialEvidence) -> list[Finding]:
    """A throughput that repeats itself at least three times, with its period and its two levels."""
    swing = swing_of_trial(evidence)
    if swing is None:
        return []
    low, high = (format_rate_bytes_per_s(rate) for rate in (swing.low_bytes_per_s, swing.high_bytes_per_s))
    text = (
        f"the throughput swings between {high} and {low} with a period of {format_duration_ns(swing.period_ns)}, "
        f"{format_percent(swing.low_share)} of it at the lower: {_cause(evidence)}; the mean is a mixture of both"
    )
    facts = {
        "period_ns": swing.period_ns,
        "period_count": swing.period_count,
        "high_bytes_per_s": swing.high_bytes_per_s,
        "low_bytes_per_s": swing.low_bytes_per_s,
        "high_over_low_ratio": swing.factor if swing.low_bytes_per_s else None,
        "low_time_share": swing.low_share,
    }
    advice = "look at the drive's temperature, and measure many periods: both levels are what it does for long"
    return [Finding(CODE, "warning", text, evidence.name, facts, advice)]


def swing_of_trial(evidence: TrialEvidence) -> Swing | None:
    """How the throughput of a trial swings; None where it does not, or nothing of the kind can be told."""
    if evidence.is_null or writes_until_one_sync(evidence.measured):
        return None
    series = interval_bytes(evidence.measured.intervals, int(evidence.measured.engine.get("measured_ns", 0)))
    return None if series is None or not series.total_bytes else throughput_swing(series)


def _cause(evidence: TrialEvidence) -> str:
    """What makes a throughput swing, as far as the workload tells."""
    if not evidence.operations("write"):
        return "a drive that is throttled now and then (heat, a limit set for it), or work of others that repeats"
    if not evidence.is_direct and not evidence.is_durable:
        return "memory that fills and is written out again and again, or a drive that is throttled"
    return "a drive that is throttled now and then (heat, a limit set for it), or that makes room now and then"
