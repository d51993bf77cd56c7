"""What a run was asked for and did not measure: for want of a program, or because a target has nothing to set."""

from __future__ import annotations

from drivelab.analyse.run_evidence import RunEvidence
from drivelab.model.finding import Finding

CODE = "not-measured"
# how the plan says that a program is missing; what a target cannot have is no fault of the reader's
_MISSING = " is not installed"


def find_in_run(evidence: RunEvidence) -> list[Finding]:
    """Levels that were left out: for want of a program, each with what installs it, and those that no target has."""
    missing = [sentence for sentence in evidence.left_out if _MISSING in sentence]
    others = [sentence for sentence in evidence.left_out if sentence not in missing]
    found = [Finding(CODE, "warning", f"not measured: {sentence}", "") for sentence in missing]
    return [*found, Finding(CODE, "note", f"not measured: {'; '.join(others)}", "")] if others else found
