"""Writes that had been answered still lay in the drive's write cache when the trial ended: its rate does not last."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.token_bucket import token_of
from drivelab.model.finding import MEASURE_LONGER, Finding
from drivelab.model.units import format_duration_ns, quantity_in_words

CODE = "writes-left-in-cache"
# a flush costs a moment also where nothing waits, and what it costs beyond that is to matter
_EMPTIED_NS_MIN = 50_000_000
_EMPTIED_SHARE_MIN = 0.1
_NS = 1e9


def find(evidence: TrialEvidence) -> list[Finding]:
    """A write cache that took long to empty, beside the time that was measured."""
    engine = evidence.measured.engine
    emptied_ns = evidence.measured.context.get("write_cache_emptied_ns")
    run_ns = sum(int(engine.get(part, 0)) for part in ("ramp_ns", "measured_ns", "drain_ns"))
    if not emptied_ns or evidence.is_null or emptied_ns < max(_EMPTIED_NS_MIN, _EMPTIED_SHARE_MIN * run_ns):
        return []
    token, _ = token_of(evidence.measured.workload.block_sizes[0].bytes)
    is_of_bytes = token == "bytes"
    counted = evidence.issued if is_of_bytes else evidence.operations
    lasting_per_s = sum(map(counted, ("read", "write"))) * _NS / (run_ns + emptied_ns)
    rate = quantity_in_words(lasting_per_s, "B/s" if is_of_bytes else "1/s")
    text = (
        f"what lasts is {rate}, counting the {format_duration_ns(emptied_ns)} that the write cache took to empty: the "
        "rate that was measured is the cache's"
    )
    facts = {
        "write_cache_emptied_ns": emptied_ns,
        "measured_ns": int(engine.get("measured_ns", 0)),
        "token": token,
        "base_per_s": lasting_per_s,
    }
    return [Finding(CODE, "warning", text, evidence.name, facts, MEASURE_LONGER)]
