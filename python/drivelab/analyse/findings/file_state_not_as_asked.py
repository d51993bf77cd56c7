"""Writes into a file that was not in the state that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding
from drivelab.model.units import format_bytes

CODE = "file-state-not-as-asked"
# a smaller part of the range cannot move a quantile or a rate noticeably
OTHER_SHARE_MAX = 0.02
_NAMES = {
    "written_bytes": "already written",
    "delayed_bytes": "written, not placed yet",
    "inline_bytes": "inside metadata",
    "unwritten_bytes": "reserved, never written",
    "hole_bytes": "not even reserved",
}
# what is not there in a file of the state that was asked for
_CONTRARY = {
    "overwrite": ("unwritten_bytes", "hole_bytes"),
    "preallocated": ("written_bytes", "delayed_bytes", "inline_bytes", "hole_bytes"),
    "sparse": ("written_bytes", "delayed_bytes", "inline_bytes", "unwritten_bytes"),
}


def find(evidence: TrialEvidence) -> list[Finding]:
    """A range whose map, read before the trial, contradicts the state asked for.

    Notes
    -----
    A write into reserved space, into a hole and over data are three different
    things to a file system: only the last leaves its metadata alone. What the
    file lacks in length the engine adds in the state asked for, after the map
    was read.
    """
    workload = evidence.measured.workload
    extents: Mapping[str, Any] = evidence.measured.context.get("extents") or {}
    if evidence.is_null or not extents.get("method") or not evidence.operations("write") or evidence.replays_calls:
        # of a program's files some grow, as they did
        return []
    looked_at = int(extents.get("range_bytes", 0))
    size = max(looked_at, workload.target.size_bytes)
    contrary = _CONTRARY.get(workload.file_state, ())
    if workload.file_state == "preallocated" and size > looked_at:
        # reserving the rest fills the holes, too
        contrary = tuple(kind for kind in contrary if kind != "hole_bytes")
    found = {kind: int(extents.get(kind, 0)) for kind in contrary if extents.get(kind)}
    other = sum(found.values())
    if not size or other <= OTHER_SHARE_MAX * size:
        return []
    parts = ", ".join(f"{format_bytes(length)} {_NAMES[kind]}" for kind, length in found.items())
    text = (
        f"the file was to be in the state {workload.file_state} before the writes, and {other / size:.1%} of the range "
        f"was not ({parts}): the numbers are those of another kind of write"
    )
    facts = {"file_state": workload.file_state, "other_share": other / size, "range_bytes": size, **found}
    return [Finding(CODE, "invalid", text, evidence.name, facts, _advice(workload.file_state))]


def _advice(state: str) -> str:
    return "write the whole range first" if state == "overwrite" else "use a file that does not exist yet"
