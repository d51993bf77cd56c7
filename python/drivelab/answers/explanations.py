"""Where the time of a stored run's operations went: reads the traced passes, and has them explained and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from drivelab.analyse.command_check import Stack
from drivelab.analyse.expected_commands import CacheKind, cache_kind_of
from drivelab.analyse.explanation import TracedPass, explanation_of, seen, whole_passes
from drivelab.analyse.explanation_difference import explanation_difference
from drivelab.analyse.findings import host_cache_answered
from drivelab.analyse.operation_parts import (
    OperationParts,
    drives_without_requests,
    member_times,
    operation_parts,
    q2c_of_data,
)
from drivelab.answers.measured_on import as_text
from drivelab.answers.run_answer import experiment_order, trials_of_run
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import LATENCY
from drivelab.model.run_answer import LevelEffect, RunAnswer
from drivelab.model.trace import Explanation, ExplanationDifference, TraceConduct
from drivelab.store import layout
from drivelab.store.cells import cell_value, findings_in, workload_in
from drivelab.store.read import StoredRun
from drivelab.store.selection import rows_of_trials

# what may keep a bio before it sends it on
_HOLDING_KINDS = ("dm", "md")
_FILE_KINDS = ("directory", "file", "missing_file")
_YES = ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class TracedCell:
    """One combination of factors whose trials were traced."""

    target: str
    workload: str
    levels: Mapping[str, str] = field(default_factory=dict)
    trials: tuple[str, ...] = ()
    label: str = ""


def traced_cells(run: StoredRun) -> tuple[TracedCell, ...]:
    """The combinations of a run that were traced, those at the first levels first; none where nothing was.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    traced = set(run.traced_trials)
    if not traced:
        return ()
    order = experiment_order(run.record.experiment)
    titles = order.titles
    labels = dict(zip(run.trial_names, run.trials["label"].to_pylist(), strict=True))
    groups: dict[tuple[object, ...], TracedCell] = {}
    for trial in trials_of_run(run, ())[0]:
        if trial.name not in traced or trial.is_reference:
            continue
        # without an experiment every trial is a workload of its own
        workload = trial.workload or trial.name
        key = trial.target, workload, tuple(sorted(trial.levels.items()))
        title = titles.get(workload) or labels.get(trial.name) or workload
        cell = groups.setdefault(key, TracedCell(trial.target, workload, trial.levels, (), title))
        groups[key] = replace(cell, trials=(*cell.trials, trial.name))
    return tuple(sorted(groups.values(), key=lambda cell: order.level_places(cell.levels)))


def explanations_of(run: StoredRun) -> tuple[Explanation, ...]:
    """Where the time went, of every combination of a run that was traced: its repeats together.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    return tuple(explanation_of_cell(run, cell) for cell in traced_cells(run))


def explanation_of_cell(run: StoredRun, cell: TracedCell) -> Explanation:
    """Where the time went in one combination.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    rows = _rows(run, cell.trials)
    operation = rows[0]["operation"]
    passes = [_pass(run, row, operation, with_events=True) for row in rows]
    found = explanation_of(passes, operation, label=cell.label, stack=_stack(run, cell, rows[0], passes[0].conduct))
    # a trace that knows them has told their time apart
    layers = () if passes[0].conduct.drives else _layers(target_facts(run, cell.target))
    drive, share = _answered_for(rows)
    return replace(
        found,
        target=cell.target,
        workload=cell.workload,
        levels=dict(cell.levels),
        layers=layers,
        answered_for=drive,
        reached_share=share,
    )


def explanation_differences(base: StoredRun, new: StoredRun) -> tuple[ExplanationDifference, ...]:
    """How the parts differ between two runs, of every combination that was traced in both.

    Parameters
    ----------
    base, new : StoredRun
        Two drives, or one drive with two settings: a factor that has one level
        on each side, and not the same, is what is compared.

    Returns
    -------
    tuple of ExplanationDifference
        In the order of NEW. A combination whose traces are not whole on one of the sides is left out.

    Raises
    ------
    DrivelabError
        S506: a table of a run cannot be read.
    """
    ours, theirs = traced_cells(base), traced_cells(new)
    compared = _compared_factors(ours, theirs)
    is_one_target = all(len({cell.target for cell in side}) == 1 for side in (ours, theirs))

    def key(cell: TracedCell) -> tuple[object, ...]:
        levels = sorted(item for item in cell.levels.items() if item[0] not in compared)
        return "" if is_one_target else cell.target, cell.workload, tuple(levels)

    known = {key(cell): cell for cell in ours}
    pairs = [(known[key(cell)], cell) for cell in theirs if key(cell) in known]
    if not pairs and len(ours) == len(theirs) == 1:
        # what has one combination each is what is meant, whatever it is called
        pairs = [(ours[0], theirs[0])]
    found = (difference_of_cells((base, one), (new, other)) for one, other in pairs)
    return tuple(each for each in found if each is not None)


