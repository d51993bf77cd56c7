"""Direct I/O was asked for, and the page cache was used all the same."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding
from drivelab.model.units import format_bytes

CODE = "direct-quietly-buffered"
# one page at the end of a file may be touched by the file system itself
RESIDENT_GROWTH_MIN = 64 * 1024
RESIDENT_GROWTH_SHARE = 0.01
_OF_FILE = (
    "direct I/O left {} in the page cache: the file system buffers it without saying so, "
    "so a part of the I/O went through memory"
)
_BY_FILE_SYSTEMS = "ext4 does this with data=journal, btrfs with compression; FUSE decides by itself"
_OF_DRIVE = "{} of the drive came into the page cache beside direct I/O: another program used it through memory"
_ALONE = "measure again while nobody else uses the drive"


def find(evidence: TrialEvidence) -> list[Finding]:
    """Pages that direct I/O left in memory, or a target that refuses it."""
    if evidence.is_null:
        return []
    refusal = str(evidence.measured.context.get("direct_reason") or "")
    if refusal and not evidence.measured.workload.direct:
        return [_refused(evidence, refusal)]
    if not evidence.measured.workload.direct:
        return []
    if not evidence.is_direct:
        return [_refused(evidence, str(evidence.achieved.get("direct_note") or "the file system refused it"))]
    before = evidence.page_cache.get("resident_bytes_before")
    after = evidence.page_cache.get("resident_bytes_after")
    if before is None or after is None:
        return []
    moved = min(evidence.page_cache.get("range_bytes") or 1 << 62, evidence.issued("read") + evidence.issued("write"))
    grown = after - before - _read_by_others(evidence)
    if grown <= max(RESIDENT_GROWTH_MIN, RESIDENT_GROWTH_SHARE * moved):
        return []
    is_drive = evidence.target.kind == "block_device"
    text = (_OF_DRIVE if is_drive else _OF_FILE).format(format_bytes(grown))
    facts = {"resident_bytes_before": before, "resident_bytes_after": after}
    advice = _ALONE if is_drive else _BY_FILE_SYSTEMS
    return [Finding(CODE, "invalid", text, evidence.name, facts, advice)]


def _read_by_others(evidence: TrialEvidence) -> int:
    """Bytes that others read of a whole drive: whoever lists drives reads some blocks of each, through memory."""
    if evidence.target.kind != "block_device" or evidence.given is None:
        return 0
    return max(0, evidence.given.bytes_read - evidence.issued("read"))


def _refused(evidence: TrialEvidence, reason: str) -> Finding:
    text = f"the page cache was not bypassed: {reason}"
    return Finding(CODE, "warning", text, evidence.name, {"direct_asked": True, "direct_achieved": False})
