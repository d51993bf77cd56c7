"""Reads the results of fio: JSON, JSON+, terse and normal, of one program or of clients, of versions 2 and 3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from drivelab.interop.fio.logs import is_log, read_log
from drivelab.interop.fio.printed_results import printed_documents
from drivelab.interop.fio.result_jobs import JobResult, trial_of_job
from drivelab.interop.fio.result_options import asked_of
from drivelab.interop.foreign import ForeignFile, ForeignTrial, SourceText, nothing_in
from drivelab.interop.json_fields import JsonFields
from drivelab.interop.json_place import JsonDocument, json_documents, line_at
from drivelab.model.errors import DrivelabError

# in front of the fields of the directions: version, program, name, group, error
_HEAD = 5
_PERCENTILES = 20
# of a direction: bytes, rates and time; slat and clat; percentiles; lat; scatter of the bandwidth, since 5 of IOPS too
_OF_DIRECTION = 4 + 4 + 4 + _PERCENTILES + 4 + 5
_FIELDS = {3: _OF_DIRECTION, 4: _OF_DIRECTION, 5: _OF_DIRECTION + 1 + 5}
_DIRECTIONS = {3: ("read", "write"), 4: ("read", "write", "trim"), 5: ("read", "write", "trim")}
# behind the directions: processor, depths, latencies in us and in ms
_TAIL = 5 + 7 + 10 + 12
_OF_DISK = 9
_LINE = re.compile(r"^([345]);(fio-\d[^;\n]*);[^\n]*$", re.MULTILINE)
ALL_CLIENTS = "All clients"
_NORMAL = re.compile(
    r"^[^\n]{1,200}: \(groupid=\d+, jobs=\d+\): err=|^Run status group \d+ \(all jobs\):", re.MULTILINE
)
_TERSE = re.compile(r"^[2-5];fio-\d[^;\n]*;", re.MULTILINE)
# documents of one run begin at the same time, to the second that fio rounds to
_SAME_START_S = 2.5
# of a job: taken over, or of no use without the program that printed it
_READ_KEYS = {
    *("jobname", "groupid", "error", "job options", "desc", "read", "write", "trim", "sync", "mixed", "job_runtime"),
    *("usr_cpu", "sys_cpu", "hostname", "port", "total_err", "job_start", "elapsed", "eta", "first_error"),
}
_LEFT_OUT = {
    "ctx": "context switches",
    "majf": "page faults",
    "minf": "page faults",
    "iodepth_level": "shares of queue depths",
    "iodepth_submit": "shares of queue depths",
    "iodepth_complete": "shares of queue depths",
    "latency_ns": "shares of latencies by class",
    "latency_us": "shares of latencies by class",
    "latency_ms": "shares of latencies by class",
    "latency_depth": "",
    "latency_target": "",
    "latency_target_ns": "",
    "latency_percentile": "",
    "latency_window": "",
    "latency_window_us": "",
}


@dataclass(frozen=True, slots=True)
class _Run:
    """A document that holds results, and its end in the file."""

    fields: JsonFields
    end: int
    # made of text, in which only some options stand
    is_printed: bool = False

    @property
    def jobs(self) -> list[JsonFields]:
        """Its jobs, or those of its clients."""
        return [*self.fields.each("jobs"), *self.fields.each("client_stats")]

    @property
    def start_s(self) -> float | None:
        """When it began, by the clock of its machine; None where it is not told."""
        elapsed = [job.number("elapsed", 0) for job in self.jobs]
        stamp = self.fields.number("timestamp", 0)
        return stamp - max(elapsed) if stamp and elapsed and max(elapsed) else None


def read_results(source: SourceText) -> ForeignFile:
    """The results of a fio JSON file; where it has no JSON of terse lines, of normal output or of a log.

    Parameters
    ----------
    source : SourceText
        One document or several, with any text around them.

    Raises
    ------
    DrivelabError
        I502: no JSON. I503: a field that cannot be read. I505: no results.
    """
    if is_log(source.text):
        return read_log(source)
    documents, failure = json_documents(source)
    runs = [
        _Run(JsonFields(source, one, one.value), one.end)
        for one in documents
        if isinstance(one.value, Mapping) and ("jobs" in one.value or "client_stats" in one.value)
    ]
    notes: list[str] = []
    if runs:
        notes += _cut_off(source, runs, failure)
    else:
        runs, notes = _printed(source)
    if not runs:
        raise failure or nothing_in(source, "fio")
    last, told = _last_of_each(runs)
    trials, more = _trials(last)
    if not trials:
        raise nothing_in(source, "fio")
    versions = dict.fromkeys(_version(run.fields.text("fio version")) for run in last)
    return ForeignFile(
        source=source,
        kind="fio",
        version=", ".join(version for version in versions if version),
        trials=tuple(trials),
        notes=tuple(dict.fromkeys([*notes, *told, *more])),
        measured=next((trial.measured[:16].replace("T", " ") for trial in trials if trial.measured), ""),
    )


def is_normal(text: str) -> bool:
    """Whether a text holds what fio prints for people."""
    return _NORMAL.search(text) is not None


def is_terse(text: str) -> bool:
    """Whether a text holds a line of fio's terse output, which has its version in front."""
    return _TERSE.search(text) is not None


