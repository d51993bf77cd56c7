"""Makes a plan of jobs that are listed one by one, in their order: what a job file of another program becomes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment, ExperimentWorkload, Scale
from drivelab.model.plan import PREPARATIONS, Plan, PlannedStep, PlannedTarget, TraceChoice
from drivelab.model.stored_experiment import titled
from drivelab.model.target import DEVICE_KINDS, TargetFacts
from drivelab.model.units import format_bytes
from drivelab.model.workload import CacheState
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.budget import actions_ns, bytes_written, counting_pass, expected_step_ns, traced_pass, write_ns
from drivelab.plan.cells import Cell
from drivelab.plan.fit import FILE_SHARE, fit, is_on_device, refuse_unless_together
from drivelab.plan.make import longest_alone, trial_name
from drivelab.plan.suitable import refuse_overlaps
from drivelab.plan.targets import planned_targets, target_notes


@dataclass(frozen=True, slots=True)
class ListedJob:
    """One job, as it is written in a list.

    Attributes
    ----------
    name, title : str
        Name of the workload, unique for each target, and what it is for people.
    target : int
        Place of its target in the list of targets.
    group : int
        Jobs with the same number run at the same time; groups run in ascending order.
    file_name : str
        The file in a target that is a directory; it stays for the other jobs.
    file_bytes : int
        Size that its file has at least.
    keeps_file : bool
        Whether that file is the user's: used where it is, and left there at the end.
    present_bytes : int
        Size of that file if it is there.
    page_cache : str
        What becomes first of what is cached of the file or device: ``drop``, ``keep`` or ``warm``.
    seed : int or None
        Seed of its addresses; None leaves it to the plan.
    reads_back : str
        Name of the job before it of which it reads what that one wrote, however much; empty for none.
    """

    name: str
    title: str
    pattern: WorkloadPattern
    target: int
    group: int
    file_name: str = ""
    file_bytes: int = 0
    keeps_file: bool = False
    present_bytes: int = 0
    page_cache: CacheState = "drop"
    seed: int | None = None
    reads_back: str = ""


@dataclass(frozen=True, slots=True)
class JobList:
    """Jobs with what they are called together.

    Attributes
    ----------
    name, question : str
        As those of an experiment.
    description : str
        What they are, and where they come from.
    """

    name: str
    question: str
    jobs: tuple[ListedJob, ...]
    description: str = ""


def listed_plan(
    listed: JobList,
    targets: Sequence[TargetFacts],
    *,
    seed: int,
    repeats: int = 1,
    labels: Sequence[str] = (),
    trace: TraceChoice | None = None,
) -> Plan:
    """The steps that a list of jobs becomes, in the order of the list.

    Parameters
    ----------
    targets : sequence of TargetFacts
        Where, by the place that the jobs name.
    seed : int
        Decides addresses and contents of the jobs that have no seed of their own.
    repeats : int
        How often the whole list is done.
    labels : sequence of str
        What the user calls the targets; may be fewer.
    trace : str, optional
        Source by which every job that runs alone is traced once more.

    Raises
    ------
    DrivelabError
        P705: a target too small. P706: a job that cannot be issued there. P708: nothing is left. P709: labels
        that do not fit the targets. P710: targets that overlap.
    """
    planned = _planned(listed.jobs, targets, labels)
    refuse_overlaps(targets, erased=[bool(target.destroys) for target in planned])
    units, notes = _fitted_units(listed.jobs, _with_room(planned, listed.jobs))
    steps = list(_steps(units, planned, repeats, np.random.default_rng(seed), is_traced=trace is not None))
    filled = sum(target.scratch_bytes for target in planned)
    found = {"scratch": filled, "file": sum(step.preparation_bytes for step in steps)}
    return Plan(
        experiment=listed.name,
        question=listed.question,
        quick=False,
        seed=seed,
        targets=planned,
        steps=tuple(steps),
        preparation_ns=write_ns(filled, pace="loop"),
        preparation={what: found[what] for what in PREPARATIONS if found.get(what)},
        notes=(*notes, *target_notes(targets)),
        trace=trace,
        is_listed=True,
    )


def listed_experiment(listed: JobList, *, repeats: int = 1) -> Experiment:
    """The list as an experiment, for whoever reads the run: the same workloads under the same names."""
    by_name = {job.name: job for job in listed.jobs}
    sizes = Counter(job.group for job in listed.jobs)
    workloads = [
        ExperimentWorkload.model_validate(
            job.pattern.to_json()
            | {"name": job.name, "title": job.title, "together": f"group-{job.group}" if sizes[job.group] > 1 else ""}
        )
        for job in by_name.values()
    ]
    return Experiment(
        format=1,
        name=listed.name,
        question=listed.question,
        description=listed.description,
        repeats=Scale(full=repeats, quick=repeats),
        workloads=tuple(workloads),
        tables=("results",),
        figures=("latency-overview", "latency-over-time"),
    )


@dataclass(frozen=True, slots=True)
class _Placed:
    """A job as its target can have it."""

    job: ListedJob
    cell: Cell
    label: str


def _planned(
    jobs: Sequence[ListedJob], targets: Sequence[TargetFacts], labels: Sequence[str]
) -> tuple[PlannedTarget, ...]:
    """The targets; those that no job writes to lose nothing."""
    written = {job.target for job in jobs if job.pattern.writes}
    return tuple(
        target if place in written else replace(target, destroys=(), erase_argument="")
        for place, target in enumerate(planned_targets(targets, overwrites_devices=bool(written), labels=labels))
    )


def _with_room(planned: Sequence[PlannedTarget], jobs: Sequence[ListedJob]) -> list[PlannedTarget]:
    """The targets with all of their room for files, and with that of files which are there already."""
    present = {(job.target, job.file_name): job.present_bytes * job.pattern.own_file_count for job in jobs}
    taken: Counter[int] = Counter()
    for (place, _), size in present.items():
        taken[place] += size
    return [
        replace(target, size_bytes=math.ceil((target.size_bytes + taken[place]) / FILE_SHARE))
        if target.kind == "directory"
        else target
        for place, target in enumerate(planned)
    ]


def _fitted_units(
    jobs: Sequence[ListedJob], planned: Sequence[PlannedTarget]
) -> tuple[list[tuple[_Placed, ...]], tuple[str, ...]]:
    """The jobs in order, those of a group together, and what was adapted."""
    units: list[tuple[_Placed, ...]] = []
    notes: dict[str, None] = {}
    ordered = sorted(jobs, key=lambda job: job.group)
    for _, group in itertools.groupby(ordered, key=lambda job: job.group):
        members = list(group)
        titles = [job.title for job in members]
        unit = []
        for place, job in enumerate(members):
            cell, adapted = _fitted(job, planned[job.target])
            notes.update(dict.fromkeys(adapted))
            unit.append(_Placed(job, cell, titled(titles, place)))
        by_target = {placed.job.target for placed in unit}
        for number in by_target:
            files = {placed.job.file_name: placed.cell for placed in unit if placed.job.target == number}
            refuse_unless_together(list(files.values()), planned[number])
        units.append(tuple(unit))
    if not units:
        raise DrivelabError("P708", "nothing is left to measure: there is no job")
    return units, tuple(notes)


def _fitted(job: ListedJob, target: PlannedTarget) -> tuple[Cell, tuple[str, ...]]:
    pattern = job.pattern
    if target.kind == "file" and pattern.writes:
        what = f"{job.name} would write over a file that exists"
        do = "name a file that is not there, or a directory"
        raise DrivelabError("P706", what, where=target.text, do=do)
    if target.kind == "file" and job.file_bytes > target.size_bytes:
        what = f"{job.name} needs {format_bytes(job.file_bytes)}, the file has {format_bytes(target.size_bytes)}"
        raise DrivelabError("P705", what, where=target.text, do="remove the file, or use a smaller size")
    if target.kind not in DEVICE_KINDS and target.kind != "file" and job.file_bytes > pattern.file_size:
        pattern = pattern.changed(file_size=job.file_bytes)
    actions = {} if job.page_cache == "keep" else {"page-cache": job.page_cache}
    cell = Cell(filesystem=None, workload=job.name, title=job.title, pattern=pattern, levels={}, actions=actions)
    fitted, notes = fit(cell, target, goes_round=True)
    if fitted is None:
        raise DrivelabError("P706", "; ".join(notes), where=target.text)
    return fitted, notes


def _steps(
    units: Sequence[Sequence[_Placed]],
    planned: Sequence[PlannedTarget],
    repeats: int,
    generator: np.random.Generator,
    *,
    is_traced: bool,
) -> Iterator[PlannedStep]:
    digits = max(4, len(str(repeats * sum(len(unit) for unit in units))))
    numbers, groups = itertools.count(1), itertools.count(1)
    for repeat in range(1, repeats + 1):
        present = {file: one.job.present_bytes for unit in units for one in unit if (file := _file_of(one))}
        before: dict[str, PlannedStep] = {}
        for place, unit in enumerate(units):
            together = next(groups) if len(unit) > 1 else 0
            paces = [planned[one.job.target].pace for one in unit]
            durations = [
                expected_step_ns(one.cell.pattern, None, pace=pace) for one, pace in zip(unit, paces, strict=True)
            ]
            files = {file for later in units[place + 1 :] for one in later if (file := _file_of(one))}
            for one, duration_ns in zip(unit, longest_alone(durations, [together] * len(unit)), strict=True):
                number, target = next(numbers), planned[one.job.target]
                words = [target.label] if len(planned) > 1 else []
                has_second_pass = not together and _file_of(one) not in files
                second = _second_pass(one, target, is_traced=is_traced) if has_second_pass else (0, 0)
                laid_out = _laid_out_bytes(one, target, present)
                before_ns = actions_ns(one.cell.actions) + write_ns(laid_out, pace=target.pace)
                seed, written = _seed(one.job, generator), before.get(one.job.reads_back)
                before[one.job.name] = step = PlannedStep(
                    number=number,
                    trial=trial_name(f"{number:0{digits}}", [*words, one.job.name], repeat),
                    target=target.label,
                    workload=one.job.name,
                    label=one.label,
                    pattern=one.cell.pattern,
                    filesystem=None,
                    levels={},
                    block=repeat,
                    repeat=repeat,
                    # the same places in the same order
                    seed=seed if written is None else written.seed,
                    expected_ns=before_ns + duration_ns + second[1],
                    bytes_written=bytes_written(one.cell.pattern, None, pace=target.pace),
                    actions=one.cell.actions,
                    preparation_bytes=laid_out + second[0],
                    together=together,
                    file_name=one.job.file_name,
                    keeps_file=one.job.keeps_file,
                    reads_back="" if written is None else written.trial,
                )
                yield step


def _file_of(one: _Placed) -> tuple[int, str] | None:
    """The file that a job shares with others; None for one of its own."""
    return (one.job.target, one.job.file_name) if one.job.file_name else None


def _second_pass(one: _Placed, target: PlannedTarget, *, is_traced: bool) -> tuple[int, int]:
    """Bytes and time of the pass that is traced, or that counts commands."""
    pattern = one.cell.pattern
    return (traced_pass if is_traced else counting_pass)(pattern, None, pace=target.pace)


def _seed(job: ListedJob, generator: np.random.Generator) -> int:
    drawn = int(generator.integers(1, 2**32))
    return drawn if job.seed is None else job.seed


def _laid_out_bytes(one: _Placed, target: PlannedTarget, present: dict[tuple[int, str], int]) -> int:
    """Bytes that are written so that the file is as large as the job needs it."""
    if is_on_device(one.cell, target) or target.kind == "file" or one.cell.pattern.uses_tree:
        return 0
    pattern = one.cell.pattern
    key = (one.job.target, one.job.file_name)
    missing = max(0, pattern.file_size - present.get(key, 0))
    present[key] = max(pattern.file_size, present.get(key, 0))
    missing *= pattern.own_file_count
    return missing if not pattern.writes or pattern.file_state == "overwrite" else 0


def by_label(planned: Sequence[PlannedTarget], targets: Sequence[TargetFacts]) -> Mapping[str, TargetFacts]:
    """The targets by their label in a plan."""
    return {target.label: facts for target, facts in zip(planned, targets, strict=True)}
