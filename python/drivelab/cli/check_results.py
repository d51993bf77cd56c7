"""What a check came to: as a screen, in full, or as JSON, with its report."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from drivelab.cli.check_screen import print_screen
from drivelab.cli.page import write_page
from drivelab.cli.run_in_short import told_in_short
from drivelab.joint_report import joint_report
from drivelab.model.check_trials import PROBE
from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.verdict import Fitness, Verdict
from drivelab.report.content import ReportContent
from drivelab.report.html import FILE_NAME
from drivelab.report.terminal.text import render_check, text_console
from drivelab.report.terminal.wrapped import trimmed
from drivelab.run.check import CheckResults
from drivelab.store.read import open_run
from drivelab.store.remote.bring import place_of

SCHEMA = 1
_SENTENCES_OF_A_KIND_MAX = 2


@dataclass(frozen=True, slots=True)
class CheckJudgement:
    """What a check says at the end.

    Attributes
    ----------
    findings : list of Finding
        About the target, the trials, and the run as a whole.
    verdict : Verdict or Fitness
        Against the need that was named, or against all of them.
    """

    findings: list[Finding]
    verdict: Verdict | Fitness


def show_check(
    results: CheckResults,
    judgement: CheckJudgement,
    facts: TargetFacts,
    directory: Path,
    *,
    details: bool,
    as_json: bool,
) -> None:
    """Print what a check came to, and write its report."""
    joint = joint_report([open_run(directory)])
    # before the report: what was measured is worth seeing also when that cannot be written
    if details and not as_json:
        _print_check(results, judgement, facts, joint.runs[0], directory)
    elif not as_json:
        print_screen(joint.runs[0], directory)
    report = write_page(joint, directory / FILE_NAME)
    if as_json:
        told = _check_json(results, judgement, facts, directory, report) | told_in_short(open_run(directory))
        print(json.dumps(told, indent=2))
    elif report:
        print(f"report: {report}")
    if results.outcome.is_interrupted:
        print(f"a check is not resumed; to measure all of it: {joint.runs[0].record.command_line}", file=sys.stderr)


def _check_json(
    results: CheckResults, judgement: CheckJudgement, target: TargetFacts, directory: Path, report: Path | None
) -> dict[str, Any]:
    """Everything about a check as plain data."""
    return {
        "schema": SCHEMA,
        "run": str(directory),
        "report": str(report) if report else None,
        "status": "interrupted" if results.outcome.is_interrupted else "complete",
        "target": target.to_json(),
        "verdict": judgement.verdict.to_json(),
        "trials": [
            summary.to_json() | _achieved(measured)
            for measured, summary in zip(results.measurements, results.summaries, strict=True)
        ],
        "findings": [finding.to_json() for finding in judgement.findings],
        "failures": {name: str(error) for name, error in results.outcome.failures.items()},
    }


def _achieved(measured: Measurement) -> dict[str, Any]:
    """What stands beside the numbers of a trial: asked, achieved, and what was seen around it."""
    counted = measured.counted_device
    return {
        "workload": measured.workload.model_dump(mode="json"),
        "engine": measured.engine,
        "device": asdict(counted) if counted else None,
        "context": measured.context,
    }


def condensed(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with fewer sentences: of one kind that says another thing of every trial, only the first is kept.

    Each trial keeps its finding, so that its numbers keep their marks.
    """
    by_kind: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        by_kind.setdefault((finding.severity, finding.code), []).append(finding)
    shorter = []
    for members in by_kind.values():
        texts = {finding.text for finding in members}
        if len(texts) > _SENTENCES_OF_A_KIND_MAX:
            text = f"{members[0].text} (numbers of the first trial; the report has all)"
            shorter += [replace(finding, text=text, advice=members[0].advice) for finding in members]
        else:
            shorter += members
    return shorter


def _print_check(
    results: CheckResults, judgement: CheckJudgement, target: TargetFacts, content: ReportContent, directory: Path
) -> None:
    """Print the verdict, the numbers, what limits them, and where everything lies.

    The probe for compression is told by its finding; its trials stand in the report.
    """
    console = text_console()
    summaries = [summary for summary in results.summaries if not summary.name.startswith(PROBE)]
    findings = [finding for finding in judgement.findings if not finding.trial.startswith(PROBE)]
    histograms = {
        summary.name: measured.histograms[summary.operation, "total"]
        for measured, summary in zip(results.measurements, results.summaries, strict=True)
        if (summary.operation, "total") in measured.histograms and not summary.name.startswith(PROBE)
    }
    answer = render_check(
        f"{target.text}: is it fit, and can the numbers be trusted?",
        summaries,
        condensed(findings),
        judgement.verdict,
        histograms,
        trials=[trial for trial in content.trials if not trial.name.startswith(PROBE)],
        plain=not console.encoding.startswith("utf"),
    )
    with trimmed(console):
        console.print(answer)
    print(f"\nrun:    {place_of(directory)}")
