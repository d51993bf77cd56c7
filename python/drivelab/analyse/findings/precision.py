"""A trial that was to end when its number is known: that it did, or how well the number is known after all its time."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.precision import WIDENED, Precision, precision_of
from drivelab.model.finding import Finding
from drivelab.model.metric import metric_of
from drivelab.model.units import format_duration_ns

CODE = "precision"


def find(evidence: TrialEvidence) -> list[Finding]:
    """Whenever a precision was asked for: a note when it was reached, else a warning."""
    found = precision_of(evidence.measured, evidence.summary.estimates)
    if found is None:
        return []
    limits = evidence.measured.workload.limits
    measured_ns = int(evidence.measured.engine["measured_ns"])
    is_reached = found.reached is not None and (found.has_ended_early or found.reached <= found.asked)
    took = format_duration_ns(measured_ns)
    if found.has_ended_early:
        text = (
            f"ended after {took} of at most {format_duration_ns(limits.runtime_ns)}, {found.times_sooner:.1f} times "
            f"sooner: {_known(found)}; its interval is {WIDENED} times as wide for having been looked at meanwhile"
        )
    else:
        text = f"did not end early: after {took} {_known(found)}"
    facts = {
        "metric": found.metric,
        "asked": found.asked,
        "reached": found.reached,
        "ended_early": found.has_ended_early,
        "measured_ns": measured_ns,
        "at_most_ns": limits.runtime_ns,
        "times_sooner": found.times_sooner,
    }
    advice = "" if is_reached else "give it more time, or ask for less"
    return [Finding(CODE, "note" if is_reached else "warning", text, evidence.name, facts, advice)]


def _known(found: Precision) -> str:
    reached = "has no interval" if found.reached is None else f"was known to within {_share(found.reached)}"
    return f"the {metric_of(found.metric).words} {reached}, and {_share(found.asked)} was asked for"


def _share(value: float) -> str:
    return f"{float(f'{100 * value:.2g}'):g} %"
