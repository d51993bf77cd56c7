"""What a run was asked for and did not measure, because a program is missing that can be installed."""

from __future__ import annotations

from drivelab.analyse.run_evidence import RunEvidence
from drivelab.model.finding import Finding

CODE = "not-measured"
# how the plan says that a program is missing; what a target cannot have is no fault of the reader's
_MISSING = " is not installed"


def find_in_run(evidence: RunEvidence) -> list[Finding]:
    """Levels that were left out for want of a program, each with what installs it."""
    found = (sentence for sentence in evidence.left_out if _MISSING in sentence)
    return [Finding(CODE, "warning", f"not measured: {sentence}", "") for sentence in found]
