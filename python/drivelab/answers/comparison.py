"""Compares stored runs: reads both sides, finds what belongs together, and has it judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial

from drivelab.analyse.comparison import Compared, ComparedTrial, compare_sides
from drivelab.analyse.comparison_interval import RUNS_ADVISED
from drivelab.analyse.run_answer import trials_apart
from drivelab.answers.compared_trials import COMPARED_METRICS, ReadRun, compared_trials, lasting_trials, read_run
from drivelab.answers.distribution_shifts import distribution_shifts
from drivelab.answers.explanations import explanation_differences
from drivelab.answers.measured_on import as_text, measured_targets
from drivelab.answers.others_bursts import are_told_by_others, is_some_drive_shared, left_of_bursts
from drivelab.answers.side_facts import differences, facts_of_side, imported_notes
from drivelab.answers.trial_notes import perhaps_bursts, trial_notes
from drivelab.model.apart import RUNS_MIN
from drivelab.model.comparison import ComparedRun, Comparison, SideDifference
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Unit
from drivelab.model.lasting_rate import rates_in_words
from drivelab.model.metric import metric_of
from drivelab.model.operations_apart import OPERATION, metrics_apart
from drivelab.model.setting import AS_FOUND
from drivelab.model.trace import ExplanationDifference
from drivelab.model.units import format_quantity
from drivelab.store.read import StoredRun

METRICS_APART = metrics_apart(COMPARED_METRICS)
_NAMED_AT_MOST = 12
# findings about the hour in which it was measured, and not about the drive
_OF_THE_MOMENT = {
    "foreign-work": "not alone on the computer",
    "drive-hot": "with a hot drive",
    "link-below-maximum": "with a link below its maximum",
    "stall-at-end": "with a stall at the end",
    "generator-saturated": "limited by the processors",
    "run-resumed": "cut off and resumed",
}


def compare_runs(
    base: Sequence[StoredRun],
    new: Sequence[StoredRun],
    margin: float = 0.05,
    metrics: Sequence[str] = (),
    *,
    with_distributions: bool = False,
) -> Comparison:
    """What the runs of NEW come to beside those of BASE.

    Parameters
    ----------
    base, new : sequence of StoredRun
        The runs of each side, at least one; none may be named twice, nor a copy of another.
    margin : float
        What still counts as the same: 0.05 is 5 %.
    metrics : sequence of str
        Which metrics to compare, by their names in the trials table; left out,
        those that each workload is judged by.
    with_distributions : bool
        Whether to read the histograms too, for the ratio at every quantile.

    Raises
    ------
    DrivelabError
        U011: the margin. U012: a run twice, or a copy of it. U013: no run has such a metric.
        S506: a table of a run cannot be read.
    """
    if not 0 < margin < 1:
        raise DrivelabError("U011", f"a margin of {100 * margin:g} % is not between 0 % and 100 %")
    _refuse_twice([*base, *new])
    read = partial(read_run, metrics={*COMPARED_METRICS, *METRICS_APART, *metrics})
    by_others, is_drive_shared = are_told_by_others(base, new), is_some_drive_shared(base, new)
    sides = [[read(run, with_others_bursts=by_others) for run in runs] for runs in (base, new)]
    units = {name: unit for side in sides for run in side for name, unit in run.units.items()}
    _refuse_unknown(metrics, units, [*base, *new])
    places = _places([(runs, side) for runs, side in zip((base, new), sides, strict=True)])
    lasting = lasting_trials(sides, is_drive_shared=is_drive_shared)
    ours, theirs = by_operation(
        *(list(compared_trials(side, place, lasting)) for side, place in zip(sides, places, strict=True))
    )
    compared = compare_sides(ours, theirs, units, margin=margin, metrics=metrics)
    left_out_base, left_out_new = _left_out(ours, theirs, compared, places)
    used = {target for row in compared.rows for target in (row.target_base, row.target_new)}
    # where nothing is left of any drive, the drives are what differs
    left_out = {*left_out_base, *left_out_new} - used if used else set[str]()
    known = {target: left for target, left in left_of_bursts((*base, *new)).items() if target not in left_out}
    perhaps = _perhaps_bursts((*base, *new), [read for side in sides for read in side])
    perhaps = {target: rate for target, rate in perhaps.items() if target not in {*known, *left_out}}
    return Comparison(
        base=tuple(_compared_run(run) for run in base),
        new=tuple(_compared_run(run) for run in new),
        margin=margin,
        rows=compared.rows,
        differences=tuple(_differences(base, new, sides, compared, left_out)),
        only_base=compared.only_base,
        only_new=compared.only_new,
        left_out_base=left_out_base,
        left_out_new=left_out_new,
        perhaps_bursts=perhaps,
        notes=(
            *_of_bursts(perhaps),
            *_of_known_bursts(known, is_of_rates=not by_others),
            *_of_lasting([*ours, *theirs]),
            *ends_seen_once(sides),
            *_notes(base, new, compared, left_out),
        ),
        part_differences=_part_differences(base, new),
        distributions=tuple(distribution_shifts(compared.pairs, base, new)) if with_distributions else (),
    )


def _left_out(
    ours: Sequence[ComparedTrial],
    theirs: Sequence[ComparedTrial],
    compared: Compared,
    places: Sequence[Mapping[str, str]],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The targets of each side that nothing on the other one is compared with."""
    is_drive_shared = not {*places[0].values()}.isdisjoint(places[1].values())
    found = {row.target_base for row in compared.rows}, {row.target_new for row in compared.rows}
    left = (
        tuple(dict.fromkeys(one.trial.target for one in side if one.trial.target not in own))
        if own or not is_drive_shared
        else ()
        for side, own in zip((ours, theirs), found, strict=True)
    )
    base, new = left
    return base, new


