"""A virtual drive fell from one constant rate to another: a burst ended while it was measured."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.findings.foreign_work import is_beside_others
from drivelab.analyse.findings.virtual_drive import answers_for_hardware
from drivelab.analyse.token_bucket import done_in, stretch_of, token_of
from drivelab.model.finding import Finding
from drivelab.model.token_bucket import TokenBucket

CODE = "burst-ended"


def find(evidence: TrialEvidence) -> list[Finding]:
    """Direct reads of a virtual drive at a rate so steady that a limit seems to set it, then at a lower one.

    Of writes a cache of the host's would look the same, and so would reads beside programs that use the
    processors or the drive.
    """
    measured = evidence.measured
    workload = measured.workload
    if not answers_for_hardware(evidence.target) or workload.watches_burst or workload.is_open_loop:
        return []
    if not evidence.operations("read") or evidence.operations("write") or not evidence.is_direct:
        return []
    if measured.intervals is None or not measured.intervals.num_rows:
        return []
    if is_beside_others(evidence):
        # when others begin, one reader slows down just so
        return []
    seen = stretch_of(done_in(measured.intervals))
    if seen.high_per_s is None or not seen.low_per_s or not (seen.is_flat and seen.is_burst_flat):
        return []
    if seen.is_start:
        # too soon over to be a burst, and too short to be called constant
        return []
    token, unit = token_of(workload.block_sizes[0].bytes)
    bucket = TokenBucket(
        verdict="fell",
        token=token,
        watched_s=seen.length_s,
        moved=unit * seen.count,
        burst_per_s=unit * seen.high_per_s,
        base_per_s=unit * seen.low_per_s,
        lasts_s=seen.excess / (seen.high_per_s - seen.low_per_s),
    )
    text = (
        f"this looks like a burst: {bucket.fast_then_slow()}, each so steady that a limit seems to set it; the numbers "
        "of the whole trial are a mixture"
    )
    advice = f"count on the lower rate, and see what an idle time gives back: drivelab run burst {evidence.target.text}"
    rates = {"burst_per_s": bucket.burst_per_s, "base_per_s": bucket.base_per_s}
    facts = {"token": bucket.token, **rates, "lasts_s": bucket.lasts_s, "watched_s": bucket.watched_s}
    return [Finding(CODE, "warning", text, evidence.name, facts, advice)]
