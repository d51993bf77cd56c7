"""Writes a run in fio's formats: one JSON of the whole run, and a directory for each chart of fio-plot."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import drivelab
from drivelab.held_directory import HeldDirectory
from drivelab.interop.fio.exported_job import MIXED, USUAL_RESULT, AskedResult, asked_result, document_of, job_result
from drivelab.interop.fio.exported_logs import logs_of
from drivelab.interop.fio.exported_options import is_expressible, rw_of, size_text
from drivelab.model.measurement import Measurement
from drivelab.store.columns import TRIAL_COLUMNS
from drivelab.store.durable import written_aside
from drivelab.store.read import StoredRun

WHOLE_RUN = "fio.json"
# of a job result; fio's JSON does not tell it
JOB_COUNT = "drivelab_job_count"
# what a chart has on its axes, or names itself
_OF_THE_CHART = ("queue_depth", "job_count", "operation", "block_size", "read_fraction")


@dataclass(slots=True)
class FioExport:
    """What was written.

    Attributes
    ----------
    files : list of Path
        In the order in which they were written, the whole run first.
    left_out : list of str
        Why trials are not in them, in words.
    """

    files: list[Path] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    job_count: int = 0


@dataclass(frozen=True, slots=True)
class _Cell:
    """A combination of factors that fio can name: its chart's directory, and its name in there."""

    directory: str
    rw: str
    queue_depth: int
    job_count: int

    @property
    def stem(self) -> str:
        return f"{self.rw}-iodepth-{self.queue_depth}-numjobs-{self.job_count}"


def fio_document(run: StoredRun) -> tuple[dict[str, Any], list[str]]:
    """The whole run as fio's JSON, with bins, and why trials are not in it, in words.

    Of a run of a job file options and percentiles are those that it gives.
    """
    done = FioExport()
    trials = _expressible(run, done)
    trials = {name: trials[name] for name in sorted(trials, key=lambda name: int(run.trial(name)["step"]))}
    listed = {job["workload"]: job for job in run.record.job_file.get("jobs", ())}
    by_workload = {workload: asked_result(job["shared"] | job["given"]) for workload, job in listed.items()}
    asked = {name: by_workload.get(run.trial(name)["workload"], USUAL_RESULT) for name in trials}
    results = _results(run, trials, asked, listed)
    document = _document(run, _jobs(run, trials, asked, results), trials.values())
    document["global options"] = _with_values(run.record.job_file.get("shared", {}))
    if not document["global options"]:
        del document["global options"]
    for job, result in zip(document["jobs"], results, strict=True):
        if of_file := listed.get(result.workload):
            job.update(asked_of_job(of_file["job"], of_file["given"], result.job_count))
    if len({run.trial(name)["workload"] for name in trials}) == len(trials):
        document["jobs"] = _with_checks(document["jobs"], results, listed, by_workload)
    return document, done.left_out


@dataclass(frozen=True, slots=True)
class _Result:
    """What one job result tells of: trials that ran at the same time, or of each of them one job.

    Attributes
    ----------
    trial, workload : str
        The first of them.
    parts : sequence of Measurement
        What was measured.
    workloads : frozenset of str
        Those of all of them.
    job_count : int
        How many jobs of fio's that is.
    """

    trial: str
    workload: str
    parts: Sequence[Measurement]
    workloads: frozenset[str]
    job_count: int = 1