def _printed(source: SourceText) -> tuple[list[_Run], list[str]]:
    """The runs of text that is no JSON, and what it leaves open."""
    # beside each other the text for people tells more
    is_short = is_terse(source.text) and not is_normal(source.text)
    found = _terse_documents(source.text) if is_short else printed_documents(source.text)
    runs = [
        _Run(JsonFields(source, JsonDocument(value, begin, end), value), end, is_printed=True)
        for value, begin, end in found
    ]
    if not runs:
        return [], []
    lacks = "no options" if is_short else "of the options only the order, the sizes, the engine and the depth"
    return runs, [
        f"fio's {'terse' if is_short else 'normal'} output is rounded, and tells {lacks}: JSON+ has all of it"
    ]


def _version(text: str) -> str:
    return re.sub(r"^fio-", "", text)[:40]


def _cut_off(source: SourceText, runs: Sequence[_Run], failure: DrivelabError | None) -> list[str]:
    """What stands behind the last document and is none: fio was ended while it printed."""
    rest = source.text[runs[-1].end :]
    if failure is None or "{" not in rest:
        return []
    line = line_at(source.text, runs[-1].end)
    return [f"what follows line {line} is a document that was cut off: it is left out"]


def _last_of_each(runs: Sequence[_Run]) -> tuple[list[_Run], list[str]]:
    """The last of the documents that one run printed as it went on (``status-interval``), of each run."""
    found: list[_Run] = []
    dropped = 0
    for run in runs:
        if found and _is_later(found[-1], run):
            found[-1] = run
            dropped += 1
        else:
            found.append(run)
    if not dropped:
        return found, []
    which = "the last of each run" if len(found) > 1 else "the last"
    count = dropped + len(found)
    what = f"fio printed {count} documents as it went on, each with everything since the start (status-interval)"
    return found, [f"{what}: {which} is taken"]


def _is_later(before: _Run, after: _Run) -> bool:
    """Whether both are of one run: the same jobs, begun at the same time, and no less done."""
    names = [[job.text("jobname", job.text("name")) for job in run.jobs] for run in (before, after)]
    if names[0] != names[1] or before.fields.values.get("global options") != after.fields.values.get("global options"):
        return False
    starts = before.start_s, after.start_s
    if starts[0] is not None and starts[1] is not None and abs(starts[0] - starts[1]) > _SAME_START_S:
        return False
    done = [[_done(job) for job in run.jobs] for run in (before, after)]
    return all(first <= second for first, second in zip(*done, strict=True))


def _done(job: JsonFields) -> float:
    return sum(job.below(name).number("io_bytes", 0) for name in ("read", "write", "trim", "mixed"))


def _trials(runs: Sequence[_Run]) -> tuple[list[ForeignTrial], list[str]]:
    trials: list[ForeignTrial] = []
    notes: list[str] = []
    for number, run in enumerate(runs):
        disks = _disks(run.fields)
        jobs = list(_jobs(run, notes))
        at_once = [job.group for job in {(job.name, job.group): job for job in jobs}.values()]
        for job in jobs:
            found, told = trial_of_job(job)
            notes += told
            if found is None:
                continue
            name = f"{number}-{job.group}" if at_once.count(job.group) > 1 else ""
            trials.append(_placed(found, disks.get(found.machine, ()), name, run))
        left_out = {_LEFT_OUT.get(key, f"'{key[:40]}'") for job in jobs for part in job.parts for key in part.values}
        notes += _told_left_out({what for what in left_out if what} - {f"'{key}'" for key in _READ_KEYS}, disks)
    if any(trial.together for trial in trials):
        notes.append("jobs of one group ran at the same time: each is a trial of its own")
    return trials, notes


def _placed(trial: ForeignTrial, disks: Sequence[str], together: str, run: _Run) -> ForeignTrial:
    stamp = run.fields.number("timestamp", 0)
    measured = datetime.fromtimestamp(stamp, UTC).isoformat(timespec="seconds") if 0 < stamp < 2**33 else ""
    drive = trial.drive or (disks[0] if len(disks) == 1 else "")
    return replace(
        trial,
        drive=drive,
        together=together,
        measured=trial.measured or measured,
        details={**trial.details, "disks": list(disks)},
    )


