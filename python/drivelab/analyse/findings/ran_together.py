"""Other workloads of the run were at work on purpose: what belongs to all of them, and how long they were there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.findings.page_cache_answered import answered_elsewhere
from drivelab.model.finding import USE_DIRECT_IO, Finding, Severity
from drivelab.model.units import format_bytes

CODE = "ran-together"
# a start and an end that lie some ms apart are no reason to doubt
OVERLAP_SHARE_MIN = 0.95
_NAMED_MAX = 3


def find(evidence: TrialEvidence) -> list[Finding]:
    """With whom a trial ran, which part of its time, and whether all of them together reached the drive."""
    together: Mapping[str, Any] = evidence.measured.context.get("together") or {}
    if not together:
        return []
    return [_overlap(evidence, together), *_answered_elsewhere(evidence, together)]


def _overlap(evidence: TrialEvidence, together: Mapping[str, Any]) -> Finding:
    names = [str(other["title"]) for other in together["with"]]
    who = ", ".join(names) if len(names) <= _NAMED_MAX else f"{len(names)} others"
    share = float(together["overlap_share"])
    is_short = share < OVERLAP_SHARE_MIN
    severity: Severity = "warning" if is_short else "note"
    text = f"{who} ran at the same time"
    advice = ""
    if is_short:
        only = f"for {100 * share:.0f} % of its measured time only"
        text += f", but {only}: the numbers are of both, with the others and not"
        advice = "give all of them the same runtime, and none another limit"
    if together["shared_devices"]:
        text += "; the kernel counts their commands together, so commands per operation are not known"
    offsets = [abs(other["start_offset_ns"]) for other in together["with"] if other["start_offset_ns"] is not None]
    facts = {
        "with": [str(other["trial"]) for other in together["with"]],
        "overlap_share": share,
        "start_offset_ns": max(offsets, default=None),
    }
    return Finding(CODE, severity, text, evidence.name, facts, advice)


def _answered_elsewhere(evidence: TrialEvidence, together: Mapping[str, Any]) -> list[Finding]:
    """Bytes that the drive never saw; of direct I/O none can be missing, so another one's are."""
    drive = next((one for one in together["shared_devices"] if one["device"] == _drive(evidence)), None)
    if drive is None or evidence.is_direct or evidence.is_null:
        return []
    issued = together["issued"].get(drive["device"], {})
    for operation, seen in (("read", drive["bytes_read"]), ("write", drive["bytes_written"])):
        asked = int(issued.get(operation, {}).get("bytes", 0))
        if not evidence.issued(operation) or not answered_elsewhere(asked, seen):
            continue
        text = (
            f"memory answered {format_bytes(asked - seen)} of {format_bytes(asked)} of {operation}s of "
            "all that ran at the same time: the numbers may not be the drive's"
        )
        facts = {"operation": operation, "issued_bytes": asked, "device_bytes": seen}
        return [Finding(CODE, "warning", text, evidence.name, facts, USE_DIRECT_IO)]
    return []


def _drive(evidence: TrialEvidence) -> str:
    return str(evidence.measured.context.get("counted_device") or "")
