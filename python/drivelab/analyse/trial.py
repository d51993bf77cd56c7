"""From what a trial measured to its numbers and what is to be known about them."""

from __future__ import annotations

from drivelab.analyse.findings import trial_findings
from drivelab.analyse.summary import summarise
from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary


def judge_trial(
    measured: Measurement, target: TargetFacts, host: HostFacts | None = None
) -> tuple[TrialSummary, list[Finding]]:
    """The numbers of one trial, and the findings about it.

    Parameters
    ----------
    measured : Measurement
        What was measured.
    target : TargetFacts
        What it ran on.
    host : HostFacts, optional
        The computer.

    Returns
    -------
    TrialSummary, list of Finding
        Findings about the target itself are not repeated with every trial: see
        `drivelab.analyse.findings.target_findings`.
    """
    summary = summarise(measured, target)
    return summary, trial_findings(measured, summary, target, host)
