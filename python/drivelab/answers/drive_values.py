"""The numbers of many drives, from their stored runs: one run is held in memory at a time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drivelab.analyse.comparability import asked_of
from drivelab.analyse.judged_metric import judged_metric
from drivelab.analyse.like_numbers import Values, like_numbers
from drivelab.analyse.run_answer import RunTrial
from drivelab.answers.drive_of_run import is_scratch
from drivelab.answers.lasting_trials import as_they_last
from drivelab.answers.measured_on import as_text, measured_targets
from drivelab.answers.run_answer import trials_of_run
from drivelab.answers.trial_conduct import conduct_of_trials
from drivelab.model.check_trials import PROBE
from drivelab.model.drive_values import FleetDrive, FleetNumber, FleetNumbers, NumberKey, asked_apart
from drivelab.model.errors import DrivelabError
from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, P99, RATE, RESPONSE, THROUGHPUT, told_metric
from drivelab.model.names import counted, names_in_words, some_in_words
from drivelab.model.result_set import MeasuredDrive
from drivelab.model.stored_experiment import workload_titles
from drivelab.model.units import format_decimal_bytes
from drivelab.store.invalid_trials import why_invalid
from drivelab.store.read import StoredRun, open_run
from drivelab.store.run_record import RunRecord

_METRICS = (LATENCY, MEAN_LATENCY, P99, RESPONSE, RATE, THROUGHPUT)
_DRIVES_MIN = 2


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Trials of a drive that have no number of it: how many, why, and what to do about it, if that is known."""

    drive: str
    why: str
    do: str
    count: int


@dataclass(frozen=True, slots=True)
class NumbersOfRun:
    """What a run adds to the numbers of many drives, as plain data.

    Attributes
    ----------
    run : str
        Its name.
    drives : tuple of FleetDrive
        That it measured.
    keys : tuple of NumberKey
        Its numbers.
    values : tuple of (int, str, float)
        Of each repeat the place of its number, the key of its drive, and the value.
    judged : tuple of (int, str, mapping of str to str)
        Of numbers that are judged the place, the model, and ranges and lengths by name.
    left_out : tuple of LeftOut
        Trials that have no number.
    """

    run: str
    drives: tuple[FleetDrive, ...]
    keys: tuple[NumberKey, ...]
    values: tuple[tuple[int, str, float], ...]
    judged: tuple[tuple[int, str, Mapping[str, str]], ...]
    left_out: tuple[LeftOut, ...]


