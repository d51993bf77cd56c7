"""What a report tells, gathered from wherever it comes: plain data that figures and templates draw from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.histogram import EMPTY, Histogram
from drivelab.model.lasting_rate import LastingRate, lasting_of
from drivelab.model.operations_apart import operations_apart, plural
from drivelab.model.run_answer import LevelEffect, RunAnswer
from drivelab.model.trace import Explanation, ExplanationDifference
from drivelab.model.workload import ends_durable
from drivelab.report.finding_lines import FindingLine
from drivelab.report.numerals import DisplayUnit, estimate_numbers, number_text
from drivelab.report.reported_findings import ReportedFinding
from drivelab.store.record_batches import StoredRecords
from drivelab.store.run_record import RunRecord

_GROUPS = {
    "durable_write": "Durable writes",
    "sync": "Sync calls",
    "read": "Reads",
    "write": "Writes",
    "trim": "Trims",
    "create": "Files created",
    "stat": "Files looked up (stat)",
    "read_file": "Files read",
    "delete": "Files deleted",
    "rename": "Files renamed",
    "replace": "Files replaced",
    "update": "Files updated behind a journal",
    "make_directory": "Directories made",
    "remove_directory": "Directories removed",
    "link": "Links made",
    "symlink": "Symbolic links made",
    "list": "Directories listed",
}


@dataclass(frozen=True, slots=True)
class TrialContent:
    """One trial, ready to be shown.

    Attributes
    ----------
    operation, latency : str
        What the trial is about, and which of its latencies is shown: ``response``
        when I/Os arrived by a schedule, otherwise ``total``.
    histograms : mapping of (operation, latency) to Histogram
        Whole measured window.
    intervals : pyarrow.Table or None
        Its rows of the intervals table.
    row : mapping
        Its row of the trials table.
    workload, engine, context : mapping
        What was asked, what the engine did, and what else was observed.
    devices : tuple of mapping
        What each block device executed, the drive first.
    records : StoredRecords or None
        One row per I/O, when they were recorded; nothing is read before it is asked for.
    part_of : str
        Where this tells one operation of a mix alone, or all of them together: the operation that the trial is about.
    """

    name: str
    label: str
    operation: str
    latency: str = "total"
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    histograms: Mapping[tuple[str, str], Histogram] = field(default_factory=dict)
    intervals: pa.Table | None = None
    row: Mapping[str, Any] = field(default_factory=dict)
    workload: Mapping[str, Any] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    devices: tuple[Mapping[str, Any], ...] = ()
    records: StoredRecords | None = None
    findings: tuple[Finding, ...] = ()
    part_of: str = ""

    @property
    def parts(self) -> tuple[TrialContent, ...]:
        """What a mix is told by: each of its operations, and all of them together without latencies; else itself."""
        return tuple(
            replace(
                self,
                label=f"{self.label}, {plural(operation)}",
                operation=operation,
                estimates={name: self.estimates[key] for name, key in names.items()},
                part_of=self.operation,
            )
            for operation, names in operations_apart(self.estimates, self.operation).items()
        ) or (self,)

    @property
    def is_invalid(self) -> bool:
        """Whether a finding says that it does not describe the drive."""
        return any(one.severity == "invalid" for one in self.findings)

    def lasting(self, metric: str) -> LastingRate | None:
        """What is left of its rate when a cache is full, and the rate before; None where nothing shows a fall."""
        return lasting_of(metric, self.estimates, self.findings)

    def numbers(self, metric: str, unit: DisplayUnit) -> tuple[str, str]:
        """What a table shows of a metric in its column's unit: number and interval; of a rate that fell what lasts.

        Empty where it was not measured: ``209``, ``207–211``; ``209``, ``at first 303``.
        """
        estimate = self.estimate(metric)
        lasting = self.lasting_words(metric, lambda per_s: number_text(per_s / unit.scale))
        return lasting or (("", "") if estimate is None else estimate_numbers(estimate, unit))

    def lasting_words(self, metric: str, write: Callable[[float], str]) -> tuple[str, str] | None:
        """What lasts, and what the trial did before: ``209 MB/s``, ``at first 303 MB/s``; None where it is one rate."""
        lasting = self.lasting(metric)
        if lasting is None or lasting.at_first_per_s is None:
            return None
        return write(lasting.per_s), f"at first {write(lasting.at_first_per_s)}"

    @property
    def is_main(self) -> bool:
        """Whether what is said of latencies of the trial is said of this one."""
        return self.part_of in ("", self.operation)

    @property
    def histogram(self) -> Histogram:
        """The latencies that the trial is about; empty when nothing completed, or it is about several operations."""
        of_one = f"{self.operation}_{self.latency}_latency_ns_mean"
        return EMPTY if of_one in self.estimates else self.histograms.get((self.operation, self.latency), EMPTY)

    @property
    def group(self) -> str:
        """What kind of trial it is, for people."""
        if self.operation == "durable_write" and not self.is_durable:
            return "Writes and their sync calls"
        return _GROUPS.get(self.operation, plural(self.operation).capitalize())

    @property
    def is_durable(self) -> bool:
        """Whether its latency ends when a write, or an operation on files, is durable."""
        return ends_durable(self.operation, self.workload.get("durability") or {})

    @property
    def block_size_bytes(self) -> int | None:
        """Size of one I/O; None when sizes are mixed or unknown."""
        sizes = {share["bytes"] for share in self.workload.get("block_sizes", ())}
        return sizes.pop() if len(sizes) == 1 else None

    def estimate(self, metric: str) -> Estimate | None:
        """One of its numbers; latencies are named without the kind (``p99``), since one kind is shown."""
        if metric in self.estimates:
            return self.estimates[metric]
        return self.estimates.get(f"{self.latency}_latency_ns_{metric}")


@dataclass(frozen=True, slots=True)
class TracedCombination:
    """A combination of workload and levels that was traced, ready to be shown.

    Attributes
    ----------
    explanation : Explanation
        Where the time of its operations went.
    label : str
        What it is for people, told apart from the others of its run.
    operations : tuple of StoredRecords
        One row per operation of the traced pass, for each of its trials.
    events : tuple of StoredRecords
        One row per bio and per command of the same passes.
    """

    explanation: Explanation
    label: str
    operations: tuple[StoredRecords, ...] = ()
    events: tuple[StoredRecords, ...] = ()

    @property
    def is_answered(self) -> bool:
        """Whether there is an explanation: the trace was whole enough for one."""
        return not self.explanation.refusal and bool(self.explanation.parts)


@dataclass(frozen=True, slots=True)
class ReportContent:
    """One run, ready to be shown.

    Attributes
    ----------
    trials : tuple of TrialContent
        Those that are shown one by one: all of them, or a selection of a run
        that has too many. Trials of the reference are not among them.
    reference_count : int
        Trials of the reference.
    finding_lines : tuple of FindingLine
        The same in a line each, with between what their numbers lie.
    verdict : mapping or None
        The judgement against a need, as stored.
    facts : mapping
        run.json as a whole: host, drives, target, versions, seeds.
    traced : tuple of TracedCombination
        What was traced, in the order of the experiment's file.
    level_differences : tuple of (LevelEffect, ExplanationDifference)
        Of levels that matter and were traced, which part makes the difference.
    """

    name: str
    title: str
    question: str
    trials: tuple[TrialContent, ...]
    findings: tuple[ReportedFinding, ...] = ()
    finding_lines: tuple[FindingLine, ...] = ()
    verdict: Mapping[str, Any] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    trial_count: int = 0
    reference_count: int = 0
    answer: RunAnswer = field(default_factory=RunAnswer)
    traced: tuple[TracedCombination, ...] = ()
    level_differences: tuple[tuple[LevelEffect, ExplanationDifference], ...] = ()

    @property
    def all_trial_count(self) -> int:
        """How many trials ran, those of the reference among them: what is said of a run counts these."""
        return self.trial_count + self.reference_count

    @property
    def is_selection(self) -> bool:
        """Whether only some of the trials are shown one by one."""
        return self.trial_count > len(self.trials)

    @property
    def record(self) -> RunRecord:
        """The run's ``run.json``, typed."""
        return RunRecord.from_json(self.facts)

    @property
    def experiment(self) -> Mapping[str, Any]:
        """The experiment as stored; only a name, or nothing, where there was none."""
        return self.record.experiment
