"""Gathers what a report tells from a stored run.

Of ``run.json`` these keys are read, and any of them may be missing:
``question``, ``title``, ``experiment`` (its name, or a mapping with ``name``,
``question`` and ``description``), ``plan`` (with ``question``), ``findings``,
``verdict`` (a `Verdict` or a `Fitness` as JSON), ``failures`` (why trials gave
no numbers, by name). All others are facts, shown as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drivelab.model.finding import NOT_MEASURED, TRIAL_FAILED, Finding
from drivelab.model.histogram import Histogram
from drivelab.model.level_words import level_phrase, levels_phrase
from drivelab.model.names import names_apart
from drivelab.model.run_answer import RunAnswer
from drivelab.model.stored_experiment import factor_levels, workload_titles
from drivelab.model.trace import Explanation
from drivelab.report.content import ReportContent, TracedCombination, TrialContent
from drivelab.report.finding_lines import FindingLine, finding_lines
from drivelab.report.parts_of_text import shortened
from drivelab.report.reported_findings import reported
from drivelab.store import layout
from drivelab.store.cells import cell_value, estimates_in, findings_in
from drivelab.store.read import StoredRun
from drivelab.store.record_batches import StoredRecords
from drivelab.store.run_record import RunRecord
from drivelab.store.selection import rows_of_trials, trial_columns

# more are not looked at one by one, and their figures would make a page that no browser likes to open
TRIALS_IN_FULL_MAX = 60
TRIALS_SELECTED = 24
# the answer about two drives compares them
_AGAINST_EACH_OTHER = 2


def gather(run: StoredRun, answer: RunAnswer | None = None, explanations: Sequence[Explanation] = ()) -> ReportContent:
    """Everything that the report of a run tells.

    Returns
    -------
    ReportContent
        A run of more than `TRIALS_IN_FULL_MAX` trials is told by its
        combinations, and `TRIALS_SELECTED` of its trials are shown one by one:
        the first repeat of combinations at equal distances in the experiment's file.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    record = run.record
    order = _order_of_file(record)
    names, trial_count, reference_count = _shown_trials(run, order)
    histograms: dict[str, dict[tuple[str, str], Histogram]] = {}
    for row in rows_of_trials(run, layout.HISTOGRAMS, names).to_pylist():
        histograms.setdefault(row["trial"], {})[row["operation"], row["latency"]] = Histogram.from_row(row)
    intervals = rows_of_trials(run, layout.INTERVALS, names)
    rows = {row["trial"]: row for row in rows_of_trials(run, layout.TRIALS, names).to_pylist()}
    trials = [
        _trial(rows[name], histograms.get(name, {}), intervals, run.records(name), _label(rows[name], record))
        for name in names
    ]
    told = sorted(explanations, key=lambda one: _place(_row_of(one), one.label, order))
    return ReportContent(
        name=run.name,
        title=_title(record),
        question=_question(record),
        trials=tuple(_for_reading(trials, order)),
        findings=reported([*run.findings, *_failures(run)], _findings_of(rows.values())),
        finding_lines=finding_lines_of(run, _failures(run)),
        verdict=record.verdict or None,
        facts=run.run_json,
        trial_count=trial_count,
        reference_count=reference_count,
        answer=answer or RunAnswer(),
        traced=_traced_combinations(run, told, [_short_label(_row_of(one), record) for one in told]),
    )


def finding_lines_of(run: StoredRun, more: Sequence[Finding] = ()) -> tuple[FindingLine, ...]:
    """The findings of a run, and `more` of it, each kind once and the gravest first."""
    trials = trial_columns(run, lambda field: field.name in ("trial", "target")).to_pylist()
    is_quick = bool(run.record.plan.get("quick"))
    targets = {row["trial"]: row["target"] for row in trials}
    return finding_lines([*run.findings, *more], len(trials), is_quick=is_quick, targets=targets)


