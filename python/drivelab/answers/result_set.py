"""A stored run in the form in which it is compared with other runs and with published pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from drivelab.answers.measured_on import MeasuredTarget, as_text, machine_of, measured_targets
from drivelab.answers.trial_notes import TrialNotes, trial_notes
from drivelab.model.check_trials import PROBE
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import DURATION, LATENCY, MEAN_LATENCY, P99, RATE, RESPONSE, THROUGHPUT
from drivelab.model.lasting_rate import as_it_lasts, lasting_rates
from drivelab.model.metric import COMMANDS, metric_of
from drivelab.model.operations_apart import plural
from drivelab.model.result_set import SIMULATED, Machine, MeasuredDrive, Observation, ResultSet
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.model.setting import AS_FOUND
from drivelab.model.stored_experiment import asks_total_time
from drivelab.model.units import format_quantity
from drivelab.store import layout
from drivelab.store.cells import findings_in
from drivelab.store.read import StoredRun
from drivelab.store.selection import rows_of_trials, trial_columns

OBSERVED_METRICS = (LATENCY, MEAN_LATENCY, P99, RESPONSE, RATE, THROUGHPUT)
_FLUSHES = "device_flushes_per_operation"
_TRIAL_FACTS = ("operation", "target", "asked_queue_depth", "asked_job_count", "operation_count", "is_reference")
_SEEN = "the samples' own value: too few independent I/Os for an interval"
_NOTED_SEVERITIES = ("invalid", "warning")
_NOTES_MAX = 12


def result_set_of(run: StoredRun, answer: RunAnswer) -> ResultSet:
    """What a run measured, on what, in the form in which results are compared.

    Parameters
    ----------
    run : StoredRun
        Finished or not; facts that its run.json does not have stay empty.

    Returns
    -------
    ResultSet
        One observation per metric of `OBSERVED_METRICS` and combination; also the
        whole time where the experiment asks for it. Trials
        that belong to no workload of an experiment, those of a check, are
        observations of their own.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    trials = _trial_facts(run)
    combinations = [one for one in answer.rows if one.workload]
    labels = [one["target"] for one in trials.values()] + [one.target for one in combinations]
    targets = measured_targets(run.record, list(dict.fromkeys(labels)))
    asked = _asked_levels(combinations)
    record = run.record
    experiment = record.experiment
    metrics = (*OBSERVED_METRICS, DURATION) if asks_total_time(experiment) else OBSERVED_METRICS
    observations: list[Observation] = []
    for one in combinations:
        observations += _observations(one, targets, trials, asked, metrics)
    told = {name for one in combinations for name in one.trials}
    alone = [name for name, facts in trials.items() if name not in told and not facts["is_reference"]]
    if not combinations:
        observations += _single_trials(run, alone, targets)
    if imported := _imported_from(run):
        observations = [replace(one, note="; ".join(filter(None, (imported, one.note)))) for one in observations]
    drives = _drives(targets, observations)
    # whichever run asks it, a model does the same again
    models = {one.name for one in drives if one.kind == SIMULATED}
    of_run = f"{run.name}, {record.started_utc}"
    return ResultSet(
        key=run.name,
        title=as_text(experiment.get("title")) or as_text(experiment.get("name")) or run.name,
        question=record.question or as_text(experiment.get("question")),
        source=_source(run),
        measured=record.started_utc[:16].replace("T", " ") or as_text(record.imported.get("measured")),
        machines=_machines(run, targets),
        drives=drives,
        observations=tuple(replace(one, run=SIMULATED if one.drive in models else of_run) for one in observations),
        notes=tuple(_notes(run)),
    )


def _source(run: StoredRun) -> str:
    if told := _imported_from(run):
        return f"run {run.name}, {told}"
    version = run.record.drivelab_version
    return f"run {run.name}, drivelab {version}" if version else f"run {run.name}"


def _imported_from(run: StoredRun) -> str:
    """The program that measured, where it was not drivelab: ``imported from fio 3.33``."""
    programs = run.record.imported.get("programs")
    return "" if programs is None else f"imported from {', '.join(programs)}"