def _part_differences(base: Sequence[StoredRun], new: Sequence[StoredRun]) -> tuple[ExplanationDifference, ...]:
    """Which part of the latency differs, where one run of each side was traced."""
    traced = [[run for run in side if run.traced_trials] for side in (base, new)]
    if any(len(side) != 1 for side in traced):
        return ()
    return explanation_differences(traced[0][0], traced[1][0])


def _refuse_twice(runs: Sequence[StoredRun]) -> None:
    (directory, count), *_ = Counter(run.directory.resolve() for run in runs).most_common(1)
    if count > 1:
        raise DrivelabError("U012", f"{directory.name} is named {count} times", where=str(directory))
    seen: dict[tuple[object, ...], StoredRun] = {}
    for run in runs:
        identity = _identity(run)
        if identity is None:
            continue
        if identity in seen:
            what = f"{run.name} is a copy of {seen[identity].name}: {identity[0]} on the same targets"
            do = "of two drives? name each: drivelab import FILE --drive NAME" if _imported_sources(run) else ""
            raise DrivelabError("U012", what, where=f"{run.directory}, {seen[identity].directory}", do=do)
        seen[identity] = run


def _identity(run: StoredRun) -> tuple[object, ...] | None:
    """What no other run has, and every copy of this one; None where it was not stored when the run began."""
    record = run.record
    targets = tuple(as_text(target.get("label")) for target in record.targets)
    if sources := _imported_sources(run):
        # two of them may have begun in the same second, on drives and computers that nobody named
        return "the same results", sources, targets
    host = as_text(record.host.get("hostname"))
    return (f"started at {record.started_utc}", record.seed, host, targets) if record.started_utc else None


def _imported_sources(run: StoredRun) -> tuple[str, ...]:
    """What the files were that a run was imported from; empty where it was not."""
    found = [as_text(one.get("sha256")) for one in run.record.imported.get("sources", ())]
    return tuple(found) if all(found) else ()


def _refuse_unknown(metrics: Sequence[str], units: Mapping[str, Unit], runs: Sequence[StoredRun]) -> None:
    for name in metrics:
        if name not in units:
            known = sorted({metric for run in runs for metric in _known_metrics(run)})
            near = get_close_matches(name, known, n=_NAMED_AT_MOST, cutoff=0.4) or known[:_NAMED_AT_MOST]
            raise DrivelabError("U013", f"no run has the metric {name}", do=f"choose one, such as {', '.join(near)}")


def _known_metrics(run: StoredRun) -> list[str]:
    names = run.trial_names
    return list(run.estimates(names[0])) if names else []


def _places(sides: Sequence[tuple[Sequence[StoredRun], Sequence[ReadRun]]]) -> list[dict[str, str]]:
    """What stands for each target, by its label, on each side.

    Where every run has one target, there is nothing to tell apart. Otherwise a
    target is found again by its label or by its drive's serial; a drive that one side has alone is held against that
    of the other side only where both have no other.
    """
    labels = [[list(dict.fromkeys(trial.target for trial in run.trials)) for run in side] for _, side in sides]
    if all(len(one) <= 1 for side in labels for one in side):
        return [{label: "" for one in side for label in one} for side in labels]
    ours, theirs = (list(dict.fromkeys(label for one in side for label in one)) for side in labels)
    places = {label: label for label in theirs if label in ours}
    serials = [
        {label: one.drive.serial for run in runs for label, one in measured_targets(run.record).items()}
        for runs, _ in sides
    ]
    for label in theirs:
        alike = [one for one in ours if serials[0].get(one) and serials[0].get(one) == serials[1].get(label)]
        if label not in places and len(alike) == 1 and alike[0] not in places.values():
            places[label] = alike[0]
    left = [one for one in ours if one not in places.values()], [one for one in theirs if one not in places]
    if len(ours) == len(theirs) == len(left[0]) == len(left[1]) == 1:
        places |= {left[1][0]: left[0][0]}
    # a target that the other side does not have stands for itself alone
    places |= {label: f"{label} of NEW" for label in theirs if label not in places}
    return [{label: label for label in ours}, places]