def _results(
    run: StoredRun,
    trials: Mapping[str, Measurement],
    asked: Mapping[str, AskedResult],
    listed: Mapping[str, Mapping[str, Any]],
) -> list[_Result]:
    found = []
    for names in _same_jobs(run, asked, listed):
        whole = [trials[name] for name in names]
        workloads = [run.trial(name)["workload"] for name in names]
        of_file = [listed[workload] for workload in workloads if workload in listed]
        counts = {job["number"]: int(job["resolved"].get("numjobs", 1)) for job in of_file}
        count = sum(counts.values()) or 1
        jobs = [whole] if asked[names[0]].is_of_group else jobs_of(whole, count)
        named = names[0], workloads[0]
        found += [_Result(*named, parts, frozenset(workloads), count // len(jobs)) for parts in jobs]
    return found


def asked_of_job(name: str, given: Mapping[str, str], job_count: int) -> dict[str, Any]:
    """What a job result has of its job file, and how many jobs it tells of."""
    return {"job options": {"name": name} | _with_values(given), JOB_COUNT: job_count}


def _with_values(options: Mapping[str, str]) -> dict[str, str]:
    """Those that fio's JSON has: flags that are the name alone are left out of it."""
    return {name: text for name, text in options.items() if text}


def jobs_of(whole: Sequence[Measurement], job_count: int) -> list[list[Measurement]]:
    """What each job of fio's measured, of trials together that are so many jobs: a part of each trial, or of one."""
    apart = [each.jobs_apart() or (each,) for each in whole]
    if all(len(jobs) == job_count for jobs in apart):
        return [list(parts) for parts in zip(*apart, strict=True)]
    return [[part] for jobs in apart for part in jobs]


def _same_jobs(
    run: StoredRun, asked: Mapping[str, AskedResult], listed: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, ...]]:
    """The trials, those together that are one result: one job on several targets, or a group that reports as one."""
    found: dict[object, list[str]] = {}
    for name, result in asked.items():
        row = run.trial(name)
        of_file = listed.get(row["workload"])
        key: object = name
        if of_file:
            job = ("group", of_file["reporting_group"]) if result.is_of_group else of_file["number"]
            key = (job, bool(of_file.get("verifies")), row["repeat"])
        found.setdefault(key, []).append(name)
    return [tuple(names) for names in found.values()]


def _with_checks(
    jobs: Sequence[dict[str, Any]],
    results: Sequence[_Result],
    listed: Mapping[str, Mapping[str, Any]],
    asked: Mapping[str, AskedResult],
) -> list[dict[str, Any]]:
    """The results of jobs that were run once, what a job read back of its writes among its reads, as fio has them."""
    verified = [str(listed.get(result.workload, {}).get("verifies", "")) for result in results]
    read_back: dict[int, list[Sequence[Measurement]]] = {}
    told: set[int] = set()
    for what in dict.fromkeys(filter(None, verified)):
        checks = [number for number, of in enumerate(verified) if of == what]
        writers = [number for number, of in enumerate(verified) if not of and what in results[number].workloads]
        # what all jobs wrote may be read back once
        of_checks = writers if len(writers) == len(checks) else writers[:1] * len(checks)
        for check, writer in zip(checks, of_checks, strict=False):
            read_back.setdefault(writer, []).append(results[check].parts)
            told.add(check)

    def with_reads(job: dict[str, Any], number: int) -> dict[str, Any]:
        result = results[number]
        whole = job_result(result.trial, [result.parts, *read_back[number]], 0, asked[result.workload])
        return job | {direction: whole[direction] for direction in ("read", MIXED) if direction in whole}

    return [
        with_reads(job, number) if number in read_back else job for number, job in enumerate(jobs) if number not in told
    ]


def export_fio(run: StoredRun, directory: Path, *, with_logs: bool = True) -> FioExport:
    """Write ``fio.json``, and for fio-plot one file and its logs for each combination.

    Parameters
    ----------
    directory : Path
        Where to; made when it is missing. Files of the same names are replaced.
    with_logs : bool
        Whether logs are written as well: from single I/Os where they were
        recorded, else from intervals.

    Raises
    ------
    OSError
        Something cannot be written.
    """
    done = FioExport()
    trials = _expressible(run, done)
    done.job_count = len(trials)
    if not trials:
        return done
    with _opened(directory, run.directory) as held:
        _write_all(run, held, trials, done, with_logs=with_logs)
    return done


def _opened(directory: Path, run: Path) -> HeldDirectory:
    """The directory to write to: one that was named is what its name leads to, and our own in a run is no link."""
    if directory.parent == run:
        with HeldDirectory.open(run) as held:
            return held.below_or_made(directory.name)
    directory.mkdir(parents=True, exist_ok=True)
    return HeldDirectory.open(directory)


def _write_all(
    run: StoredRun, held: HeldDirectory, trials: Mapping[str, Measurement], done: FioExport, *, with_logs: bool
) -> None:
    results = [_Result(name, "", [measured], frozenset()) for name, measured in trials.items()]
    document = _document(run, _jobs(run, trials, {}, results), trials.values())
    _write(held, WHOLE_RUN, json.dumps(document, indent=2), done)
    for cell, names in _cells(run, trials).items():
        measured = [trials[name] for name in names]
        place = held.below_or_made(cell.directory)
        document = _document(run, [job_result(cell.stem, [[each] for each in measured])], measured)
        _write(place, f"{cell.stem}.json", json.dumps(document, indent=2), done)
        if with_logs:
            for kind, pieces in logs_of(measured[0], run.ios(names[0])).items():
                _write(place, f"{cell.stem}_{kind}.1.log", pieces, done)


def _jobs(
    run: StoredRun, trials: Iterable[str], asked: Mapping[str, AskedResult], results: Iterable[_Result]
) -> list[dict[str, Any]]:
    named = names_of_jobs(run, trials)
    return [
        job_result(name, [result.parts], group, asked.get(result.trial, USUAL_RESULT))
        for result in results
        for name, group in [named[result.trial]]
    ]


def names_of_jobs(run: StoredRun, trials: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Name and groupid of each trial: those of its job file when every job was run once, else its own and its place."""
    listed = run.record.job_file.get("jobs", ())
    of_workload = {job["workload"]: (job["job"], job["reporting_group"]) for job in listed}
    trials = list(trials)
    workloads = [run.trial(name)["workload"] for name in trials]
    if len(set(workloads)) == len(workloads) and all(workload in of_workload for workload in workloads):
        return {name: of_workload[workload] for name, workload in zip(trials, workloads, strict=True)}
    return {name: (name, number) for number, name in enumerate(trials)}


def _expressible(run: StoredRun, done: FioExport) -> dict[str, Measurement]:
    measured = {name: run.measurement(name) for name in run.trial_names}
    found = {name: each for name, each in measured.items() if is_expressible(each.workload)}
    missing = [name for name in measured if name not in found]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        done.left_out.append(
            f"fio has no result for these operations on files, nor for this mix: {', '.join(missing[:3])}{more}"
        )
    return found


def _document(run: StoredRun, jobs: list[dict[str, Any]], measured: Iterable[Measurement]) -> dict[str, Any]:
    started = run.record.started_utc
    begun = datetime.fromisoformat(started) if started else datetime.fromtimestamp(0, UTC)
    return document_of(begun, run.record.drivelab_version or drivelab.__version__, jobs, list(measured))


def _cells(run: StoredRun, trials: Mapping[str, Measurement]) -> dict[_Cell, list[str]]:
    """Names of the trials of each combination, in order; workloads that look the same to fio lie apart."""
    found: dict[_Cell, list[str]] = {}
    workload_of: dict[_Cell, str] = {}
    for name, measured in trials.items():
        row = run.trial(name)
        if row["is_reference"]:
            continue
        cell = _cell(measured, row)
        workload = row["workload"] or name
        if workload_of.setdefault(cell, workload) != workload:
            cell = replace(cell, directory=f"{cell.directory}-{_file_name(workload)}")
            workload_of.setdefault(cell, workload)
        found.setdefault(cell, []).append(name)
    return found


def _cell(measured: Measurement, row: Mapping[str, Any]) -> _Cell:
    workload = measured.workload
    words = [row["target"], size_text(workload.block_sizes[0].bytes), *_levels(row)]
    return _Cell("-".join(map(_file_name, words)), rw_of(workload), workload.queue_depth, workload.job_count)


def _levels(row: Mapping[str, Any]) -> list[str]:
    """Levels of the factors that are not on the axes of a chart, with their names."""
    asked = {name.removeprefix("asked_"): level for name, level in row.items() if name.startswith("asked_")}
    known = {column.name.removeprefix("asked_") for column in TRIAL_COLUMNS}
    shown = [name for name, level in asked.items() if level is not None and name not in (*known, *_OF_THE_CHART)]
    return [f"{name}-{asked[name]}" for name in shown]


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+_]+", "-", text).strip("-.") or "unnamed"


def _write(directory: HeldDirectory, name: str, text: str | Iterable[str], done: FioExport) -> None:
    path = directory.path / name
    with written_aside(path, inside=directory) as aside, aside.open("w", encoding="utf-8") as file:
        file.writelines([text, "\n"] if isinstance(text, str) else text)
    done.files.append(path)