def _shown_trials(run: StoredRun, order: Sequence[str]) -> tuple[list[str], int, int]:
    """Names of the trials shown one by one, in the order in which they ran, how many there are, and references."""
    wanted = ("target", "workload", "repeat", "is_reference", "label", "block_size_bytes")
    columns = trial_columns(run, lambda field: field.name in wanted or _is_level(field.name))
    every = columns.to_pylist()
    rows = [row for row in every if not row["is_reference"]]
    references = len(every) - len(rows)
    if len(rows) <= TRIALS_IN_FULL_MAX:
        return [row["trial"] for row in rows], len(rows), references
    first = sorted((row for row in rows if row["repeat"] == 1), key=lambda row: _place(row, row["label"], order))
    step = max(1, len(first) / TRIALS_SELECTED)
    chosen = {first[int(number * step)]["trial"] for number in range(min(TRIALS_SELECTED, len(first)))}
    return [row["trial"] for row in rows if row["trial"] in chosen], len(rows), references


def _is_level(column: str) -> bool:
    return column.startswith("asked_")


def _label(row: Mapping[str, Any], record: RunRecord) -> str:
    """A trial in words: its workload and its levels, and its drive where the run has several."""
    words = _short_label(row, record) or _label_of_levels(row, record) or str(row["label"] or row["trial"])
    return f"{row['target']} · {words}" if len(record.targets) > 1 else words


def _label_of_levels(row: Mapping[str, Any], record: RunRecord) -> str:
    """The title of its workload, and the levels of its factors; empty for what was no experiment with factors."""
    levels = _asked_levels(row, record)
    title = workload_titles(record.experiment).get(row["workload"])
    return ", ".join([title, levels_phrase(levels)]) if title and levels else ""


def _short_label(row: Mapping[str, Any], record: RunRecord) -> str:
    """What a trial of a one-at-a-time design changed; empty for other designs, whose labels are short enough."""
    experiment = record.experiment
    if experiment.get("design") != "one-at-a-time":
        return ""
    baseline = {name: levels[0] for name, levels in _factor_levels(record).items()}
    changed = {name: level for name, level in _asked_levels(row, record).items() if level != baseline[name]}
    title = workload_titles(experiment).get(row["workload"]) or row["workload"]
    return f"{title}, {levels_phrase(changed) or 'baseline'}"


def _asked_levels(row: Mapping[str, Any], record: RunRecord) -> dict[str, str]:
    """The level of each factor that a trial has, as the experiment's file writes it."""
    asked = {name: row.get(f"asked_{name}") for name in _factor_levels(record)}
    return {
        name: str(level).lower() if isinstance(level, bool) else str(level)
        for name, level in asked.items()
        if level is not None
    }


def _factor_levels(record: RunRecord) -> dict[str, tuple[str, ...]]:
    return factor_levels(record.experiment, is_quick=bool(record.plan.get("quick")))


def _row_of(explanation: Explanation) -> dict[str, Any]:
    """What a row of the trials table says of where a trial stands, of a combination that was traced."""
    asked = {f"asked_{name}": level for name, level in explanation.levels.items()}
    return {"target": explanation.target, "workload": explanation.workload, "repeat": 1, **asked}


