"""The trial was not steady: its end differs from its beginning."""

from __future__ import annotations

import math

import numpy as np

from drivelab.analyse.findings import stall_at_end, throughput_cliff, throughput_swings
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.interval_series import series_from_measurement
from drivelab.analyse.straight_line import straight_line
from drivelab.model.finding import Finding
from drivelab.model.units import format_duration_ns

CODE = "drift"
INTERVALS_MIN = 18
# smaller differences are real now and then, and matter to nobody
RATIO_MIN = 1.1


def find(evidence: TrialEvidence) -> list[Finding]:
    """A straight line through the mean latencies of the intervals that rises or falls more than noise makes it.

    What a cliff or a swing of the throughput explains, or a stall at the end, is said there and not here.
    """
    if throughput_cliff.find(evidence) or throughput_swings.find(evidence):
        return []
    latency = "response" if evidence.measured.workload.is_open_loop else "total"
    series = series_from_measurement(evidence.measured, evidence.summary.operation, latency)
    if series is None or series.length < INTERVALS_MIN:
        return []
    until = _before_the_stall(evidence) if stall_at_end.find(evidence) else series.length
    has_any = series.count[:until] > 0
    if int(has_any.sum()) < INTERVALS_MIN:
        return []
    line = straight_line(np.log(series.sum_ns[:until][has_any] / series.count[:until][has_any]))
    ratio = math.exp(line.change)
    if line.is_level or max(ratio, 1 / ratio) < RATIO_MIN:
        return []
    first_ns, last_ns = math.exp(line.first), math.exp(line.last)
    text = (
        f"the mean latency {'rose' if ratio > 1 else 'fell'} from {format_duration_ns(first_ns)} to "
        f"{format_duration_ns(last_ns)} during the trial: the numbers are those of neither end"
    )
    facts = {
        "first_latency_ns": first_ns,
        "last_latency_ns": last_ns,
        "last_over_first_ratio": ratio,
        "last_over_first_ratio_low": math.exp(line.change - line.half_width),
        "last_over_first_ratio_high": math.exp(line.change + line.half_width),
    }
    return [Finding(CODE, "warning", text, evidence.name, facts, "measure longer, until it is steady")]


def _before_the_stall(evidence: TrialEvidence) -> int:
    """How many intervals lie before the moment at which the stalled I/O was waited for."""
    workload = evidence.measured.workload
    end_ns = workload.limits.runtime_ns or int(evidence.measured.engine.get("measured_ns", 0))
    return end_ns // int(workload.interval_ns)
