"""More or fewer commands per durable write than this stack is known to send."""

from __future__ import annotations

from drivelab.analyse.command_check import TABLE_OPERATIONS_MIN, CountedCommands, differing_commands, differing_text
from drivelab.analyse.expected_commands import expected_commands
from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "flush-count-unexpected"
_METRICS = {"flushes": "device_flushes_per_operation", "fua writes": "fua_writes_per_operation"}


def find(evidence: TrialEvidence) -> list[Finding]:
    """Flushes, or FUA writes, outside the range that was counted on the same kind of stack."""
    if not evidence.is_durable or evidence.is_null or evidence.durable_operations < TABLE_OPERATIONS_MIN:
        return []
    known = expected_commands(evidence.measured.workload, evidence.backend, evidence.is_direct, evidence.target)
    if known is None:
        return []
    commands, row = known
    estimates = [evidence.summary.estimates.get(metric) for metric in _METRICS.values()]
    flushes, fua_writes = (None if estimate is None else estimate.value for estimate in estimates)
    # of the writes only bounds are known where nobody traced them
    differing = differing_commands(CountedCommands(evidence.durable_operations, flushes, fua_writes), commands)
    if not differing:
        return []
    facts = {
        _METRICS[kind]: {"counted": value, "expected": list(expected)} for kind, (value, expected) in differing.items()
    }
    known_facts = {"writes_expected": list(commands.writes), "source": row.source}
    return [Finding(CODE, "note", differing_text(differing, row.filesystem), evidence.name, {**facts, **known_facts})]