def by_operation(*sides: Sequence[ComparedTrial]) -> list[list[ComparedTrial]]:
    """The trials of both sides; a workload that mixes operations on both of them is compared by each operation."""
    parts = [[[replace(one, trial=part) for part in trials_apart(one.trial)] for one in side] for side in sides]
    mixed = [{own[0].workload for own in side if len(own) > 1} for side in parts]
    whole = [{own[0].workload for own in side if len(own) == 1} for side in parts]
    apart = mixed[0] & mixed[1] - whole[0] - whole[1]
    return [
        [
            _at_level(part)
            for one, own in zip(side, found, strict=True)
            for part in (own if one.workload in apart else [one])
        ]
        for side, found in zip(sides, parts, strict=True)
    ]


def _at_level(one: ComparedTrial) -> ComparedTrial:
    """A part of a mix stands apart as levels of a factor do."""
    trial = one.trial
    return replace(one, trial=replace(trial, levels={**trial.levels, OPERATION: trial.part})) if trial.part else one


def _compared_run(run: StoredRun) -> ComparedRun:
    record = run.record
    is_simulated = 0 < len(_models([run])) == len(record.targets)
    return ComparedRun(run.name, str(run.directory), record.started_utc, record.status, record.is_quick, is_simulated)


def _differences(
    base: Sequence[StoredRun],
    new: Sequence[StoredRun],
    sides: Sequence[Sequence[ReadRun]],
    compared: Compared,
    left_out: Collection[str],
) -> Iterator[SideDifference]:
    for factor, (ours, theirs) in compared.factors.items():
        yield SideDifference(factor, (ours or "not set",), (theirs or "not set",))
    facts = [facts_of_side(runs, [trial_notes(run) for run in runs], left_out) for runs in (base, new)]
    yield from differences(*facts)
    found = [_found_values(side) for side in sides]
    yield from differences(found[0], found[1])


def _found_values(side: Sequence[ReadRun]) -> dict[str, dict[str, None]]:
    """Settings that were left as found, mount options, ranges and lengths: what they were."""
    values: dict[str, dict[str, None]] = {}
    for run in side:
        for trial in run.trials:
            for name, level in trial.levels.items():
                achieved = trial.achieved.get(name, "")
                if achieved and level == AS_FOUND:
                    values.setdefault(f"{name} as found", {})[achieved] = None
                elif name == "filesystem" and achieved != level and achieved:
                    values.setdefault(f"{level}, mounted", {})[achieved] = None
            stored = run.conducts.get(trial.name)
            label = run.titles.get(trial.workload) or (stored.label if stored else "") or trial.name
            for what, amount in stored.amounts.items() if stored else ():
                values.setdefault(f"{what} of {label}", {})[amount] = None
    return values


def _perhaps_bursts(runs: Sequence[StoredRun], read: Sequence[ReadRun]) -> dict[str, float]:
    found: dict[str, float] = {}
    for run, its in zip(runs, read, strict=True):
        found |= perhaps_bursts(trial_notes(run), {trial.name: trial.target for trial in its.trials})
    return found


def _of_known_bursts(known: Mapping[str, str], *, is_of_rates: bool) -> Iterator[str]:
    what = "numbers" if is_of_rates else "latencies"
    yield from (f"The {what} of {target} are on burst credit: without it {left}." for target, left in known.items())


def _of_bursts(perhaps: Mapping[str, float]) -> Iterator[str]:
    for target, rate in perhaps.items():
        yield (
            f"All numbers of {target} may be those of a burst: {format_quantity(rate, '1/s')} I/Os a second are what "
            f"volumes with burst credit give. Measure what lasts: drivelab run burst {target}."
        )


def _of_lasting(trials: Sequence[ComparedTrial]) -> Iterator[str]:
    if any(one.is_lasting for one in trials):
        yield "Of rates that a cache or a burst made faster at first, what lasts is compared."


