"""What the golden runs come to, made once for all tests of a process: none of it is ever changed."""

from __future__ import annotations

import functools
from pathlib import Path

from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.answers.traced_answer import TracedAnswer
from drivelab.joint_report import joint_report
from drivelab.model.run_answer import RunAnswer
from drivelab.report.content import ReportContent
from drivelab.report.gather import gather
from drivelab.report.joint import Joint
from drivelab.store.read import StoredRun, open_run

RUNS = Path(__file__).parent / "golden" / "runs"


@functools.cache
def golden_run(name: str) -> StoredRun:
    """A golden run."""
    return open_run(RUNS / name)


@functools.cache
def golden_answer(name: str) -> RunAnswer:
    """What a golden run comes to, with the metrics that a report shows."""
    return answer_of_run(golden_run(name), SHOWN_METRICS)


@functools.cache
def golden_content(name: str) -> ReportContent:
    """What a report tells of the trials of a golden run."""
    return gather(golden_run(name))


@functools.lru_cache(32)
def golden_joint(*names: str) -> Joint:
    """The report of golden runs."""
    answers = [golden_answer(name) for name in names]
    return joint_report([golden_run(name) for name in names], answers=answers, traced=[_traced(name) for name in names])


@functools.cache
def _traced(name: str) -> TracedAnswer:
    return TracedAnswer(golden_run(name), golden_answer(name))
