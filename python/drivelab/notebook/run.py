"""One stored run in a notebook: its tables as data frames, beside its answer and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from drivelab.answers.courses import courses_of_run
from drivelab.answers.explanations import explanations_of
from drivelab.answers.run_answer import answer_of_run
from drivelab.joint_report import joint_report
from drivelab.model.finding import gravity
from drivelab.model.run_answer import CombinationResult, LevelEffect, RunAnswer
from drivelab.model.throughput_course import ThroughputCourse
from drivelab.model.trace import Explanation
from drivelab.notebook.frames import Frame, arrow_of_rows, json_text
from drivelab.notebook.named import Named
from drivelab.notebook.results import OpenedResults
from drivelab.report.figures.figure import Cell
from drivelab.report.joint import Joint
from drivelab.store.read import StoredRun
from drivelab.store.selection import trial_columns

_EFFECT_COLUMNS = (
    *("target", "workload", "factor", "level", "baseline", "metric", "ratio", "low", "high", "verdict"),
    *("p_value", "adjusted_p_value", "block_count", "trial_count", "invalid_trials", "note"),
)
_FINDING_COLUMNS = ("severity", "code", "trial", "text", "advice", "trial_count", "evidence_json")


class OpenedRun(OpenedResults):
    """A run that was opened; everything is read when it is first asked for.

    Parameters
    ----------
    frame : str
        The form of its tables: arrow, pandas or polars.
    """

    def __init__(self, stored: StoredRun, frame: Frame = "arrow") -> None:
        self.stored = stored
        self._frame = frame

    @cached_property
    def _whole(self) -> Joint:
        return joint_report([self.stored], answers=[self._answer])

    @property
    def joint(self) -> Joint:
        """The report before any format writes it."""
        return self._whole

    @cached_property
    def _answer(self) -> RunAnswer:
        return answer_of_run(self.stored)

    @property
    def name(self) -> str:
        """Name of the run: that of its directory."""
        return self.stored.name

    @property
    def trials(self) -> Any:
        """One row per completed trial in the order in which they ran, its numbers as columns (``docs/metrics.md``)."""
        return self._framed(trial_columns(self.stored, lambda field: not field.name.endswith("_json")))

    @property
    def combinations(self) -> Any:
        """One row per combination of target, workload, levels and operation of a mix: each metric over its repeats."""
        return self._framed(_combinations(self._answer.rows))

    @property
    def effects(self) -> Any:
        """One row per level of a factor beside the first: ratio, interval and verdict."""
        found = self._answer.effects or self._answer.contrasts
        return self._framed(arrow_of_rows(_EFFECT_COLUMNS, [_effect(one) for one in found]))

    @property
    def intervals(self) -> Any:
        """One row per trial, interval, operation and latency."""
        return self._framed(self.stored.intervals)

    @property
    def histograms(self) -> Any:
        """One row per trial, operation and latency, with the buckets that are not empty."""
        return self._framed(self.stored.histograms)

    @property
    def findings(self) -> Any:
        """One row per finding, the gravest first."""
        rows: list[list[Cell]] = [
            [one.severity, one.code, one.trial, one.text, one.advice, one.trial_count, json_text(one.evidence)]
            for one in sorted(self.stored.findings, key=gravity)
        ]
        return self._framed(arrow_of_rows(_FINDING_COLUMNS, rows))

    @cached_property
    def courses(self) -> Mapping[str, ThroughputCourse]:
        """Of each trial with enough intervals the levels of its throughput, its cliff, and whether it was steady."""
        return Named("course", courses_of_run(self.stored, self.stored.trial_names))

    @cached_property
    def explanations(self) -> Mapping[str, Explanation]:
        """Where the time went, of each combination that was traced, by its first trial."""
        return Named("explanation", {one.trial: one for one in explanations_of(self.stored)})

    def ios(self, trial: str) -> Any:
        """One row per I/O of a trial; None when they were not recorded.

        Raises
        ------
        DrivelabError
            U005: the run has no such trial.
        """
        self.stored.trial(trial)
        table = self.stored.ios(trial)
        return None if table is None else self._framed(table)

    def __repr__(self) -> str:
        record = self.stored.record
        count = len(self.stored.trial_names)
        targets = ", ".join(str(one.get("label")) for one in record.targets)
        what = record.experiment.get("name", "")
        status = record.status or "unknown state"
        plural = "" if count == 1 else "s"
        return f"<drivelab run {self.name}: {what}, {count} trial{plural} on {targets or 'nothing'}, {status}>"


def _combinations(combinations: Sequence[CombinationResult]) -> Any:
    factors = list(dict.fromkeys(name for one in combinations for name in one.levels))
    metrics = list(dict.fromkeys(name for one in combinations for name in one.metrics))
    columns = ["target", "workload", "label", "operation", *factors, "trial_count", "invalid_trials", "judged_metric"]
    columns += [f"{metric}{end}" for metric in metrics for end in ("", "_lowest", "_highest")]
    rows = []
    for one in combinations:
        row: list[Cell] = [
            one.target,
            one.workload,
            one.label,
            one.operation,
            *(one.levels.get(name) for name in factors),
        ]
        row += [one.trial_count, one.invalid_trials, one.judged_metric]
        for metric in metrics:
            found = one.metrics.get(metric)
            row += [None] * 3 if found is None else [found.value, found.lowest, found.highest]
        rows.append(row)
    return arrow_of_rows(columns, rows)


def _effect(one: LevelEffect) -> list[Cell]:
    ratio = one.ratio
    found: list[Cell] = [one.target, one.workload, one.factor, one.level, one.baseline, one.metric]
    found += [ratio.value, ratio.low, ratio.high, one.verdict, one.p_value, one.adjusted_p_value]
    return [*found, len(one.block_ratios), one.trial_count, one.invalid_trials, one.note]