def _machines(run: StoredRun, targets: Mapping[str, MeasuredTarget]) -> tuple[Machine, ...]:
    """The computer of the run; of an imported one those that its source names."""
    own = machine_of(run.record)
    names = dict.fromkeys(target.drive.machine for target in targets.values())
    return tuple(own if name == own.name else Machine(name) for name in names) or (own,)


def _drives(targets: Mapping[str, MeasuredTarget], observations: Iterable[Observation]) -> tuple[MeasuredDrive, ...]:
    """Those that were measured; all of them where nothing has been measured yet."""
    measured = {one.drive for one in observations}
    drives = [target.drive for target in targets.values()]
    return tuple(drive for drive in drives if drive.name in measured or not measured)


def _trial_facts(run: StoredRun) -> dict[str, dict[str, Any]]:
    """What combinations do not tell of their trials, by the name of the trial."""
    table = trial_columns(run, lambda field: field.name in _TRIAL_FACTS)
    blank = dict.fromkeys(_TRIAL_FACTS)
    return {row["trial"]: blank | row | {"target": as_text(row.get("target"))} for row in table.to_pylist()}


def _asked_levels(combinations: Iterable[CombinationResult]) -> dict[str, set[str]]:
    asked: dict[str, set[str]] = defaultdict(set)
    for one in combinations:
        for name, level in one.levels.items():
            asked[name].add(level)
    return asked


def _observations(
    one: CombinationResult,
    targets: Mapping[str, MeasuredTarget],
    trials: Mapping[str, Mapping[str, Any]],
    asked: Mapping[str, set[str]],
    metrics: Sequence[str],
) -> Iterator[Observation]:
    facts = [trials[name] for name in one.trials if name in trials]
    first = facts[0] if facts else dict.fromkeys(_TRIAL_FACTS)
    target = targets[one.target]
    levels, remarks = _levels(one, target, asked)
    for metric in metrics:
        found = _combined(one, metric, sum(each["operation_count"] or 0 for each in facts))
        if found is None:
            continue
        repeated = one.metrics.get(metric)
        seen = [_SEEN] if repeated is not None and repeated.is_seen else []
        if repeated is not None and repeated.at_first is not None:
            unit = metric_of(metric).unit
            seen.append(f"what lasts; at first {format_quantity(repeated.at_first, unit)}{'/s' * (unit == '1/s')}")
        yield Observation(
            drive=target.drive.name,
            machine=target.drive.machine,
            workload=one.workload,
            title=f"{one.label or one.workload}{f', {plural(one.operation)}' if one.operation else ''}",
            operation=one.operation or as_text(first["operation"]),
            metric=metric,
            estimate=found,
            levels=levels,
            block_size_bytes=one.block_size_bytes,
            queue_depth=_queue_depth(facts),
            is_durable=one.is_durable,
            commands=_commands(one),
            trial_count=one.trial_count,
            invalid_trials=one.invalid_trials,
            note="; ".join([*remarks, *seen]),
            # of tasks the whole time counts
            is_judged=metric == (DURATION if DURATION in metrics and DURATION in one.metrics else one.judged_metric),
            not_taken=", ".join(f"{name} {one.levels[name]}" for name in one.achieved if _is_refused(one, name)),
        )


def _levels(
    one: CombinationResult, target: MeasuredTarget, asked: Mapping[str, set[str]]
) -> tuple[dict[str, str], list[str]]:
    """Levels as asked, with what was found where nothing was asked; and what was not as asked."""
    levels, remarks = {**target.levels, **one.levels}, []
    for name, level in one.levels.items():
        achieved = one.achieved.get(name, ())
        if level == AS_FOUND and len(achieved) == 1 and achieved[0] not in asked[name]:
            # two experiments that found the same are compared under what they found
            levels[name] = achieved[0]
        elif _is_refused(one, name):
            remarks.append(f"{name}: {level} was asked for, {' or '.join(achieved)} was read back")
    for name, found in target.levels.items():
        if levels.get(name) == AS_FOUND and found not in asked[name]:
            levels[name] = found
    is_known = "write-cache" in target.levels or levels.get("write-cache", AS_FOUND) != AS_FOUND
    if not is_known and one.is_durable and _commands(one).get(_FLUSHES, (0.0, 0.0))[0] > 0:
        levels["write-cache"] = "on"
        remarks.append("write-cache: nobody could read it; on, because flushes were counted")
    return levels, remarks


