"""A virtual drive reads at a constant rate that volumes with burst credit have: whether it stays, time alone tells."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.findings.virtual_drive import answers_for_hardware
from drivelab.analyse.token_bucket import LARGE_BYTES, done_in, stretch_of
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import RATE
from drivelab.model.units import format_quantity, format_wait_ns

CODE = "burst-possible"
# published: Amazon's gp2 volumes give bursts of 3,000 I/Os a second, Azure's premium disks up to P20 of 3,500
PUBLISHED_BURSTS_PER_S = (3_000, 3_500)
# what gp2 volumes give without credit, at least, and the credit that they have
PUBLISHED_BASE_PER_S = 100
PUBLISHED_CREDIT = 5_400_000
_BELOW, _ABOVE = 0.9, 1.05
# fewer outstanding ask for less than a volume allows
_QUEUE_DEPTH_MIN = 16
_INTERVALS_MIN = 6


def find(evidence: TrialEvidence) -> list[Finding]:
    """Small reads of a virtual drive, many at a time, at a constant rate of 2,700 to 3,675 a second."""
    measured = evidence.measured
    workload, rate = measured.workload, evidence.summary.estimates.get(RATE)
    if not answers_for_hardware(evidence.target) or workload.watches_burst or rate is None or not rate.value:
        return []
    is_asked = evidence.operations("read") and evidence.is_direct and workload.queue_depth >= _QUEUE_DEPTH_MIN
    is_small = workload.block_sizes[0].bytes < LARGE_BYTES
    if not (is_asked and is_small) or workload.is_open_loop or not _is_published(rate.value):
        return []
    if measured.intervals is None or measured.intervals.num_rows < _INTERVALS_MIN:
        return []
    course = stretch_of(done_in(measured.intervals))
    lasts_s = PUBLISHED_CREDIT / (rate.value - PUBLISHED_BASE_PER_S)
    if course.low_per_s is not None or not course.is_flat or course.length_s > lasts_s:
        return []
    told, base = (format_quantity(number, "1/s") for number in (rate.value, PUBLISHED_BASE_PER_S))
    text = (
        f"{told} I/Os a second may be a burst; a published credit of 5.4 million I/Os lasts "
        f"{format_wait_ns(lasts_s * 1e9)} at a base rate of {base} a second, longer at a higher one"
    )
    advice = f"measure the base rate: drivelab run burst {evidence.target.text}"
    return [Finding(CODE, "warning", text, evidence.name, {"per_s": rate.value, "known_after_s": lasts_s}, advice)]


def _is_published(per_s: float) -> bool:
    """Whether it is, or is but little below, a rate that volumes with credit have."""
    low, high = PUBLISHED_BURSTS_PER_S
    return _BELOW * low <= per_s <= _ABOVE * high
