"""More or fewer commands per durable write than this stack is known to send."""

from __future__ import annotations

from drivelab.analyse.expected_commands import expected_commands
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding

CODE = "flush-count-unexpected"
SLACK = 0.05
OPERATIONS_MIN = 100
# what a file system does now and then beside the operations: a checkpoint, an inode table
_OCCASIONAL = 5


def find(evidence: TrialEvidence) -> list[Finding]:
    """Flushes, or FUA writes, outside the range that was counted on the same kind of stack."""
    if not evidence.is_durable or evidence.is_null or evidence.durable_operations < OPERATIONS_MIN:
        return []
    known = expected_commands(evidence.measured.workload, evidence.backend, evidence.is_direct, evidence.target)
    if known is None:
        return []
    commands, row = known
    slack = SLACK + _OCCASIONAL / evidence.durable_operations
    differing = {}
    for metric, expected in (
        ("device_flushes_per_operation", commands.flushes),
        ("fua_writes_per_operation", commands.fua_writes),
    ):
        estimate = evidence.summary.estimates.get(metric)
        if estimate is not None and _is_outside(estimate, expected, slack):
            differing[metric] = (estimate.value, expected)
    if not differing:
        return []
    parts = [
        f"{value:.2f} {metric.removeprefix('device_').removesuffix('_per_operation').replace('_', ' ')} instead of "
        f"{_range_text(expected)}"
        for metric, (value, expected) in differing.items()
    ]
    text = (
        f"each durable write cost {' and '.join(parts)}, which {row.filesystem} is known to send: "
        "a layer between file system and drive, other writers, or a kernel that works differently"
    )
    facts = {metric: {"counted": value, "expected": list(expected)} for metric, (value, expected) in differing.items()}
    known_facts = {"writes_expected": list(commands.writes), "source": row.source}
    return [Finding(CODE, "note", text, evidence.name, {**facts, **known_facts})]


def _is_outside(estimate: Estimate, expected: tuple[float, float], slack: float) -> bool:
    if estimate.value is None:
        return False
    return not expected[0] - slack <= estimate.value <= expected[1] + slack


def _range_text(expected: tuple[float, float]) -> str:
    low, high = expected
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
