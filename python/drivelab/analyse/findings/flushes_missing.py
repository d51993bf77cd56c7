"""Writes that were to be durable, and fewer flushes than that takes."""

from __future__ import annotations

from drivelab.analyse.command_check import ALARM_OPERATIONS_MIN, is_too_little_durable, missing_flushes_text
from drivelab.analyse.expected_commands import cache_kind
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "flushes-missing"


def find(evidence: TrialEvidence) -> list[Finding]:
    """A durability alarm: the drive's cache is volatile, and it was not told to empty it."""
    if evidence.measured.workload.durability.method == "sync_file_range" and evidence.operations("write"):
        text = "sync_file_range sends no flush and commits no metadata: these writes were not durable"
        return [Finding(CODE, "warning", text, evidence.name, {"flushes_required": False}, "use fdatasync")]
    counts = evidence.counts
    operations = evidence.durable_operations
    if not evidence.is_durable or evidence.is_null or counts is None or operations < ALARM_OPERATIONS_MIN:
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
    if not is_too_little_durable(durable, evidence.measured.workload, evidence.backend):
        return []
    text = missing_flushes_text(operations, durable)
    facts = {"durable_commands_per_operation": durable, "flushes": counts.flushes, "durable_operations": operations}
    advice = "look for the mount options nobarrier and barrier=0, and at each layer between file system and drive"
    return [Finding(CODE, "invalid", text, evidence.name, facts, advice)]
