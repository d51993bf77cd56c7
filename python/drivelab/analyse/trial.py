"""From what a trial measured to its numbers and what is to be known about them."""

from __future__ import annotations

import pyarrow as pa

from drivelab.analyse.findings import trial_findings
from drivelab.analyse.interval_series import histograms_of_intervals
from drivelab.analyse.precision import is_known_well, precise_metric
from drivelab.analyse.summary import one_estimate, summarise
from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import Workload


def judge_trial(
    measured: Measurement, target: TargetFacts, host: HostFacts | None = None
) -> tuple[TrialSummary, list[Finding]]:
    """The numbers of one trial, and the findings about it.

    Returns
    -------
    TrialSummary, list of Finding
        Findings about the target itself are not repeated with every trial: see
        `drivelab.analyse.findings.target_findings`.
    """
    summary = summarise(measured, target)
    return summary, trial_findings(measured, summary, target, host)


def is_enough(workload: Workload, intervals: pa.Table, counted_ns: int) -> bool:
    """Whether a trial that is under way knows its number as well as was asked.

    Parameters
    ----------
    intervals : pyarrow.Table
        The rows of all whole intervals so far.
    counted_ns : int
        The time that they are.
    """
    engine = {"measured_ns": counted_ns, "operations": {}}
    so_far = Measurement("", workload, engine, histograms_of_intervals(intervals), intervals)
    return is_known_well(one_estimate(so_far, precise_metric(workload)), workload.limits.precision)