@dataclass(slots=True)
class _Gathered:
    """What was found so far; of each number, drive and run the repeats."""

    values: Values = field(default_factory=lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(list))))
    judged: set[NumberKey] = field(default_factory=set)
    # of each number and model the ranges and lengths
    amounts: dict[tuple[NumberKey, str], dict[str, set[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )
    drives: dict[str, list[tuple[str, FleetDrive]]] = field(default_factory=lambda: defaultdict(list))
    unreadable: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def fleet_numbers(
    directories: Iterable[Path],
    hosts: Mapping[Path, str],
    read: Callable[[Path, str], NumbersOfRun] = lambda directory, host: numbers_of_drives(open_run(directory), host),
) -> FleetNumbers:
    """Every number that at least two drives have, and the drives.

    Parameters
    ----------
    directories : iterable of Path
        Runs of any hosts, finished or not; one after the other is read, and not kept. One that cannot be read is named
        in the notes and left out.
    hosts : mapping of Path to str
        What whoever asked calls the host of a run: computers that were set up alike often call themselves alike.
    read : callable
        What a run of a host adds, as `numbers_of_drives` tells: it may have been kept.
    """
    found = _Gathered()
    for directory in directories:
        try:
            _gather(read(directory, hosts.get(directory, "")), found)
        except DrivelabError as error:
            found.unreadable.append(f"{directory.name}: {error.what}")
    drives = {key: _latest(each) for key, each in found.drives.items()}
    every = like_numbers(found.values, found.judged)
    numbers = [number for number in every if len(number.values) >= _DRIVES_MIN]
    measured = {drive for number in numbers for drive in number.values}
    kept = sorted((one for key, one in drives.items() if key in measured), key=lambda one: (one.host, one.name))
    notes = [*_notes(found, drives), *_of_workloads(every, drives), *_of_amounts(found)]
    having = {drive for its in found.values.values() for drive in its}
    numberless = sorted(one.words for key, one in drives.items() if key not in having)
    remedy = next((one.do for one in found.left_out if one.do), "")
    return FleetNumbers(tuple(kept), tuple(numbers), tuple(notes), len(drives) - len(kept), tuple(numberless), remedy)


def numbers_of_drives(run: StoredRun, host: str) -> NumbersOfRun:
    """What a run adds to the numbers of many drives.

    Parameters
    ----------
    run : StoredRun
        Finished or not.
    host : str
        What whoever asked calls its host; empty for what it calls itself.

    Raises
    ------
    DrivelabError
        S506: a table cannot be read.
    """
    record = run.record
    experiment = as_text(record.experiment.get("name")) or "?"
    experiment = f"{experiment} (quick)" if record.is_quick else experiment
    titles = workload_titles(record.experiment)
    conducts = conduct_of_trials(run)
    trials = list(as_they_last(run, trials_of_run(run, _METRICS)[0]))
    drives = drives_of_run(record, [trial.target for trial in trials], host)
    keys: dict[NumberKey, int] = {}
    values: list[tuple[int, str, float]] = []
    judged: list[tuple[int, str, Mapping[str, str]]] = []
    invalid = why_invalid(run) if any(trial.is_invalid for trial in trials) else {}
    left_out: Counter[tuple[str, str, str]] = Counter()
    for trial in trials:
        if trial.is_reference or trial.name.startswith(PROBE):
            continue
        if trial.is_invalid:
            code, do = invalid[trial.name]
            left_out[drives[trial.target].key, f"do not describe the drive ({code})", do] += 1
            continue
        if trial.refused:
            left_out[drives[trial.target].key, "had other settings than they asked for", ""] += 1
            continue
        conduct, drive = conducts[trial.name], drives[trial.target]
        title = titles.get(trial.workload) or conduct.label or trial.name
        asked = tuple(sorted(asked_of(conduct.conduct).items()))
        for metric, value in _numbers_of(trial):
            levels = tuple(sorted(trial.levels.items()))
            workload = trial.workload or trial.name
            key = NumberKey(experiment, workload, title, trial.part or trial.operation, levels, metric, asked)
            place = keys.setdefault(key, len(keys))
            values.append((place, drive.key, value))
            if metric == _told(trial):
                judged.append((place, drive.model, conduct.amounts))
    measured = tuple(drive for label, drive in drives.items() if any(trial.target == label for trial in trials))
    told = tuple(LeftOut(*what, count) for what, count in left_out.items())
    return NumbersOfRun(run.name, measured, tuple(keys), tuple(values), tuple(judged), told)


def _gather(one: NumbersOfRun, found: _Gathered) -> None:
    for drive in one.drives:
        found.drives[drive.key].append((drive.first_utc, drive))
    for place, drive_key, value in one.values:
        found.values[one.keys[place]][drive_key][one.run].append(value)
    for place, model, amounts in one.judged:
        found.judged.add(one.keys[place])
        for name, amount in amounts.items():
            found.amounts[one.keys[place], model][name].add(amount)
    found.left_out += one.left_out


def _told(trial: RunTrial) -> str:
    """The metric that a trial is told by."""
    return told_metric(judged_metric([trial.kind]), [trial.kind.block_size_bytes])


def _numbers_of(trial: RunTrial) -> Iterator[tuple[str, float]]:
    """What a trial is told by, its rate, and its p99, as far as they are there and above 0."""
    told = _told(trial)
    for metric in dict.fromkeys((told, *([] if told == THROUGHPUT else [RATE]), P99)):
        value = trial.values.get(metric)
        if value is not None and value > 0:
            yield metric, value


def drives_of_run(record: RunRecord, labels: Iterable[str] = (), host: str = "") -> dict[str, FleetDrive]:
    """The drives of a run by the labels of its targets; of a host that is called so, if that is said."""
    measured = measured_targets(record, list(dict.fromkeys(labels)))
    facts = {as_text(target.get("label")): target.get("facts_before") or {} for target in record.targets}
    return {
        label: _drive(replace(target.drive, machine=host or target.drive.machine), facts.get(label, {}), record)
        for label, target in measured.items()
    }


def _drive(drive: MeasuredDrive, facts: Mapping[str, Any], record: RunRecord) -> FleetDrive:
    name = _kernel_name(facts) or drive.label
    title = as_text((facts.get("simulated") or {}).get("title"))
    # a device is typed with its directory and without, and which one a scratch drive gets is chance
    place = name if facts.get("kind") == "block_device" and not is_scratch(facts) else drive.label
    return FleetDrive(
        # one serial in two hosts: a drive that moved, or serials that a hypervisor makes up; compared it is both times
        key=f"{drive.machine}/{drive.serial or place}",
        host=drive.machine,
        serial=drive.serial,
        name=name,
        model=f"{title} ({drive.kind})" if title else _model(drive),
        firmware=drive.firmware,
        tags=dict(record.tags),
        first_utc=record.started_utc,
        last_utc=record.started_utc,
        has_model=bool(title or drive.model),
    )


def _model(drive: MeasuredDrive) -> str:
    """Model and capacity; of a drive that tells no model what it is, so that those of a kind and size are peers."""
    told = (drive.model, " ") if drive.model else (drive.kind, ", ")
    capacity = format_decimal_bytes(drive.capacity_bytes) if drive.capacity_bytes else ""
    return told[1].join(filter(None, (told[0], capacity))) if told[0] else drive.label


def _kernel_name(facts: Mapping[str, Any]) -> str:
    drives = facts.get("drives")
    return as_text(drives[0].get("name")) if drives and len(drives) == 1 else ""


def _latest(each: list[tuple[str, FleetDrive]]) -> FleetDrive:
    """A drive as its newest run knows it, with how many runs there are, and from when to when."""
    ordered = sorted(each, key=lambda one: one[0])
    return replace(ordered[-1][1], run_count=len(each), first_utc=ordered[0][0], last_utc=ordered[-1][0])


def _notes(found: _Gathered, drives: Mapping[str, FleetDrive]) -> Iterator[str]:
    if found.unreadable:
        yield f"left out: {counted(len(found.unreadable), 'run')} that cannot be read: {found.unreadable[0]}"
    for why in dict.fromkeys(one.why for one in found.left_out):
        yield _trials_left_out([one for one in found.left_out if one.why == why], drives)
    if guessed := [drive.model for drive in drives.values() if not drive.has_model]:
        kinds = sorted(set(guessed))
        more = f" and {len(kinds) - 1} more" if len(kinds) > 1 else ""
        yield (
            f"of {counted(len(guessed), 'drive')} no model is known: those of one kind and size ({kinds[0]}{more}) are "
            "taken for one model"
        )
    hosts = defaultdict(set)
    for drive in drives.values():
        if drive.serial:
            hosts[drive.serial].add(drive.host)
    if twice := sorted(serial for serial, its in hosts.items() if len(its) > 1):
        more = f" and {len(twice) - 1} more" if len(twice) > 1 else ""
        yield f"serial {twice[0]}{more} is known on several hosts: a drive in each of them"


def _trials_left_out(alike: Sequence[LeftOut], drives: Mapping[str, FleetDrive]) -> str:
    """Trials that were left out for one reason, whose they are, and what to do."""
    names = some_in_words([drives[key].words for key in dict.fromkeys(one.drive for one in alike)])
    do = next((f": {one.do}" for one in alike if one.do), "")
    return f"left out: {counted(sum(one.count for one in alike), 'trial')} that {alike[0].why}, of {names}{do}"


def _of_workloads(every: Sequence[FleetNumber], drives: Mapping[str, FleetDrive]) -> Iterator[str]:
    """Numbers that one drive alone has, where others have numbers of that name for which something else was asked."""
    judged = [number for number in every if number.is_judged]
    apart = asked_apart(number.key for number in judged)
    alone = [number for number in judged if apart[number.key] and len(number.values) < _DRIVES_MIN]
    if alone:
        (drive,) = alone[0].values
        more = f", and {counted(len(alone) - 1, 'other')} like it" if len(alone) > 1 else ""
        yield f"left out: {alone[0].key.title} ({apart[alone[0].key]}), which {drives[drive].words} alone has{more}"


def _of_amounts(found: _Gathered) -> Iterator[str]:
    """Ranges and lengths that differ between drives of a model: they seldom change what a number means."""
    for name in ("range", "length"):
        told = [(key, model, its[name]) for (key, model), its in found.amounts.items() if len(its[name]) > 1]
        if told:
            key, model, amounts = told[0]
            more = f"; so are {counted(len(told) - 1, 'other')}" if len(told) > 1 else ""
            differs = f"the {name} of {key.title} was not the same for all of {model}"
            yield f"{differs}: {names_in_words(sorted(amounts))}{more}"
