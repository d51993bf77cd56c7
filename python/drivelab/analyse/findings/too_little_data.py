"""A quantile that so few operations cannot carry."""

from __future__ import annotations

from math import ceil, log

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import MEASURE_LONGER, Finding

CODE = "too-little-data"
ASKED = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
_NAMES = {"p50": "p50", "p99": "p99", "p999": "p99.9"}


def find(evidence: TrialEvidence) -> list[Finding]:
    """The lowest quantile that is published as a bound instead of a number."""
    for statistic, at in ASKED.items():
        estimate = evidence.summary.estimates.get(f"total_latency_ns_{statistic}")
        if estimate is None or estimate.value is not None or not estimate.sample_count:
            continue
        needed = ceil(log(0.025) / log(at))
        worth = min(estimate.effective_sample_count, estimate.sample_count)
        number = "hardly one" if worth < 1.5 else f"{worth:.0f}"
        come = "" if worth > 0.9 * estimate.sample_count else f", worth {number} when taken as independent,"
        text = (
            f"{_NAMES[statistic]} of {estimate.sample_count} operations{come} is not a number: an interval needs "
            f"{needed} independent ones; {'only a lower bound is known' if estimate.low else 'no bound is known'}"
        )
        facts = {
            "quantile": at,
            "operations": estimate.sample_count,
            "independent_operations": worth,
            "independent_operations_needed": needed,
        }
        return [Finding(CODE, "note", text, evidence.name, facts, MEASURE_LONGER)]
    return []
