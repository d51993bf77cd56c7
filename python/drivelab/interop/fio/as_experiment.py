"""A job file as an experiment of drivelab's own format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from drivelab.interop.fio.translated import OptionNote, TranslatedJob, Translation
from drivelab.model.experiment import Experiment, ExperimentWorkload, Scale
from drivelab.model.workload_pattern import WorkloadPattern

_BYTES = ("block_size", "file_size", "file_size_min", "bytes", "offset", "shift", "range_size")
_DURATIONS = ("runtime", "ramp", "interval", "start_delay")
_NAME_MAX = 40
_TITLE_MAX = 60


def as_experiment(translation: Translation) -> Experiment:
    """The jobs as workloads; the target is left to whoever runs it.

    Jobs that run at the same time are workloads of one ``together``; a job with
    several targets is a workload for each; reads that check follow the writes.
    """
    names: dict[str, None] = {}
    workloads: list[ExperimentWorkload] = []
    for group in translation.groups:
        members = [(job, number) for job in group for number in range(len(job.targets))]
        together = f"group-{group[0].group}" if len(members) > 1 else ""
        for job, _number in members:
            workloads.append(_workload(job, job.pattern, together, names))
        for job in group:
            # an experiment has no order in which something could be read back
            if job.verify_pattern is not None and not job.reads_back:
                workloads.append(_workload(job, job.verify_pattern, "", names, suffix="-verify"))
    stem = re.split(r"[/\\]", translation.path)[-1].rsplit(".", 1)[0]
    return Experiment(
        format=1,
        name=_slug(stem) or "job-file",
        question=_question(len(translation.jobs), stem),
        description=_description(translation),
        repeats=Scale(full=3, quick=1),
        workloads=tuple(workloads),
        tables=("results",),
    )


def _question(job_count: int, stem: str) -> str:
    return (
        f"What does the job of {stem} come to?"
        if job_count == 1
        else f"What do the {job_count} jobs of {stem} come to?"
    )


def _description(translation: Translation) -> str:
    """What is done otherwise than fio would, line by line."""
    told = [note for note in translation.notes if note.effect not in ("honoured", "noted")]
    lines = [f"{_where(note)}: {note.effect.replace('-', ' ')}: {note.what}" for note in told]
    return "\n".join(["Made of a job file of fio.", *lines]) + "\n"


def _where(note: OptionNote) -> str:
    written = f"{note.option}={note.value}" if note.value else note.option
    return f"line {note.line}: {written}" if note.line else f"fio's default of {written}"


def _workload(
    job: TranslatedJob, pattern: WorkloadPattern, together: str, names: dict[str, None], *, suffix: str = ""
) -> ExperimentWorkload:
    keys = pattern.to_json()
    if not pattern.file_size and not pattern.uses_tree:
        # where the target is a directory, a file stands for the device
        keys["file_size"] = pattern.offset + pattern.range_size
    name = _unique((_slug(job.name) or "job")[: _NAME_MAX - 8] + suffix, names)
    title = job.name[:_TITLE_MAX]
    return ExperimentWorkload.model_validate(
        keys | {"name": name, "title": "" if title == name else title, "together": together}
    )


def _slug(text: str) -> str:
    """Small letters, digits, dots and hyphens."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:_NAME_MAX]


def _unique(name: str, names: dict[str, None]) -> str:
    number, found = 1, name
    while found in names:
        number += 1
        found = f"{name}-{number}"
    names[found] = None
    return found


def to_toml(experiment: Experiment) -> str:
    """The file of an experiment, as a person would write it."""
    lines = [
        "format = 1",
        f"name = {_text(experiment.name)}",
        f"question = {_text(experiment.question)}",
        f"description = {_several_lines(experiment.description)}",
        f"repeats = {{ full = {experiment.repeats.full}, quick = {experiment.repeats.quick} }}",
        f"tables = [{', '.join(map(_text, experiment.tables))}]",
    ]
    for workload in experiment.workloads:
        lines += ["", "[[workloads]]", *_workload_lines(workload)]
    return "\n".join(lines) + "\n"


def _workload_lines(workload: ExperimentWorkload) -> Iterator[str]:
    given = workload.model_dump(mode="json", exclude_defaults=True)
    first = [name for name in ("name", "title", "together") if name in given]
    # always said, because they are what one looks for first
    given.setdefault("operation", workload.operation) if not {"operations", "read_fraction"} & set(given) else None
    given.setdefault("block_size", workload.block_size) if "block_sizes" not in given else None
    for name in (*first, *(name for name in sorted(given, key=_order) if name not in first)):
        yield f"{name} = {_value(name, given[name])}"


def _order(name: str) -> tuple[int, str]:
    usual = (
        "operation",
        "operations",
        "read_fraction",
        "access",
        "block_size",
        "block_sizes",
        "queue_depth",
        "job_count",
    )
    return (usual.index(name), "") if name in usual else (len(usual), name)


def _value(name: str, value: Any) -> str:
    if name in _DURATIONS:
        return _text(_duration(value))
    if name in _BYTES:
        return _text(_bytes(value))
    if name == "access":
        # a table without a kind is random to everybody but its reader
        value = {"kind": "random"} | value
    if name in ("access", "contents") and set(value) == {"kind"}:
        return _text(value["kind"])
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_plain(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_plain, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    return json.dumps(value)


def _text(text: str) -> str:
    """A TOML string; JSON writes those that TOML reads, but for the character 127."""
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f")


def _several_lines(text: str) -> str:
    lines = [_text(line)[1:-1].replace('\\"', '"').replace('"""', '""\\"') for line in text.split("\n")]
    return '"""\n' + "\n".join(lines) + '"""'


def _bytes(count: int) -> str:
    for unit, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size and count % size == 0:
            return f"{count // size}{unit}"
    return f"{count}B"


def _duration(nanoseconds: int) -> str:
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if nanoseconds and nanoseconds % size == 0:
            return f"{nanoseconds // size}{unit}"
    return f"{nanoseconds}ns"
