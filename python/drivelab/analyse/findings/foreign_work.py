"""Other programs used the drive or the processors meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "foreign-work"
# methodology, row 21
FOREIGN_SHARE_MAX = 0.01
STEAL_SHARE_MAX = 0.01
CPU_PRESSURE_MAX = 0.05
# a write or two of a journal in a short watch before the trial are not a neighbour
IDLE_REQUESTS_MIN = 3
IDLE_SHARE_MAX = 0.1
# a direct read of n bytes makes the drive read n bytes, and hardly any metadata
READ_EXCESS_MAX = 0.02
FOREIGN_REQUESTS_MIN = 3


def find(evidence: TrialEvidence) -> list[Finding]:
    """Requests of other programs, stolen time, processors with a queue."""
    if evidence.is_null:
        return []
    found = list(_signs(evidence))
    if not found:
        return []
    text = f"this trial was not alone: {'; '.join(sentence for sentence, _ in found)}"
    facts = {key: value for _, facts in found for key, value in facts.items()}
    return [Finding(CODE, "warning", text, evidence.name, facts, "repeat it when the computer is quiet")]


def _signs(evidence: TrialEvidence) -> Iterator[tuple[str, dict[str, float]]]:
    yield from _foreign_requests(evidence)
    yield from _excess_reads(evidence)
    yield from _work_before(evidence)
    steal = evidence.measured.context.get("cpu_steal_share")
    if steal is not None and steal > STEAL_SHARE_MAX:
        yield f"the hypervisor took {steal:.0%} of the processors", {"cpu_steal_share": steal}
    pressure = (evidence.measured.context.get("pressure") or {}).get("cpu_some_share")
    if pressure is not None and pressure > CPU_PRESSURE_MAX:
        yield (
            f"tasks waited for a processor {pressure:.0%} of the time",
            {"cpu_pressure_some_share": pressure},
        )


def _foreign_requests(evidence: TrialEvidence) -> Iterator[tuple[str, dict[str, float]]]:
    traced = evidence.measured.context.get("command_counts") or {}
    foreign = traced.get("foreign_requests", 0)
    own = sum(traced.get(kind, 0) for kind in ("data_writes", "flushes", "reads", "discards"))
    counts = evidence.counts
    if not traced and counts is not None and counts.foreign_requests is not None:
        foreign, own = counts.foreign_requests, counts.reads + counts.writes + counts.discards - counts.foreign_requests
    if foreign >= FOREIGN_REQUESTS_MIN and foreign > FOREIGN_SHARE_MAX * (own + foreign):
        share = foreign / (own + foreign)
        names = ", ".join(sorted(traced.get("foreign", {})))
        who = f" ({names})" if names else ""
        yield f"{share:.0%} of the drive's requests were others'{who}", {"foreign_request_share": share}


def _excess_reads(evidence: TrialEvidence) -> Iterator[tuple[str, dict[str, float]]]:
    """Bytes that the drive read beyond those of a trial that only reads, past the page cache."""
    counts, issued = evidence.counts, evidence.issued("read")
    if counts is None or not evidence.is_direct or evidence.operations("write") or issued < 1 << 20:
        return
    excess = counts.bytes_read / issued - 1
    if excess > READ_EXCESS_MAX:
        yield f"the drive read {excess:.0%} more than this trial asked for", {"excess_read_share": excess}


def _work_before(evidence: TrialEvidence) -> Iterator[tuple[str, dict[str, float]]]:
    """What the drive did in the moment before the trial, against what it did in the trial."""
    watched = evidence.measured.context.get("other_work")
    counts = evidence.counts
    elapsed_ns = sum(int(evidence.measured.engine.get(part, 0)) for part in ("ramp_ns", "measured_ns", "drain_ns"))
    if not watched or counts is None or not elapsed_ns or not watched.get("duration_ns"):
        return
    if watched["reads"] + watched["writes"] < IDLE_REQUESTS_MIN:
        return
    others = (watched["bytes_read"] + watched["bytes_written"]) / watched["duration_ns"]
    ours = (counts.bytes_read + counts.bytes_written) / elapsed_ns
    if others > IDLE_SHARE_MAX * ours:
        share = others / ours if ours else 1.0
        yield (
            f"just before it, the drive was busy with other work, {share:.0%} as many bytes a second",
            {"other_bytes_share": share},
        )
