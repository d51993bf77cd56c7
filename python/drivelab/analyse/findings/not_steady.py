"""A trial that was to show what a drive does for long had not become steady."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.steady_state import PROFILE, ROUND_CAPACITY_SHARE, TREND_P_MIN, steady_state
from drivelab.analyse.trial_course import capacity_of_target, interval_bytes
from drivelab.model.finding import Finding, Severity
from drivelab.model.phase import WINDOW_ROUNDS
from drivelab.model.units import format_decimal_bytes

CODE = "not-steady"
# shorter trials were not meant to last, unless they were to move a whole capacity
SUSTAINED_NS = 60_000_000_000
_WORDS = {
    "not steady": "the drive had not become steady",
    "noisy": "it is noisy, and not settled by the rule of five rounds",
    "undecided": "whether it was steady is not known",
}


def find(evidence: TrialEvidence) -> list[Finding]:
    """Writes of a whole capacity, or of a minute and five rounds, whose last five rounds were not steady."""
    capacity = capacity_of_target(evidence.measured, evidence.target)
    if evidence.is_null or not evidence.measured.workload.writes or not _is_sustained(evidence, capacity):
        return []
    series = interval_bytes(evidence.measured.intervals, int(evidence.measured.engine.get("measured_ns", 0)))
    if series is None or not series.total_bytes:
        return []
    state = steady_state(series, capacity)
    if state.verdict == "steady":
        return []
    verdict: str = state.verdict
    if verdict == "not steady" and not state.passes_five_rounds and (state.trend_p_value or 0) > TREND_P_MIN:
        verdict = "noisy"
    severity: Severity = "note" if verdict == "undecided" else "warning"
    facts = {
        "profile": PROFILE,
        "verdict": verdict,
        "round_bytes": state.round_bytes,
        "round_count": state.round_count,
        "last_window_bytes_per_s": state.bytes_per_s.value,
        "drift_ratio": state.drift_ratio,
        "trend_p_value": state.trend_p_value,
    }
    advice = f"write more: {format_decimal_bytes(2 * capacity)} or until it is steady"
    return [Finding(CODE, severity, f"{_WORDS[verdict]}: {state.why}", evidence.name, facts, advice)]


def _is_sustained(evidence: TrialEvidence, capacity: int) -> bool:
    """Whether the trial was meant to show what lasts, by itself: a phase whose rounds are tracked shows it by these."""
    engine, limits = evidence.measured.engine, evidence.measured.workload.limits
    if not capacity or "judged_by_rounds" in evidence.measured.context:
        return False
    if limits.bytes >= capacity:
        return True
    moved = int(engine["operations"].get("write", {}).get("bytes", 0))
    is_long = int(engine.get("measured_ns", 0)) >= SUSTAINED_NS
    return is_long and moved >= WINDOW_ROUNDS * ROUND_CAPACITY_SHARE * capacity
