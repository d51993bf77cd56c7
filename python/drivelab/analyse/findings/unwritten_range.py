"""Reads of space that was never written: the file system answers with zeros, the drive does nothing."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding, Severity
from drivelab.model.units import format_bytes

CODE = "unwritten-range"
# methodology: fewer device reads than this per direct read, and something else answered
DEVICE_READS_PER_OPERATION_MIN = 0.98
WRITTEN_SHARE_MIN = 0.98
READS_MIN = 50


def find(evidence: TrialEvidence) -> list[Finding]:
    """A range with holes beneath reads, by the file's own map, by a trim, or by reads that the drive never saw."""
    reads = evidence.operations("read")
    if evidence.is_null or not reads or evidence.measured.workload.verify or evidence.replays_calls:
        # each block that is checked was written, whatever else is in the range; a program's files are as they were
        return []
    extents = evidence.measured.context.get("extents") or {}
    share = extents.get("written_share")
    if share is not None:
        return _from_map(evidence, share, extents) if share < 1 else []
    if _is_trimmed_device(evidence):
        return [_of_trimmed_device(evidence, reads)]
    counts = evidence.counts
    if counts is None or not evidence.is_direct or reads < READS_MIN or evidence.target.filesystem is None:
        return []
    per_operation = (counts.reads + counts.read_merges) / reads
    if per_operation >= DEVICE_READS_PER_OPERATION_MIN:
        return []
    text = (
        f"{reads} direct reads became {counts.reads} reads of the drive ({per_operation:.2f} for each): "
        "the others were holes, which read as zeros without any I/O"
    )
    facts = {"device_reads_per_operation": per_operation, "reads": reads, "device_reads": counts.reads}
    return [Finding(CODE, "invalid", text, evidence.name, facts, "write the whole range before reading it")]


def is_empty(evidence: TrialEvidence) -> bool:
    """Whether nothing of what is only read lies on the drive, by the file's own map: then no other memory answered."""
    extents = evidence.measured.context.get("extents") or {}
    return extents.get("written_share") == 0 and not evidence.operations("write")


def _is_trimmed_device(evidence: TrialEvidence) -> bool:
    """Whether the device itself is read, was trimmed before the trial, and not written since."""
    context = evidence.measured.context
    trimmed = (context.get("trim") or {}).get("kind") == "device"
    return trimmed and evidence.target.filesystem is None and not context.get("precondition")


def _of_trimmed_device(evidence: TrialEvidence, reads: int) -> Finding:
    text = (
        f"{reads} reads of blocks that were trimmed before and not written since: the drive holds no data there and "
        "answers without reading any"
    )
    facts = {"reads": reads, "discarded_bytes": evidence.measured.context["trim"].get("discarded_bytes")}
    advice = "write the whole device before reading it: the action precondition = sequential does"
    return Finding(CODE, "invalid", text, evidence.name, facts, advice)


def _from_map(evidence: TrialEvidence, share: float, extents: dict[str, int]) -> list[Finding]:
    parts = {
        "holes": extents.get("hole_bytes", 0),
        "reserved, never written": extents.get("unwritten_bytes", 0),
        "not placed yet": extents.get("delayed_bytes", 0),
        "inside metadata": extents.get("inline_bytes", 0),
    }
    missing = ", ".join(f"{format_bytes(size)} {what}" for what, size in parts.items() if size)
    text = (
        f"{100 * (1 - share):.1f} % of the range read holds no data on the drive ({missing}): such reads cost nothing"
    )
    severity: Severity = "invalid" if share < WRITTEN_SHARE_MIN else "warning"
    facts = {"written_share": share, **{key: value for key, value in extents.items() if key.endswith("_bytes")}}
    return [Finding(CODE, severity, text, evidence.name, facts, "write the whole range before reading it")]