def _told_left_out(left_out: set[str], disks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    words = sorted(left_out)
    yield (
        "not taken over: percentiles other than 50, 90, 99, 99.9 and 99.99, the scatter of bandwidth and IOPS samples"
        + (f", {', '.join(words)}" if words else "")
    )
    if disks:
        yield "disk_util counts the whole run and other programs' I/O too: commands per operation are not known"


def _disks(fields: JsonFields) -> dict[str, list[str]]:
    """Names of the disks by the machine; an array stands before its members, which are not named."""
    found: dict[str, list[str]] = {}
    for disk in fields.each("disk_util"):
        found.setdefault(disk.text("hostname"), []).append(disk.text("name"))
    return found


def _jobs(run: _Run, notes: list[str]) -> Iterator[JobResult]:
    """The jobs, clones of one brought together."""
    shared = _shared_options(run.fields)
    jobs = run.jobs
    hosts = [job for job in jobs if job.text("jobname", job.text("name")) != ALL_CLIENTS]
    if len(hosts) < len(jobs) and hosts:
        notes.append("the sums over all clients are left out: each client stands by itself")
        jobs = hosts
    groups: dict[tuple[Any, ...], list[JsonFields]] = {}
    for job in jobs:
        own = _options(job.below("job options"))
        name = job.text("jobname", job.text("name")) or "job"
        key = (job.text("hostname"), job.text("port"), name, int(job.number("groupid", 0)), tuple(sorted(own.items())))
        groups.setdefault(key, []).append(job)
    for (host, _, name, group, own_options), members in groups.items():
        asked = asked_of({**shared, **dict(own_options)}, is_whole=not run.is_printed)
        # more of one name than clones that were asked for are jobs of their own
        sets = [members] if len(members) <= asked.clones else [[member] for member in members]
        if any(len(parts) > 1 for parts in sets):
            notes.append(f"the {len(members)} clones of {name} are brought together: rates are sums")
        for parts in sets:
            yield JobResult(name, group, "" if name == ALL_CLIENTS else host, asked, tuple(parts))


def _shared_options(fields: JsonFields) -> dict[str, str]:
    """Global options; of several servers those in which all agree."""
    if not isinstance(fields.values.get("global options"), list):
        return _options(fields.below("global options"))
    several = [_options(one) for one in fields.each("global options")]
    return {
        name: value
        for name, value in (several[0] if several else {}).items()
        if all(one.get(name) == value for one in several)
    }


def _options(fields: JsonFields) -> dict[str, str]:
    return {name: fields.text(name) for name in fields.values}


def _terse_documents(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """The run that the terse lines of a text tell of as the JSON of fio, with where it begins and ends in the text."""
    lines = list(_LINE.finditer(text))
    jobs: list[dict[str, Any]] = []
    disks: dict[str, None] = {}
    for line in lines:
        fields = line[0].split(";")
        version = int(line[1])
        if len(fields) < _HEAD + len(_DIRECTIONS[version]) * _FIELDS[version] + _TAIL:
            continue
        job, named = _job(fields, version)
        jobs.append(job)
        disks |= dict.fromkeys(named)
    if jobs:
        document = {"fio version": lines[0][2], "jobs": jobs, "disk_util": [{"name": name} for name in disks]}
        yield document, lines[0].start(), lines[-1].end()


def _job(fields: Sequence[str], version: int) -> tuple[dict[str, Any], list[str]]:
    """The job, and the names of its disks."""
    job: dict[str, Any] = {"jobname": fields[2], "groupid": int(_number(fields[3])), "error": int(_number(fields[4]))}
    at, size = _HEAD, _FIELDS[version]
    for name in _DIRECTIONS[version]:
        job[name] = _direction(fields[at : at + size])
        at += size
    runtime = max(job[name]["runtime"] for name in _DIRECTIONS[version])
    job |= {"usr_cpu": _number(fields[at]), "sys_cpu": _number(fields[at + 1]), "job_runtime": runtime}
    rest = fields[at + _TAIL :]
    return job, [name for name in rest[: len(rest) // _OF_DISK * _OF_DISK : _OF_DISK] if name]


def _direction(fields: Sequence[str]) -> dict[str, Any]:
    moved, rate, iops, runtime = (_number(field) for field in fields[:4])
    count = round(iops * runtime / 1000)
    at = 12 + _PERCENTILES
    latencies = {"slat_ns": fields[4:8], "clat_ns": fields[8:12], "lat_ns": fields[at : at + 4]}
    # whole I/Os a second tell their number within the rounding
    found: dict[str, Any] = {name: _latency(values, count) for name, values in latencies.items()}
    pairs = (field.partition("%=") for field in fields[12:at])
    found["clat_ns"]["percentile"] = {share: _number(value) * 1000 for share, _, value in pairs if _number(share)}
    return found | {
        "io_bytes": moved * 1024,
        "bw_bytes": rate * 1024,
        "iops": iops,
        "runtime": runtime,
        "total_ios": count,
    }


def _latency(fields: Sequence[str], count: int) -> dict[str, Any]:
    """In us there."""
    values = [1000 * _number(field) for field in fields]
    return {"N": count if values[2] else 0, **dict(zip(("min", "max", "mean", "stddev"), values, strict=True))}


def _number(text: str) -> float:
    try:
        return float(text.rstrip("%"))
    except ValueError:
        return 0.0