def difference_of_cells(
    base: tuple[StoredRun, TracedCell], new: tuple[StoredRun, TracedCell], names: tuple[str, str] = ("", "")
) -> ExplanationDifference | None:
    """How the parts differ between two combinations; None where a side has no whole trace of such operations.

    Parameters
    ----------
    base, new : (StoredRun, TracedCell)
        The combination, and the run that it is of.
    names : (str, str)
        Of the sides; when empty what differs: what is issued, or where, or else the names of the runs.

    Raises
    ------
    DrivelabError
        S506: a table of a run cannot be read.
    """
    sides = [_whole_operations(run, cell) for run, cell in (base, new)]
    ours, theirs = base[1].label, new[1].label
    label = theirs if ours == theirs else f"{theirs}, against {ours}"
    called = names if all(names) else _names_of_sides(base, new)
    found = _difference(sides[0], sides[1], called, label)
    if found is None:
        return None
    named = zip(called, (base, new), strict=True)
    return replace(found, unsettled=tuple(name for name, side in named if explanation_of_cell(*side).is_unsettled))


def _names_of_sides(base: tuple[StoredRun, TracedCell], new: tuple[StoredRun, TracedCell]) -> tuple[str, str]:
    """By what differs: what is issued, or where, or else the run."""
    (one, ours), (other, theirs) = base, new
    if ours.label != theirs.label:
        where = [f" on {cell.target}" if ours.target != theirs.target else "" for cell in (ours, theirs)]
        return f"{ours.label}{where[0]}", f"{theirs.label}{where[1]}"
    if ours.target != theirs.target:
        return ours.target, theirs.target
    # the names of runs begin with when they began
    (begun, _, name), (later, _, other_name) = (run.name.partition("-") for run in (one, other))
    return (begun, later) if name == other_name else (one.name, other.name)


