"""The drive itself changed while the run went on: the reference combination says so."""

from __future__ import annotations

from drivelab.analyse.run_evidence import RunEvidence
from drivelab.model.finding import Finding
from drivelab.model.metric import metric_of
from drivelab.model.reference_drift import ReferenceDrift, percent_change
from drivelab.model.units import format_quantity

CODE = "reference-drift"


def find_in_run(evidence: RunEvidence) -> list[Finding]:
    """A reference that moved along a trend or in a step, by more than chance explains and by a lot."""
    return [_finding(drift) for drift in evidence.drifts() if drift.is_large]


def _finding(drift: ReferenceDrift) -> Finding:
    first, last = drift.values[0], drift.values[-1]
    trend = "" if drift.ratio.value is None else f"; along the trend of all it is {percent_change(drift.ratio.value)}"
    if drift.step is not None:
        trend = (
            f"; from measurement {drift.step.first} on it is {percent_change(drift.step.ratio)} against those before"
        )
    words = metric_of(drift.metric).words
    text = (
        f"the reference on {drift.target} did not stay the same: {words} {format_quantity(first, drift.unit)} "
        f"first and {format_quantity(last, drift.unit)} at the end ({percent_change(last / first)}) of "
        f"{len(drift.values)} measurements{trend}, more than chance explains; trials that lie far apart in the run "
        "cannot be compared"
    )
    facts = {
        "target": drift.target,
        "metric": drift.metric,
        "values": list(drift.values),
        "last_over_first_ratio": last / first,
        "trend_ratio": drift.ratio.value,
        "trend_ratio_low": drift.ratio.low,
        "trend_ratio_high": drift.ratio.high,
        "highest_over_lowest_ratio": drift.spread_ratio,
    }
    if drift.step is not None:
        facts |= {"step_first": drift.step.first, "step_ratio": drift.step.ratio}
    advice = "compare within blocks only (the effects are), or let the drive settle and run it again"
    return Finding(CODE, "warning", text, "", facts, advice)
