"""The trial was not steady: its end differs from its beginning."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.interval_series import IntervalSeries, series_from_measurement
from drivelab.analyse.ratio import ratio_estimate
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.units import format_duration_ns

CODE = "drift"
INTERVALS_MIN = 18
# smaller differences are real now and then, and matter to nobody
RATIO_MIN = 1.1


def find(evidence: TrialEvidence) -> list[Finding]:
    """Mean latencies of the first and last third whose 95 % intervals lie apart."""
    latency = "response" if evidence.measured.workload.pacing.kind != "closed" else "total"
    series = series_from_measurement(evidence.measured, evidence.summary.operation, latency)
    if series is None or series.length < INTERVALS_MIN:
        return []
    third = series.length // 3
    first, last = _mean(series, 0, third), _mean(series, series.length - third, series.length)
    if not _lie_apart(first, last) or first.value is None or last.value is None:
        return []
    ratio = last.value / first.value
    if max(ratio, 1 / ratio) < RATIO_MIN:
        return []
    word = "slower" if ratio > 1 else "faster"
    text = (
        f"it got {word} meanwhile: {format_duration_ns(first.value)} on average in the first third, "
        f"{format_duration_ns(last.value)} in the last; the numbers are those of neither"
    )
    facts = {
        "first_third_latency_ns_mean": first.value,
        "last_third_latency_ns_mean": last.value,
        "last_over_first_ratio": ratio,
    }
    return [Finding(CODE, "warning", text, evidence.name, facts, "measure longer, until it is steady")]


def _mean(series: IntervalSeries, start: int, stop: int) -> Estimate:
    return ratio_estimate(series.sum_ns[start:stop], series.count[start:stop], "ns")


def _lie_apart(one: Estimate, other: Estimate) -> bool:
    ends = (one.low, one.high, other.low, other.high)
    if any(end is None for end in ends):
        return False
    low_one, high_one, low_other, high_other = (float(end or 0.0) for end in ends)
    return high_one < low_other or high_other < low_one
