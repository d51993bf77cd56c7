"""Writes that were to be durable, and fewer flushes than that takes."""

from __future__ import annotations

from drivelab.analyse.expected_commands import cache_kind, concurrency
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "flushes-missing"
# methodology 2.2: counts that differ by more per operation mean something
SLACK = 0.05
OPERATIONS_MIN = 20


def find(evidence: TrialEvidence) -> list[Finding]:
    """A durability alarm: the drive's cache is volatile, and it was not told to empty it."""
    if evidence.measured.workload.durability.method == "sync_file_range" and evidence.operations("write"):
        text = "sync_file_range sends no flush and commits no metadata: these writes were not durable"
        return [Finding(CODE, "warning", text, evidence.name, {"flushes_required": False}, "use fdatasync")]
    counts = evidence.counts
    operations = evidence.durable_operations
    if not evidence.is_durable or evidence.is_null or counts is None or operations < OPERATIONS_MIN:
        return []
    cache = cache_kind(evidence.target)
    if cache not in ("write_back", "write_back_fua"):
        return []
    fua = evidence.summary.estimates.get("fua_writes_per_operation")
    if cache == "write_back_fua" and (fua is None or fua.value is None):
        # a FUA write is as good as a flush, and the counters do not show it
        return []
    writes = evidence.operations("write")
    durable = counts.flushes / operations + ((fua.value or 0.0) * writes / operations if fua else 0.0)
    # flushes of several threads merge; then only their absence says something
    required = 1.0 if concurrency(evidence.measured.workload, evidence.backend) == 1 else 2 * SLACK
    if durable >= required - SLACK:
        return []
    text = (
        f"{operations} operations were to be durable, and the drive was told so {durable:.2f} times for each: "
        "its cache is volatile, so acknowledged writes can be lost when the power fails"
    )
    facts = {"durable_commands_per_operation": durable, "flushes": counts.flushes, "durable_operations": operations}
    advice = "look for the mount options nobarrier and barrier=0, and at each layer between file system and drive"
    return [Finding(CODE, "invalid", text, evidence.name, facts, advice)]
