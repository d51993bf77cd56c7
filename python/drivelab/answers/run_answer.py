"""Reads from a stored run what only its trials together can tell: columns in, and the pure analysis of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drivelab.analyse.finding_groups import group_findings
from drivelab.analyse.findings import run_findings
from drivelab.analyse.judged_metric import TrialKind, judged_metric
from drivelab.analyse.repeats import FEWEST_FOR_QUANTILE
from drivelab.analyse.rounds import RoundsOfPlan
from drivelab.analyse.run_answer import ExperimentOrder, RunTrial, reference_value, run_answer
from drivelab.analyse.run_evidence import ReferenceTrial, RunEvidence, SessionTrial
from drivelab.answers.buckets import buckets_of_run
from drivelab.answers.courses import asks_over_time, courses_of_run
from drivelab.answers.lasting_trials import as_they_last
from drivelab.answers.measured_on import as_text
from drivelab.answers.rounds import rounds_of_run, stored_values, with_titles
from drivelab.answers.timeline import timeline_of_run
from drivelab.answers.trial_notes import TrialNotes, perhaps_bursts, trial_notes
from drivelab.model.estimate import Unit
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import DURATION, LATENCY, MEAN_LATENCY, P99, RATE, RESPONSE, RESPONSE_P99, THROUGHPUT
from drivelab.model.metric import COMMANDS, DEVICE_BYTES, END_SYNC, METRICS, REACHED, TENTHS, metric_of
from drivelab.model.operations_apart import metrics_apart
from drivelab.model.run_answer import RunAnswer
from drivelab.model.stored_experiment import done_afterwards, done_again, factor_levels, workload_titles
from drivelab.model.workload import TREE_OPERATIONS
from drivelab.store import layout
from drivelab.store.cells import findings_in
from drivelab.store.read import StoredRun
from drivelab.store.selection import reduced_rows, trial_columns
from drivelab.store.tables import row_quantiles

# of each operation of a mix
_APART = metrics_apart((LATENCY, RESPONSE, MEAN_LATENCY, P99, "total_latency_ns_max", RATE, THROUGHPUT))
# what tables and figures show of each combination
_LATENCIES = (LATENCY, RESPONSE, MEAN_LATENCY, P99)
SHOWN_METRICS = (
    *(*_LATENCIES, "total_latency_ns_max", RATE, THROUGHPUT, "cpu_share", DURATION, *TENTHS),
    # only trials with a cliff, or steady ones, have these
    *(metric.name for metric in METRICS if metric.section in ("Levels and cliffs", "Steady state")),
    *("writes_returned_ns", END_SYNC, REACHED, DEVICE_BYTES, *COMMANDS, *_APART),
)
EFFECTS_TABLE = "effects"
# tables that experiments name which go through files as a whole
_PHASES, _SURFACES = "phases", "surfaces"
# columns of the trials table that begin with asked_ and are no factor
_NO_FACTORS = ("asked_backend", "asked_direct", "asked_queue_depth", "asked_job_count")
_FIXED = (
    "target",
    "workload",
    "block",
    "block_size_bytes",
    "asked_queue_depth",
    "asked_job_count",
    "operation",
    "is_reference",
)
_WITH_ENDS = (*_LATENCIES, RESPONSE_P99, RATE, THROUGHPUT, *COMMANDS, *_APART)


def answer_of_run(
    run: StoredRun, metrics: Collection[str] | None = None, *, factorial_metrics: Sequence[str] = ()
) -> RunAnswer:
    """What the trials of a stored run come to together.

    Parameters
    ----------
    metrics : collection of str, optional
        Which metrics to bring together over the repeats; all of them when left out.
    factorial_metrics : sequence of str
        Further metrics whose main effects and interactions are wanted: ``total_latency_ns_p99``.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    record = run.record
    table = trial_columns(run, lambda field: not field.name.endswith("_json"))
    units = _metric_units(table)
    wanted = {name: unit for name, unit in units.items() if metrics is None or name in {*metrics, *factorial_metrics}}
    notes = trial_notes(run)
    rounds, values, table = _within_rounds(run, table, notes)
    answer = run_answer(
        as_they_last(run, _trials(run, table, wanted, notes)),
        experiment_order(record.experiment, record.targets, quick=bool(record.plan.get("quick"))),
        wanted,
        with_effects=EFFECTS_TABLE in record.experiment.get("tables", ()),
        factorial_metrics=factorial_metrics,
    )
    if rounds is not None:
        told = with_titles(rounds.results(values), workload_titles(record.experiment))
        answer = replace(answer, rounds=told, points=rounds.points(values))
    answer = replace(answer, timeline=timeline_of_run(run))
    if rounds is not None:
        stored = record.experiment
        answer = replace(answer, again=done_again(stored), afterwards=done_afterwards(stored))
    if record.answer:
        answer = replace(answer, told=record.answer)
    targets, workloads = (
        dict(zip(table["trial"].to_pylist(), table[name].to_pylist(), strict=True)) for name in ("target", "workload")
    )
    pauses = {workloads[name]: note.pause for name, note in notes.items() if name in workloads and all(note.pause)}
    answer = replace(answer, buckets=buckets_of_run(run), perhaps_bursts=perhaps_bursts(notes, targets), pauses=pauses)
    if not asks_over_time(run):
        return answer
    judged_by_it = [name for one in answer.combinations if one.judged_metric == THROUGHPUT for name in one.trials]
    return replace(answer, courses=courses_of_run(run, judged_by_it))


