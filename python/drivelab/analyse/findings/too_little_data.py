"""A quantile of which so few operations lie beyond that it has no upper end."""

from __future__ import annotations

from math import ceil

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.quantile import INTERVAL_FROM
from drivelab.model.finding import MEASURE_LONGER, Finding

CODE = "too-little-data"
ASKED = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
_NAMES = {"p50": "the median", "p99": "p99", "p999": "p99.9"}


def find(evidence: TrialEvidence) -> list[Finding]:
    """The lowest quantile that has operations, and no upper end of its interval."""
    for statistic, at in ASKED.items():
        estimate = evidence.summary.estimates.get(f"total_latency_ns_{statistic}")
        if estimate is None or not estimate.sample_count or _beyond(estimate.sample_count, at) >= INTERVAL_FROM:
            continue
        beyond = _beyond(estimate.sample_count, at)
        needed = ceil(INTERVAL_FROM / (1 - at) - 1e-9)
        text = (
            f"{_NAMES[statistic]} of {estimate.sample_count} operations has no upper end: {beyond:.3g} of them are "
            f"expected beyond it, and {INTERVAL_FROM} are needed, so {needed} operations; "
            f"{'only a lower bound is known' if estimate.low else 'no bound is known'}"
        )
        facts = {
            "quantile": at,
            "operations": estimate.sample_count,
            "operations_beyond": beyond,
            "operations_needed": needed,
        }
        return [Finding(CODE, "note", text, evidence.name, facts, MEASURE_LONGER)]
    return []


def _beyond(operations: int, at: float) -> float:
    return operations * (1 - at) + 1e-9
