"""Gathers what a report tells from a stored run.

Of ``run.json`` these keys are read, and any of them may be missing:
``question``, ``title``, ``experiment`` (its name, or a mapping with ``name``,
``question`` and ``description``), ``plan`` (with ``question``), ``findings``,
``verdict`` (a `Verdict` or a `Fitness` as JSON), ``failures`` (why trials gave
no numbers, by name). All others are facts, shown as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.histogram import Histogram
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.reported_findings import reported
from drivelab.store.read import StoredRun
from drivelab.store.tables import histogram_from_row

_FAILED = "trial-failed"


def gather(run: StoredRun) -> ReportContent:
    """Everything that the report of a run tells.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    facts = run.run_json
    histograms: dict[str, dict[tuple[str, str], Histogram]] = {}
    for row in run.histograms.to_pylist():
        histograms.setdefault(row["trial"], {})[row["operation"], row["latency"]] = histogram_from_row(row)
    rows = run.trials.to_pylist()
    trials = [_trial(row, histograms.get(row["trial"], {}), run) for row in rows]
    return ReportContent(
        name=run.name,
        title=_title(facts),
        question=_question(facts),
        trials=tuple(_for_reading(trials, _order_of_file(facts))),
        findings=reported([*run.findings, *_failures(run)]),
        verdict=facts.get("verdict"),
        facts=facts,
    )


def _trial(row: Mapping[str, Any], histograms: dict[tuple[str, str], Histogram], run: StoredRun) -> TrialContent:
    workload = json.loads(row["workload_json"])
    intervals: pa.Table = run.intervals.filter(pc.equal(run.intervals["trial"], row["trial"]))
    operation = row["operation"]
    open_loop = workload.get("pacing", {}).get("kind", "closed") != "closed"
    return TrialContent(
        name=row["trial"],
        label=row["label"] or row["trial"],
        operation=operation,
        latency="response" if open_loop and (operation, "response") in histograms else "total",
        estimates={key: Estimate(**stored) for key, stored in json.loads(row["estimates_json"]).items()},
        histograms=histograms,
        intervals=intervals,
        row=row,
        workload=workload,
        engine=json.loads(row["engine_json"]),
        context=json.loads(row["context_json"]),
        devices=tuple(json.loads(row["devices_json"])),
        records=run.ios(row["trial"]),
    )


def _for_reading(trials: Sequence[TrialContent], order: Sequence[str]) -> list[TrialContent]:
    """The trials with those of a kind together; a plan's random order is sorted, any other order is kept.

    Parameters
    ----------
    trials : sequence of TrialContent
        In the order in which they ran.
    order : sequence of str
        Workloads and levels as their author wrote them.
    """

    def place(trial: TrialContent) -> tuple[Any, ...]:
        row = trial.row
        levels = [str(value) for key, value in row.items() if key.startswith("asked_") and str(value) in order]
        known = [order.index(name) for name in [str(row.get("workload")), *levels] if name in order]
        return str(row["target"]), known, trial.label, row["repeat"]

    groups: dict[str, list[TrialContent]] = {}
    for trial in trials:
        groups.setdefault(trial.group, []).append(trial)
    found = []
    for members in groups.values():
        is_planned = all(trial.row.get("step") for trial in members)
        found += sorted(members, key=place) if is_planned else members
    return _told_apart(found)


def _order_of_file(facts: Mapping[str, Any]) -> list[str]:
    """Names of workloads and levels in the order of the experiment's file."""
    experiment = _experiment(facts)
    names = [str(workload.get("name")) for workload in experiment.get("workloads", ())]
    for factor in experiment.get("factors", ()):
        for level in factor.get("levels", ()):
            names.append(str(level.get("name")) if isinstance(level, Mapping) else _as_written(level))
    return names


def _as_written(level: object) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def _told_apart(trials: Sequence[TrialContent]) -> list[TrialContent]:
    """The trials with different labels: repeats of one are numbered."""
    labels = [trial.label for trial in trials]
    seen: dict[str, int] = {}
    found = []
    for trial in trials:
        number = seen[trial.label] = seen.get(trial.label, 0) + 1
        several = labels.count(trial.label) > 1
        found.append(replace(trial, label=f"{trial.label}, repeat {number}") if several else trial)
    return found


def _failures(run: StoredRun) -> list[Finding]:
    """Trials that gave no numbers, unless a finding tells of them already."""
    told = {finding.trial for finding in run.findings if finding.code == _FAILED}
    failures: Mapping[str, str] = run.run_json.get("failures") or {}
    return [
        Finding(_FAILED, "invalid", f"{trial} was not measured: {text.splitlines()[0]}", trial)
        for trial, text in failures.items()
        if trial not in told
    ]


def _experiment(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    experiment = facts.get("experiment", {})
    return experiment if isinstance(experiment, Mapping) else {"name": str(experiment)}


def _title(facts: Mapping[str, Any]) -> str:
    return str(facts.get("title") or _experiment(facts).get("name") or "run")


def _question(facts: Mapping[str, Any]) -> str:
    asked = facts.get("question") or _experiment(facts).get("question") or facts.get("plan", {}).get("question")
    return str(asked or "What does this drive do?")