def ends_seen_once(sides: Sequence[Sequence[ReadRun]]) -> Iterator[str]:
    """What is left of a burst that one side saw end, where the other one watched for that in vain."""
    watched = dict.fromkeys(name for side in sides for run in side for name in run.burst_shares)
    for name in watched:
        ended = [next((run for run in side if name in run.lasting_shares), None) for side in sides]
        (run,) = [one for one in ended if one is not None][:1] if ended.count(None) == 1 else [None]
        if run is not None:
            who, other = ("BASE", "NEW") if ended[1] is None else ("NEW", "BASE")
            stored = run.conducts[name]
            label = (run.titles.get(name) or stored.label or name).partition(", ")[0]
            left = rates_in_words(stored.lasting)
            yield f"{who} saw the end of its burst at {label}: {left} are left. {other} was too short to see one."


def _notes(
    base: Sequence[StoredRun], new: Sequence[StoredRun], compared: Compared, left_out: Collection[str]
) -> Iterator[str]:
    yield from _of_models((*base, *new), left_out)
    is_compared = any(row.verdict != "not comparable" for row in compared.rows)
    if is_compared:
        yield from _of_runs(base, new, is_open=any(row.is_undecided for row in compared.rows))
    yield from imported_notes((*base, *new))
    for run in (*base, *new):
        if run.record.status != "complete":
            yield f"{run.name} is not complete ({run.record.status or None}): what it has is compared."
        drifts = [finding.text for finding in run.findings if finding.code == "reference-drift"]
        yield from (f"{run.name}: {text}" for text in drifts)
    if is_compared and (told := _of_the_moment((*base, *new))):
        yield f"This may be the whole difference: {told}."
    traced = [sum(bool(run.traced_trials) for run in side) for side in (base, new)]
    if min(traced) and max(traced) > 1:
        yield "Several runs of a side were traced: why they differ is said for one run of each."
    for metric, count in compared.left_out.items():
        cells = "1 combination" if count == 1 else f"{count} combinations"
        yield f"The {metric_of(metric).title} is left out in {cells}: some repeat has no value of it."


def _of_the_moment(runs: Sequence[StoredRun]) -> str:
    """What was so while runs were made, and need not be so again: the run with that, or of how many runs."""
    trials: dict[str, Counter[str]] = {}
    for run in runs:
        for finding in run.findings:
            if finding.severity == "warning" and finding.code in _OF_THE_MOMENT:
                trials.setdefault(finding.code, Counter())[run.name] += max(1, finding.trial_count)
    told = []
    for code, by_run in trials.items():
        ((name, count), *more) = by_run.items()
        who = f"{len(by_run)} of {len(runs)} runs" if more else name
        told.append(f"{who} {_OF_THE_MOMENT[code]}{f' in {count} trials' * (count > 1 and not more)}")
    return "; ".join(told)


def _of_models(runs: Sequence[StoredRun], left_out: Collection[str]) -> Iterator[str]:
    """Which targets are simulated: what is true of a model is true of no hardware."""
    if models := _models(runs, left_out):
        is_all = len(_models(runs)) == sum(len(run.record.targets) for run in runs)
        yield f"Simulated: {', '.join(dict.fromkeys(models))}{'; no real drive was measured' * is_all}."


def _models(runs: Sequence[StoredRun], left_out: Collection[str] = ()) -> list[str]:
    """The models of the targets that are simulated."""
    targets = (target for run in runs for target in run.record.targets if target.get("label") not in left_out)
    facts = (target.get("facts_before") or {} for target in targets)
    return [as_text(one.get("text")) for one in facts if one.get("simulated")]


def _of_runs(base: Sequence[StoredRun], new: Sequence[StoredRun], *, is_open: bool) -> Iterator[str]:
    """How many runs there are, and in which order, as far as that limits what can be said."""
    counts = len(base), len(new)
    turns = "alternately (BASE, NEW, NEW, BASE ...)"
    if min(counts) < RUNS_MIN:
        yield (
            f"Below {RUNS_MIN} runs a side nothing is judged. Measure at least {RUNS_ADVISED} a side, {turns}, and "
            "name them with --base and --new."
        )
        return
    if is_open and min(counts) < RUNS_ADVISED:
        yield f"{min(counts)} runs of a side leave much undecided: measure at least {RUNS_ADVISED} runs a side."
    started = [sorted(run.record.started_utc for run in side) for side in (base, new)]
    if all(map(all, started)) and (started[0][-1] < started[1][0] or started[1][-1] < started[0][0]):
        first, then = ("BASE", "NEW") if started[0][0] < started[1][0] else ("NEW", "BASE")
        yield (
            f"All runs of {first} began before those of {then}: what changed with time, as a drive that fills or warms "
            f"up, looks like a difference between them. Measure them {turns}."
        )