def _is_refused(one: CombinationResult, name: str) -> bool:
    """Whether something else than a level that was asked for was read back."""
    return one.levels.get(name, AS_FOUND) != AS_FOUND and bool(one.achieved.get(name))


def _queue_depth(facts: Sequence[Mapping[str, Any]]) -> int | None:
    depths = {(each["asked_queue_depth"] or 1) * (each["asked_job_count"] or 1) for each in facts}
    return depths.pop() if len(depths) == 1 else None


def _combined(one: CombinationResult, metric: str, count: int) -> Estimate | None:
    """A metric over the repeats; its ends are the range of several, or the interval of the only one."""
    found = one.metrics.get(metric)
    if found is None:
        low, high = one.bounds.get(metric, (None, None))
        unit = metric_of(metric).unit
        return None if low is None else Estimate(None, low, high, unit, count, 0.0, "bounds of every repeat")
    low, high = found.ends
    what = "median of {} repeats" if found.mean is None else "mean of {} rounds"
    many = f"{what.format(found.repeat_count)}, lowest to highest"
    method = many if found.repeat_count > 1 else "one repeat, 95 % interval" if low is not None else "one repeat"
    return Estimate(found.value, low, high, found.unit, count, float(found.repeat_count), method)


def _commands(one: CombinationResult) -> dict[str, tuple[float, float]]:
    exact = {name: (one.metrics[name].lowest, one.metrics[name].highest) for name in COMMANDS if name in one.metrics}
    bounds = {name: one.bounds[name] for name in COMMANDS if name in one.bounds}
    return exact | {name: (low, high) for name, (low, high) in bounds.items() if high is not None}


def _single_trials(run: StoredRun, names: Sequence[str], targets: Mapping[str, MeasuredTarget]) -> list[Observation]:
    """Every trial by itself, with its own intervals."""
    if not names:
        return []
    notes = trial_notes(run)
    rows = {row["trial"]: row for row in _rows(run, names)}
    observations: list[Observation] = []
    for name in names:
        # a probe tells whether contents are compressed, and no speed
        if name in rows and not name.startswith(PROBE):
            observations += _of_trial(rows[name], notes.get(name, TrialNotes()), targets)
    return observations


def _rows(run: StoredRun, names: Sequence[str]) -> list[dict[str, Any]]:
    rows: pa.Table = rows_of_trials(run, layout.TRIALS, names)
    found: list[dict[str, Any]] = rows.to_pylist()
    return found


def _of_trial(row: Mapping[str, Any], note: TrialNotes, targets: Mapping[str, MeasuredTarget]) -> Iterator[Observation]:
    findings = findings_in(row["findings_json"], row["trial"])
    estimates = as_it_lasts(StoredRun.estimates_of(row), findings)
    if lasting_rates(findings):
        # those of a cache or a burst are none of what lasts
        estimates = {name: one for name, one in estimates.items() if metric_of(name).quantity != "latency"}
    target = targets[as_text(row.get("target"))]
    counts = {name: estimates[name] for name in COMMANDS if name in estimates}
    commands = {name: (x.low, x.high) for name, x in counts.items() if x.low is not None and x.high is not None}
    for metric in OBSERVED_METRICS:
        estimate = estimates.get(metric)
        if estimate is None or (estimate.value is None and estimate.low is None):
            continue
        yield Observation(
            drive=target.drive.name,
            machine=target.drive.machine,
            workload=as_text(row.get("workload")) or row["trial"],
            title=as_text(row.get("label")) or row["trial"],
            operation=as_text(row.get("operation")),
            metric=metric,
            estimate=estimate,
            levels=target.levels,
            block_size_bytes=row.get("block_size_bytes"),
            queue_depth=(row.get("asked_queue_depth") or 1) * (row.get("asked_job_count") or 1),
            is_durable=note.is_durable,
            commands=commands,
            invalid_trials=int(note.is_invalid),
        )


def _notes(run: StoredRun) -> Iterator[str]:
    """What limits the numbers: what the run itself says of them."""
    status = run.record.status
    if status and status != "complete":
        yield f"the run is not complete: {status}"
    told = [finding for finding in run.findings if finding.severity in _NOTED_SEVERITIES]
    yield from list(dict.fromkeys(finding.text for finding in told))[:_NOTES_MAX]