def level_differences(run: StoredRun, answer: RunAnswer) -> tuple[tuple[LevelEffect, ExplanationDifference], ...]:
    """Why the levels that matter do: how the parts differ from the baseline, of each level that was traced.

    Parameters
    ----------
    answer : RunAnswer
        What its trials come to; its effects say which levels matter.

    Returns
    -------
    tuple of (LevelEffect, ExplanationDifference)
        In the order of the effects. Of several combinations of the other
        factors the first that was traced with both levels.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    effects = [one for one in (answer.effects or answer.contrasts) if one.verdict == "matters"]
    cells = traced_cells(run) if effects else ()

    # one baseline stands beside many levels, and no more than it is kept
    @lru_cache(maxsize=2)
    def operations(place: int) -> tuple[str, tuple[OperationParts, ...]]:
        return _whole_operations(run, cells[place])

    found = []
    for effect in effects:
        pair = _pair_of(effect, cells)
        if pair is None:
            continue
        names = f"{effect.factor} {effect.baseline}", f"{effect.factor} {effect.level}"
        base, new = (operations(place) for place in pair)
        difference = _difference(base, new, names, cells[pair[0]].label)
        if difference is not None:
            found.append((effect, difference))
    return tuple(found)


def _pair_of(effect: LevelEffect, cells: Sequence[TracedCell]) -> tuple[int, int] | None:
    """Places of a combination with the baseline, and of the same one with the level."""
    alike = {
        tuple(sorted(cell.levels.items())): place
        for place, cell in enumerate(cells)
        if (cell.target, cell.workload) == (effect.target, effect.workload)
    }
    for levels, place in alike.items():
        if dict(levels).get(effect.factor) == effect.baseline:
            other = alike.get(tuple(sorted({**dict(levels), effect.factor: effect.level}.items())))
            if other is not None:
                return place, other
    return None


def _difference(
    base: tuple[str, tuple[OperationParts, ...]],
    new: tuple[str, tuple[OperationParts, ...]],
    names: tuple[str, str],
    label: str,
) -> ExplanationDifference | None:
    (ours, base_passes), (theirs, new_passes) = base, new
    if not base_passes or not new_passes or ours != theirs:
        return None
    return replace(explanation_difference(base_passes, new_passes, names=names), operation=theirs, label=label)


def _compared_factors(ours: Sequence[TracedCell], theirs: Sequence[TracedCell]) -> set[str]:
    """Factors with one level on each side, and not the same."""
    names = {name for cell in (*ours, *theirs) for name in cell.levels}
    found = set()
    for name in names:
        levels = [{cell.levels.get(name, "") for cell in side} for side in (ours, theirs)]
        if len(levels[0]) == len(levels[1]) == 1 and levels[0] != levels[1]:
            found.add(name)
    return found


def _whole_operations(run: StoredRun, cell: TracedCell) -> tuple[str, tuple[OperationParts, ...]]:
    """What a combination does, and the operations of its passes that are whole."""
    rows = _rows(run, cell.trials)
    operation = str(rows[0]["operation"])
    passes = [_pass(run, row, operation, with_events=False) for row in rows]
    return operation, tuple(one.operations for one in whole_passes(passes))


def _rows(run: StoredRun, trials: Sequence[str]) -> list[dict[str, Any]]:
    rows = {row["trial"]: row for row in rows_of_trials(run, layout.TRIALS, trials).to_pylist()}
    return [rows[name] for name in trials]


def _answered_for(rows: Sequence[Mapping[str, Any]]) -> tuple[str, float]:
    """The drive in whose place memory answered in all of these trials, and the most that came to it; empty, and 1."""
    found = [
        finding.evidence
        for row in rows
        for finding in findings_in(row["findings_json"], row["trial"])
        if finding.code == host_cache_answered.CODE and finding.severity == "invalid"
    ]
    if not found or len(found) < len(rows):
        return "", 1.0
    return str(found[0]["drive"]), max(one["drive_bytes"] / one["issued_bytes"] for one in found)


def _pass(run: StoredRun, row: Mapping[str, Any], operation: str, *, with_events: bool) -> TracedPass:
    name = row["trial"]
    context = cell_value("context_json", row["context_json"], name)
    events = run.events(name) if with_events else None
    conduct = TraceConduct.from_json({"source": "", "reason": "", **(context.get("trace") or {})})
    return TracedPass(
        trial=name,
        operations=operation_parts(run.operations(name), operation),
        conduct=conduct,
        untraced_ns=_untraced(StoredRun.estimates_of(row).get(LATENCY)),
        q2c=(0, 0) if events is None else q2c_of_data(events, conduct.drives),
        without_requests=() if events is None else drives_without_requests(events, conduct.drives),
        members={} if events is None or len(conduct.drives) < 2 else member_times(events, conduct.drives),
    )


def _untraced(stored: Estimate | None) -> Estimate | None:
    """The median of the timed pass; what was seen where it is withheld."""
    estimate = None if stored is None else seen(stored)
    return None if estimate is None or estimate.value is None else estimate


def _stack(run: StoredRun, cell: TracedCell, row: Mapping[str, Any], conduct: TraceConduct) -> Stack:
    """What the operations of a trial went through, as far as it was stored."""
    facts = target_facts(run, cell.target)
    is_direct = row["achieved_direct"] if row["achieved_direct"] is not None else row["asked_direct"]
    return Stack(
        workload=workload_in(row["workload_json"], row["trial"]),
        backend=row["achieved_backend"] or row["asked_backend"],
        is_direct=bool(is_direct),
        filesystem=_filesystem(row, facts),
        cache=_cache(conduct, facts),
        layers=conduct.layers,
        drives=max(1, len(conduct.drives)),
    )


def target_facts(run: StoredRun, label: str) -> Mapping[str, Any]:
    """Facts about a target of a run, as `TargetFacts.to_json` gives them; empty where none were stored."""
    target = next((one for one in run.record.targets if as_text(one.get("label")) == label), {})
    return target.get("facts_before") or target.get("facts_after") or {}


def _layers(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Devices of the device mapper and RAID sets above the drive, as their owner knows them."""
    above = [one for one in facts.get("devices") or () if one.get("kind") in _HOLDING_KINDS]
    return tuple(as_text(one.get("detail") or one.get("name")) for one in above)


def _filesystem(row: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Type of the file system beneath a trial: one that was made for it is named before its mount options."""
    made = as_text(row.get("achieved_filesystem") or row.get("asked_filesystem")).split(" ")[0]
    if made:
        return made
    mounted = as_text((facts.get("filesystem") or {}).get("type"))
    return mounted if mounted and facts.get("kind") in _FILE_KINDS else "raw"


def _cache(conduct: TraceConduct, facts: Mapping[str, Any]) -> CacheKind | None:
    """What the kernel believed about the cache while the trace was taken, else before the run."""
    mode = _before(conduct.environment.get("write_cache"))
    if mode:
        return cache_kind_of(mode, _before(conduct.environment.get("fua")).lower() in _YES)
    drives = facts.get("drives") or []
    cache = (drives[0].get("write_cache") if len(drives) == 1 else None) or {}
    return cache_kind_of(cache.get("kernel_mode"), cache.get("kernel_uses_fua"))


def _before(value: Any) -> str:
    """A fact of the environment, which may have been read before and after."""
    return as_text(value.get("before") if isinstance(value, Mapping) else value)
