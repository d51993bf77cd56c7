"""Random I/O that the kernel merged: it was not as random as asked."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding
from drivelab.model.workload import Workload

CODE = "merged-requests"
# methodology, row 24
MERGED_SHARE_MAX = 0.01
REQUESTS_MIN = 100
# with more bytes than were issued, others' requests are among those that were merged
DEVICE_SHARE_MAX = 1.05
# larger I/O reaches the block layer in pieces of at most 256 pages, which are merged with each other again
ONE_REQUEST_BYTES = 1 << 20
_RANDOM = ("random", "zipf", "hot_cold", "zoned")


def find(evidence: TrialEvidence) -> list[Finding]:
    """Merges of direct random I/O above one in a hundred, after which the drive got fewer requests than were made."""
    counts = evidence.counts
    if evidence.is_null or counts is None or not evidence.is_direct:
        return []
    if not _is_random(evidence.measured.workload):
        return []
    largest_bytes = max(share.bytes for share in evidence.measured.workload.block_sizes)
    if largest_bytes > ONE_REQUEST_BYTES:
        return []
    operations = evidence.operations("read") + evidence.operations("write")
    merged = counts.read_merges + counts.write_merges
    writes = counts.data_writes_low if counts.data_writes is None else counts.data_writes
    missing = operations - counts.reads - writes
    if operations < REQUESTS_MIN or min(merged, missing) <= MERGED_SHARE_MAX * operations:
        return []
    if counts.bytes_read + counts.bytes_written > DEVICE_SHARE_MAX * (
        evidence.issued("read") + evidence.issued("write")
    ):
        return []
    text = (
        f"the kernel merged {merged} of {operations} random requests into neighbours, and the drive got "
        f"{counts.reads + writes}: addresses that follow each other are not random, and the numbers are too good"
    )
    facts = {
        "merged_requests": merged,
        "operations": operations,
        "device_requests": counts.reads + writes,
        "merged_share": merged / operations,
    }
    return [Finding(CODE, "warning", text, evidence.name, facts, "use a larger range")]


def _is_random(workload: Workload) -> bool:
    """Whether no I/O is meant to follow the one before."""
    orders = [share.access or workload.access for share in workload.operations]
    return all(order.kind in _RANDOM and order.random_fraction == 1 and order.run_blocks == 1 for order in orders)