def trials_of_run(run: StoredRun, metrics: Collection[str]) -> tuple[list[RunTrial], dict[str, Unit]]:
    """The trials of a stored run in the order in which they ran, with some of their metrics, and the metrics' units.

    Of rounds those that its answer rests on.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    notes = trial_notes(run)
    _, _, table = _within_rounds(run, trial_columns(run, lambda field: not field.name.endswith("_json")), notes)
    units = {name: unit for name, unit in _metric_units(table).items() if name in metrics or name in COMMANDS}
    return list(_trials(run, table, units, notes)), units


def _within_rounds(
    run: StoredRun, table: pa.Table, notes: Mapping[str, TrialNotes]
) -> tuple[RoundsOfPlan | None, dict[str, Mapping[str, float]], pa.Table]:
    """The rounds of a run, what they are judged by, and the trials without those of rounds that were not yet level."""
    rounds = rounds_of_run(run)
    if rounds is None:
        return None, {}, table
    values = stored_values(run, notes)
    outside = pa.array(sorted(rounds.outside(values)), pa.string())
    return rounds, values, table.filter(pc.invert(pc.is_in(table["trial"], outside)))


def findings_of_run(run: StoredRun) -> list[Finding]:
    """What only the trials of a run together tell, and what is to be known about each, told once where many have it.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    evidence = RunEvidence([as_text(one) for one in run.record.plan.get("left_out") or ()])
    table = trial_columns(run, lambda field: not field.name.endswith("_json") or field.name == "findings_json")
    units: dict[str, Unit] = {LATENCY: "ns", RESPONSE: "ns", THROUGHPUT: "B/s"}
    notes = trial_notes(run)
    begun = zip(table["started_utc"].to_pylist(), table["measured_ns"].to_pylist(), strict=True)
    for trial, (started_utc, measured_ns) in zip(_trials(run, table, units, notes), begun, strict=True):
        system = notes.get(trial.name, TrialNotes()).system
        session = SessionTrial(trial.session, started_utc, measured_ns or 0, trial.target, trial.found, system)
        session_of_it = session if started_utc else None
        evidence.add(trial.name, reference=_reference(trial), session=session_of_it, window_ns=measured_ns or 0)
    texts = zip(table["trial"].to_pylist(), table["findings_json"].to_pylist(), strict=True)
    of_trials = (finding for trial, text in texts for finding in findings_in(text, trial))
    return group_findings(chain(run_findings(evidence), of_trials))


def _reference(trial: RunTrial) -> ReferenceTrial | None:
    if not trial.is_reference:
        return None
    metric = judged_metric([trial.kind])
    value = reference_value(trial, metric)
    return ReferenceTrial(trial.target, trial.workload, metric, value) if value is not None else None


def experiment_order(
    experiment: Mapping[str, Any], targets: Sequence[Mapping[str, Any]] = (), *, quick: bool = False
) -> ExperimentOrder:
    """Workloads, factors and levels in the order in which their author wrote them, targets in that of the run.

    Parameters
    ----------
    experiment : mapping
        As ``run.json`` has it.
    """
    titles = workload_titles(experiment)
    levels = factor_levels(experiment, is_quick=quick)
    labels = [as_text(target.get("label")) for target in targets]
    is_in_rounds = any(phase.get("track") for phase in experiment.get("phases") or ())
    return ExperimentOrder(titles, levels, experiment.get("design") == "one-at-a-time", labels, is_in_rounds)


def _metric_units(trials: pa.Table) -> dict[str, Unit]:
    """Unit of every metric that some trial of a table has."""
    found = {field.name: metric_of(field.name) for field in trials.schema if field.type == pa.float64()}
    return {name: metric.unit for name, metric in found.items() if metric.meaning}


