"""A virtual drive has a constant rate that volumes with burst credit have: whether it stays, time alone tells."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.findings.virtual_drive import answers_for_hardware
from drivelab.analyse.token_bucket import LARGE_BYTES, done_in, stretch_of
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import RATE
from drivelab.model.published_burst import BASE_PER_S, published_burst_s
from drivelab.model.units import format_quantity, format_wait_ns

CODE = "burst-possible"
# fewer outstanding ask for less than a volume allows
_QUEUE_DEPTH_MIN = 16
_INTERVALS_MIN = 6


def find(evidence: TrialEvidence) -> list[Finding]:
    """Small reads or writes of a virtual drive, many at a time, at a constant rate of 2,850 to 3,675 a second."""
    measured = evidence.measured
    workload, rate = measured.workload, evidence.summary.estimates.get(RATE)
    if not answers_for_hardware(evidence.target) or workload.watches_burst or rate is None or not rate.value:
        return []
    has_moved = evidence.operations("read") or evidence.operations("write")
    is_asked = has_moved and evidence.is_direct and workload.queue_depth >= _QUEUE_DEPTH_MIN
    is_small = workload.block_sizes[0].bytes < LARGE_BYTES
    lasts_s = published_burst_s(rate.value)
    if not (is_asked and is_small) or workload.is_open_loop or lasts_s is None:
        return []
    if measured.intervals is None or measured.intervals.num_rows < _INTERVALS_MIN:
        return []
    course = stretch_of(done_in(measured.intervals))
    if course.low_per_s is not None or not course.is_flat or course.length_s > lasts_s:
        return []
    told, base = (format_quantity(number, "1/s") for number in (rate.value, BASE_PER_S))
    text = (
        f"{told} I/Os a second may be a burst; a published credit of 5.4 million I/Os lasts "
        f"{format_wait_ns(lasts_s * 1e9)} at a base rate of {base} a second, longer at a higher one"
    )
    advice = f"measure the base rate: drivelab run burst {evidence.target.text}"
    return [Finding(CODE, "warning", text, evidence.name, {"per_s": rate.value, "known_after_s": lasts_s}, advice)]
