"""Operations on files that memory answered: names, attributes or contents which the drive was not asked for."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding, Severity
from drivelab.model.units import format_bytes
from drivelab.model.workload import READING_OPERATIONS

CODE = "names-in-memory"
# a directory's block holds the names of dozens of files, and a table's block the attributes of sixteen
FILES_PER_READ_MAX = 1000
# contents that were asked for and did not come from the drive
CONTENTS_SHARE_MIN = 0.5
# contents are read in whole pages, but those that may lie with the inode: up to so many bytes, or to a page elsewhere
PAGE_BYTES = 4096
INLINE_BYTES_MAX = {"ext2": 0, "ext3": 0, "ext4": 160, "xfs": 0, "vfat": 0, "exfat": 0, "btrfs": 2048}
_ADVICE = "begin with empty caches: the action page-cache = drop does so, as root"


def find(evidence: TrialEvidence) -> list[Finding]:
    """Files of a tree that were looked up or read while the drive read next to nothing."""
    workload, counts = evidence.measured.workload, evidence.given
    if workload.tree is None or workload.writes or counts is None:
        return []
    context = evidence.measured.context
    operations = sum(evidence.operations(name) for name in READING_OPERATIONS)
    files = operations if not evidence.operations("list") else workload.tree.file_count
    is_enough = counts.reads * FILES_PER_READ_MAX >= min(files, workload.tree.file_count)
    if not operations or (is_enough and counts.bytes_read >= CONTENTS_SHARE_MIN * _content_bytes(evidence)):
        return []
    facts = {"operations": operations, "device_reads": counts.reads, "device_bytes_read": counts.bytes_read}
    was_dropped = bool((context.get("dropped_page_cache") or {}).get("method"))
    severity: Severity = "invalid" if was_dropped else "note"
    read = f"{counts.reads} reads of {format_bytes(counts.bytes_read)}" if counts.reads else "nothing"
    text = (
        f"for {operations} operations on files the drive read {read}: names, attributes and contents were in memory"
        f"{' although it was emptied before' if was_dropped else ''}, and the numbers are those of memory and of the "
        "calls"
    )
    return [Finding(CODE, severity, text, evidence.name, facts, "" if was_dropped else _ADVICE)]


def _content_bytes(evidence: TrialEvidence) -> int:
    """Bytes that the drive has to read for the contents that were asked for; what is read again it reads once."""
    tree, reads = evidence.measured.workload.tree, evidence.operations("read_file")
    assert tree is not None, "only a tree has files"
    if not reads:
        return 0
    size, on = evidence.issued("read_file") // reads, evidence.target.filesystem
    is_inline = size <= INLINE_BYTES_MAX.get(on.type if on else "", PAGE_BYTES)
    return min(reads, tree.file_count) * (size if is_inline else PAGE_BYTES * -(-size // PAGE_BYTES))
