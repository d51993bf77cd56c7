"""The page cache answered for a loop device: the drive beneath its backing file was hardly asked."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.findings.page_cache_answered import FEW_READS, NOT_THE_DRIVES, answered_elsewhere, reads_stand
from drivelab.model.finding import Finding, Severity
from drivelab.model.measurement import DeviceCounts
from drivelab.model.target import is_scratch_file
from drivelab.model.units import format_bytes

CODE = "host-cache-answered"


def find(evidence: TrialEvidence) -> list[Finding]:
    """Bytes that a loop device moved and the drive beneath it did not.

    Notes
    -----
    Such numbers do not describe the drive. A scratch drive of drivelab's own is
    looked at for what the loop device is asked to do, and only warned of. Of a program's calls those count that bypass
    the page cache: the others use memory as they did, and what is written over before a sync call never gets there.
    """
    beneath, counted = _drive_beneath_loop(evidence), evidence.measured.counted_device
    if beneath is None or counted is None or evidence.is_null:
        return []
    loop = next(layer for layer in reversed(evidence.target.devices) if layer.kind == "loop")
    found = []
    for operation in ("read", "write"):
        issued = evidence.direct_bytes(operation) if evidence.replays_calls else evidence.issued(operation)
        # what was asked of the loop device is in our own total; the kernel's workers read its file, or our threads
        reads = evidence.own_reads(beneath.bytes_read, asked_above=min(issued, counted.bytes_read))
        moved = reads if operation == "read" else beneath.bytes_written
        if not answered_elsewhere(issued, moved):
            continue
        stand = operation == "read" and reads_stand(evidence, issued, moved)
        severity: Severity = "note" if stand else "warning" if is_scratch_file(loop.detail) else "invalid"
        text = (
            f"the page cache answered in place of {beneath.device}, the drive beneath the file of {loop.name}: "
            f"{format_bytes(moved)} of {format_bytes(issued)} of {operation}s came there, "
            f"{FEW_READS if stand else NOT_THE_DRIVES}"
        )
        facts = {"operation": operation, "issued_bytes": issued, "drive_bytes": moved, "drive": beneath.device}
        advice = f"let the loop device bypass the page cache: losetup --direct-io=on {loop.path}"
        found.append(Finding(CODE, severity, text, evidence.name, facts, "" if stand else advice))
    return found


def _drive_beneath_loop(evidence: TrialEvidence) -> DeviceCounts | None:
    """Counts of the one drive that a loop device's file lies on; None without one, or without counts."""
    target = evidence.target
    counted = evidence.measured.counted_device
    loops = {layer.name for layer in evidence.target.devices if layer.kind == "loop"}
    # a scratch drive counts as a drive of its own, and yet lies on another
    lowest = {layer.name for layer in target.devices if layer.kind == "disk"} | {drive.name for drive in target.drives}
    drives = lowest - loops
    if len(drives) != 1 or counted is None or counted.device not in loops:
        return None
    return next((counts for counts in evidence.measured.devices if counts.device in drives), None)
