"""The drive itself changed while the run went on: the reference combination says so."""

from __future__ import annotations

from drivelab.analyse.run_evidence import RunEvidence
from drivelab.model.finding import Finding
from drivelab.model.run_answer import ReferenceDrift
from drivelab.model.units import format_quantity

CODE = "reference-drift"


def find_in_run(evidence: RunEvidence) -> list[Finding]:
    """A reference whose last measurements are not like its first, by more than scatter explains."""
    return [_finding(drift) for drift in evidence.drifts() if drift.is_large]


def _finding(drift: ReferenceDrift) -> Finding:
    first, last = (format_quantity(value, drift.unit) for value in (drift.values[0], drift.values[-1]))
    what = "throughput" if drift.unit == "B/s" else "median latency"
    moved = "" if drift.ratio.value is None else f" ({100 * (drift.ratio.value - 1):+.0f} %)"
    text = (
        f"the reference on {drift.target} did not stay the same: its {what} went from {first} to {last}{moved} in "
        f"{len(drift.values)} measurements, more than their scatter explains; trials that lie far apart in the run "
        "cannot be compared"
    )
    facts = {
        "target": drift.target,
        "metric": drift.metric,
        "values": list(drift.values),
        "last_over_first_ratio": drift.ratio.value,
        "last_over_first_ratio_low": drift.ratio.low,
        "last_over_first_ratio_high": drift.ratio.high,
        "highest_over_lowest_ratio": drift.spread_ratio,
        "noise_ratio": drift.noise_ratio,
    }
    advice = "compare within blocks only (the effects are), or let the drive settle and run it again"
    return Finding(CODE, "warning", text, "", facts, advice)
