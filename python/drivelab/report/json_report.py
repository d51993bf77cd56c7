"""A report as plain data for JSON: everything that it says, with every number behind it (``docs/report_json.md``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.run_answer import LevelEffect
from drivelab.model.trace import ExplanationDifference
from drivelab.report.answer import answer_of
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.figures.figure import DataTable, Figure
from drivelab.report.headline import headline_facts
from drivelab.report.joint import Joint
from drivelab.report.named_figures import named_figures
from drivelab.report.reported_findings import ReportedFinding
from drivelab.report.run_tables import result_tables, setting_tables
from drivelab.report.sentences.explanation_difference import level_sentence
from drivelab.report.sentences.traced import answer_sentences
from drivelab.report.tables.table import Table
from drivelab.report.traced_part import traced_tables
from drivelab.store.durable import write_json

# changes when a key changes its meaning or goes; new keys may come without
SCHEMA = 1


def write_json_report(joint: Joint, path: Path) -> Path:
    """Path of the JSON, written whole or not at all.

    Raises
    ------
    DrivelabError
        O802: it cannot be written.
    """
    try:
        write_json(path, report_json(joint))
    except DrivelabError as error:
        raise DrivelabError("O802", error.what, where=str(path)) from error
    return path


def report_json(joint: Joint) -> dict[str, Any]:
    """The report as plain data; `docs/report_json.md` describes every key.

    Returns
    -------
    dict
        Nothing but what JSON has; a number that does not exist is None.
    """
    named = named_figures(joint)
    return {
        "schema": SCHEMA,
        "title": joint.title,
        "question": joint.question,
        "sentences": list(joint.sentences),
        "notes": list(joint.notes),
        "tables": [_table(table) for table in joint.tables],
        "figures": [_figure(one.name, one.figure) for one in named if one.run is None],
        "runs": [
            _run(content, [_figure(one.name, one.figure) for one in named if one.run == place])
            for place, content in enumerate(joint.runs)
        ],
        "part_differences": [plain(one.to_json()) for one in joint.part_differences],
        "result_sets": [plain(one) for one in joint.result_sets],
    }


def _run(content: ReportContent, figures: list[dict[str, Any]]) -> dict[str, Any]:
    answer = answer_of(content.verdict, content.trials, content.findings, answer_sentences(content))
    tables = (*traced_tables(content), *result_tables(content), *setting_tables(content))
    return {
        "name": content.name,
        "title": content.title,
        "question": content.question,
        "sentences": list(answer.told),
        "headline": dict(headline_facts(content)),
        "verdict": plain(content.verdict),
        **plain(content.answer.to_json()),
        "explanations": [plain(one.explanation.to_json()) for one in content.traced],
        "level_explanations": [plain(_level(effect, one)) for effect, one in content.level_differences],
        "trial_count": content.trial_count,
        "trials": [_trial(trial) for trial in content.trials],
        "tables": [_table(table) for table in tables],
        "figures": figures,
        "findings": [_finding(finding) for finding in content.findings],
        "facts": plain(content.facts),
    }


def _level(effect: LevelEffect, difference: ExplanationDifference) -> dict[str, Any]:
    """Which part makes the difference between a level and its baseline."""
    about = {name: getattr(effect, name) for name in ("target", "workload", "factor", "level", "baseline")}
    return about | {"says": level_sentence(effect, difference), "difference": difference.to_json()}


def _trial(trial: TrialContent) -> dict[str, Any]:
    return {
        "name": trial.name,
        "label": trial.label,
        "operation": trial.operation,
        "latency": trial.latency,
        "estimates": _estimates(trial),
        "operations": {part.operation: _estimates(part) for part in trial.parts if part.part_of},
        "workload": plain(trial.workload),
        "engine": plain(trial.engine),
        "context": plain(trial.context),
        "devices": plain(trial.devices),
    }


def _estimates(trial: TrialContent) -> dict[str, Any]:
    return {name: estimate.to_json() for name, estimate in trial.estimates.items()}


def _finding(finding: ReportedFinding) -> dict[str, Any]:
    return {
        "mark": finding.mark,
        "severity": finding.severity,
        "code": finding.code,
        "says": [{"text": text, "trials": list(trials)} for text, trials in finding.says],
        "advice": finding.advice,
        "trial_count": finding.trial_count,
    }


def _table(table: Table) -> dict[str, Any]:
    found: dict[str, Any] = plain(table)
    return found | {"data": _data(table.plain())}


def _figure(name: str, figure: Figure) -> dict[str, Any]:
    drawings = [plot.name for plot in figure.plots]
    words = {"name": name, "key": figure.key, "title": figure.title, "caption": figure.caption}
    return words | {"drawings": drawings, "data": _data(figure.table)}


def _data(table: DataTable) -> dict[str, Any]:
    return {"columns": list(table.columns), "rows": plain(table.rows)}


def plain(value: Any) -> Any:
    """The value as JSON has it: records become mappings, and a number that is none becomes null."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        # a float of numpy is one too, and would be printed as one; JSON has no infinity
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    # a number of numpy, or an array of them
    return plain(value.tolist()) if hasattr(value, "tolist") else str(value)
