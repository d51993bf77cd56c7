"""A setting that something else changed while a trial went on."""

from __future__ import annotations

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.finding import Finding

CODE = "setting-not-kept"


def find(evidence: TrialEvidence) -> list[Finding]:
    """Settings that were read back as asked before the trial, and as something else after it."""
    changed: dict[str, str] = evidence.measured.context.get("settings_changed") or {}
    if not changed:
        return []
    said = ", ".join(f"{name} was {level} after it" for name, level in changed.items())
    text = f"a setting was changed by something else while this was measured: {said}; the numbers belong to no level"
    advice = "find out who sets it (a rule of udev, tuned), and repeat the trial: drivelab resume"
    return [Finding(CODE, "invalid", text, evidence.name, dict(changed), advice)]
