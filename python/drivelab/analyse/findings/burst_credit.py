"""The volume gives burst credit: it is fast until that is used up, and slow from then on."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.token_bucket import bucket_of_workload, done_in
from drivelab.model.finding import Finding

CODE = "burst-credit"
ADVICE = "plan with the base rate, or with a volume that has no burst credit"


def find(evidence: TrialEvidence) -> list[Finding]:
    """Of a trial that watched for the end of a burst: a bucket that emptied, and filled at the base rate when idle."""
    measured = evidence.measured
    if not measured.workload.watches_burst or measured.intervals is None or not measured.intervals.num_rows:
        return []
    bucket = bucket_of_workload(done_in(measured.intervals), measured.workload.block_sizes[0].bytes)
    if bucket is None or not bucket.is_bucket:
        return []
    text = f"burst credit: {bucket.fast_then_slow()}; the numbers of the whole trial are a mixture"
    return [Finding(CODE, "warning", text, evidence.name, bucket.to_json(), ADVICE)]