def _trials(
    run: StoredRun, table: pa.Table, units: Mapping[str, Unit], notes: Mapping[str, TrialNotes]
) -> Iterator[RunTrial]:
    names = table["trial"].to_pylist()
    record = run.record
    is_imported = bool(record.imported)
    phases = _phases(record.experiment)
    steps = {step["trial"]: step for step in record.plan.get("steps", ())}
    columns = {name: table[name].to_pylist() for name in _wanted_columns(table, units)}
    exact = _exact_quantiles(run, table)
    seen = _only_seen(columns, exact)
    # what was imported may have quantiles, and no histogram behind them
    columns |= {
        name: [stored if value is None and is_imported else value for value, stored in zip(values, known, strict=True)]
        for name, values in exact.items()
        for known in [columns.get(name) or [None] * len(values)]
    }
    metrics = [name for name in units if name in columns]
    settings = [name for name in columns if name.startswith("achieved_")]
    for place, name in enumerate(names):
        step, note = steps.get(name), notes.get(name, TrialNotes())
        yield RunTrial(
            name=name,
            target=columns["target"][place],
            workload=columns["workload"][place],
            block=columns["block"][place] or 0,
            levels=step["levels"] if step else _asked(columns, place),
            achieved={
                key.removeprefix("achieved_"): level for key in settings if (level := columns[key][place]) is not None
            },
            kind=_kind(
                columns,
                place,
                is_durable=note.is_durable,
                is_imported=is_imported,
                is_phase=columns["workload"][place] in phases,
            ),
            values={metric: columns[metric][place] for metric in metrics},
            ends={
                metric: (columns[f"{metric}_low"][place], columns[f"{metric}_high"][place])
                for metric in _WITH_ENDS
                if f"{metric}_low" in columns
            },
            is_reference=bool(columns["is_reference"][place]),
            session=note.session,
            is_invalid=note.is_invalid,
            seen=seen[place],
            operation=columns["operation"][place] or "",
        )


def _only_seen(
    columns: Mapping[str, Sequence[Any]], exact: Mapping[str, Sequence[float | None]]
) -> list[frozenset[str]]:
    """Of each trial, the quantiles that its own estimate withholds and its sample has."""
    nothing = [None] * len(columns["target"])
    withheld = {name: columns.get(name, nothing) for name in exact}
    return [
        frozenset(name for name in exact if withheld[name][place] is None and exact[name][place] is not None)
        for place in range(len(nothing))
    ]


def _wanted_columns(table: pa.Table, units: Mapping[str, Unit]) -> Iterator[str]:
    ends = {f"{metric}{end}" for metric in _WITH_ENDS for end in ("_low", "_high")}
    for field in table.schema:
        is_level = field.name.startswith(("asked_", "achieved_")) and field.type == pa.string()
        if field.name in _FIXED or field.name in units or field.name in ends or is_level:
            yield field.name


def _exact_quantiles(run: StoredRun, trials: pa.Table) -> dict[str, list[float | None]]:
    """Quantiles of the total latency that each trial is about, where it has enough I/Os for them.

    A trial that drifted has none with an interval of its own; between repeats
    the spread says how sure they are.
    """
    operations = dict(zip(*_texts(trials, "trial", "operation"), strict=True))
    wanted = FEWEST_FOR_QUANTILE

    def quantiles(rows: pa.Table) -> dict[str, list[float]]:
        rows = rows.filter(pc.equal(rows["latency"], "total"))
        pairs = zip(*_texts(rows, "trial", "operation"), strict=True)
        rows = rows.filter(pa.array([operations.get(trial) == operation for trial, operation in pairs], pa.bool_()))
        counts = np.asarray(rows["count"])
        found = [np.where(counts >= fewest, row_quantiles(rows, at), np.nan) for at, fewest in wanted.values()]
        return dict(zip(rows["trial"].to_pylist(), np.transpose(found).tolist(), strict=True))

    by_trial: dict[str, list[float]] = {}
    for part in reduced_rows(run, layout.HISTOGRAMS, quantiles):
        by_trial |= part
    nothing = [math.nan] * len(wanted)
    return {
        f"total_latency_ns_{name}": [
            None if math.isnan(value := by_trial.get(trial, nothing)[place]) else value for trial in operations
        ]
        for place, name in enumerate(wanted)
    }


def _phases(experiment: Mapping[str, Any]) -> set[str]:
    """The workloads that go through a file as a whole; on surfaces all do, elsewhere random seeks are counted."""
    tables = experiment.get("tables", ())
    return {
        one["name"]
        for one in experiment.get("workloads", ())
        if _SURFACES in tables or (_PHASES in tables and one.get("access", {}).get("kind") != "random")
    }


def _kind(
    columns: Mapping[str, Sequence[Any]], place: int, *, is_durable: bool, is_imported: bool, is_phase: bool
) -> TrialKind:
    has_latency, has_mean, has_throughput = (
        name in columns and columns[name][place] is not None for name in (LATENCY, MEAN_LATENCY, THROUGHPUT)
    )
    return TrialKind(
        block_size_bytes=columns["block_size_bytes"][place],
        outstanding=(columns["asked_queue_depth"][place] or 1) * (columns["asked_job_count"][place] or 1),
        is_durable=is_durable,
        has_latency=has_latency,
        has_response=RESPONSE in columns and columns[RESPONSE][place] is not None,
        has_mean=has_mean,
        # a run of drivelab's own always has one
        has_throughput=has_throughput or not is_imported,
        is_mean_alone=is_imported and has_mean and not has_latency,
        is_on_files=columns["operation"][place] in TREE_OPERATIONS,
        is_phase=is_phase,
    )


def _asked(columns: Mapping[str, Sequence[Any]], place: int) -> dict[str, str]:
    return {
        name.removeprefix("asked_"): str(values[place])
        for name, values in columns.items()
        if name.startswith("asked_") and name not in _NO_FACTORS and values[place] is not None
    }


def _texts(table: pa.Table, *names: str) -> list[list[str]]:
    return [table[name].to_pylist() for name in names]