def _findings_of(rows: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """What is to be known about the trials that are shown one by one."""
    return [one for row in rows for one in findings_in(row["findings_json"], row["trial"])]


def _trial(
    row: Mapping[str, Any],
    histograms: dict[tuple[str, str], Histogram],
    intervals: pa.Table,
    records: StoredRecords | None,
    label: str,
) -> TrialContent:
    name, operation = row["trial"], row["operation"]
    workload, engine, context, devices = (
        cell_value(column, row[column], name)
        for column in ("workload_json", "engine_json", "context_json", "devices_json")
    )
    return TrialContent(
        name=name,
        label=label,
        operation=operation,
        latency="response" if (operation, "response") in histograms else "total",
        estimates=estimates_in(row["estimates_json"], name),
        histograms=histograms,
        intervals=intervals.filter(pc.equal(intervals["trial"], name)),
        row=row,
        workload=workload,
        engine=engine,
        context=context,
        devices=tuple(devices),
        records=records,
        findings=tuple(findings_in(row["findings_json"], name)),
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
    groups: dict[str, list[TrialContent]] = {}
    for trial in trials:
        groups.setdefault(trial.group, []).append(trial)
    found = []
    for members in groups.values():
        is_planned = all(trial.row.get("step") for trial in members)
        found += sorted(members, key=lambda trial: _place(trial.row, trial.label, order)) if is_planned else members
    return _told_apart(found)


def _place(row: Mapping[str, Any], label: str, order: Sequence[str]) -> tuple[Any, ...]:
    """Place of its target in the run, then its own in the file; what no file orders goes by the size of its I/Os."""
    levels = [str(value) for key, value in row.items() if _is_level(key) and str(value) in order]
    known = [order.index(name) for name in [str(row.get("workload")), *levels] if name in order]
    target = str(row["target"])
    place = order.index(target) if target in order else len(order)
    return place, target, known, row.get("block_size_bytes") or 0, label, row["repeat"]


def _order_of_file(record: RunRecord) -> list[str]:
    """Targets as they were asked for, then workloads and levels in the order of the experiment's file."""
    experiment = record.experiment
    names = [str(target.get("label")) for target in record.targets]
    names += [str(workload.get("name")) for workload in experiment.get("workloads", ())]
    return names + [level for levels in factor_levels(experiment).values() for level in levels]


def _told_apart(trials: Sequence[TrialContent]) -> list[TrialContent]:
    """The trials with different labels: repeats of one are numbered, as they were when they ran."""
    alike: dict[str, list[TrialContent]] = {}
    for trial in trials:
        alike.setdefault(trial.label, []).append(trial)
    return [replace(trial, label=_numbered(trial, alike[trial.label])) for trial in trials]


def _numbered(trial: TrialContent, alike: Sequence[TrialContent]) -> str:
    if len(alike) == 1:
        return trial.label
    repeats = [each.row["repeat"] for each in alike]
    # trials that only share a name are no repeats, and are counted
    number = trial.row["repeat"] if len(set(repeats)) == len(repeats) else 1 + list(alike).index(trial)
    return f"{trial.label}, repeat {number}"


def _failures(run: StoredRun) -> list[Finding]:
    """Trials that gave no numbers, unless a finding tells of them already."""
    told = {finding.trial for finding in run.findings if finding.code == TRIAL_FAILED}
    return [
        Finding(TRIAL_FAILED, "invalid", f"{NOT_MEASURED}{text.splitlines()[0]}", trial)
        for trial, text in run.record.failures.items()
        if trial not in told
    ]


def _title(record: RunRecord) -> str:
    return str(record.title or record.experiment.get("name") or "run")


def _question(record: RunRecord) -> str:
    asked = record.question or record.experiment.get("question") or record.plan.get("question")
    question = str(asked or "What does this drive do?")
    names = [str(target["label"]) for target in record.targets if target.get("label")]
    if len(names) != _AGAINST_EACH_OTHER or len(record.targets) > len(names):
        return question
    # capitals of a name stay
    lower = question[:1].lower() if question[1:2].islower() else question[:1]
    return f"{' against '.join(map(shortened, names))}: {lower}{question[1:]}"


def _traced_combinations(
    run: StoredRun, explanations: Sequence[Explanation], short_labels: Sequence[str] = ()
) -> tuple[TracedCombination, ...]:
    """What was traced, each with a label of its own; no row of it is read yet."""
    labels = labels_told_apart(explanations, short_labels)
    return tuple(
        TracedCombination(
            explanation,
            label,
            _rows(run, layout.OPERATIONS, explanation.trials),
            _rows(run, layout.EVENTS, explanation.trials),
        )
        for explanation, label in zip(explanations, labels, strict=True)
    )


def labels_told_apart(explanations: Sequence[Explanation], short_labels: Sequence[str] = ()) -> list[str]:
    """The label of each, with what differs between them: levels, targets, and the trial where nothing else does."""
    names = list(dict.fromkeys(name for one in explanations for name in one.levels))
    varying = [name for name in names if len({one.levels.get(name, "") for one in explanations}) > 1]
    has_targets = len({one.target for one in explanations}) > 1
    found = []
    for number, one in enumerate(explanations):
        levels = [level_phrase(name, one.levels[name]) for name in varying if name in one.levels]
        place = [f"on {one.target}"] if has_targets else []
        short = short_labels[number] if short_labels else ""
        words = [short] if short else [one.label or one.workload or one.trial, *levels]
        found.append(", ".join([*words, *place]))
    return names_apart(found, [f", {one.trial}" for one in explanations])


def _rows(run: StoredRun, folder: str, trials: Sequence[str]) -> tuple[StoredRecords, ...]:
    paths = [run.folder(folder) / layout.ios_name(trial) for trial in trials]
    return tuple(StoredRecords(path, folder) for path in paths if path.exists())
