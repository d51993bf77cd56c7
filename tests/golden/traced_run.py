"""A stored run that never was, with traced passes: appends with the write cache on and off, and random reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from made_up_traces import (
    DURABLE_WRITE,
    READ,
    MadeUpTrace,
    appends_on_ext4,
    conduct,
    latencies,
    made_up_trace,
    random_reads,
)
from synthetic import Law, SyntheticTrial

from drivelab.analyse.summary import summarise
from drivelab.model.measurement import Measurement
from drivelab.model.trial_summary import TrialSummary
from drivelab.store.place import TrialPlace
from drivelab.store.read import StoredRun, open_run
from drivelab.store.write import RunWriter

Summarise = Callable[[Measurement], TrialSummary]
OPERATIONS = 400
REPEATS = 2
# tracing makes every operation so much slower
_COST = 1.03
_FLUSH_NS = {"on": 310_000, "off": 0}
_WRITE_NS = {"on": 41_000, "off": 163_000}
_ENVIRONMENTS = {"on": {"write_cache": "write back"}, "off": {"write_cache": "write through"}}
_TITLES = {"log-append": "4 KiB appended + fdatasync", "random-read": "4 KiB random read"}


def write_explained(
    writer: RunWriter,
    make_summary: Summarise,
    facts: Mapping[str, Any],
    *,
    levels: Sequence[str] = ("on", "off"),
    workloads: Sequence[str] = ("log-append", "random-read"),
    repeats: int = REPEATS,
    tables: Sequence[str] = ("results",),
    title: str = "",
    seed: int = 300,
    **changed: Any,
) -> None:
    """Workloads at levels of the write cache, traced.

    Parameters
    ----------
    levels, workloads : sequence of str
        Which of them.
    repeats : int
        Of each workload; the reads have one.
    tables : sequence of str
        What the experiment asks for.
    title : str
        Of every workload, instead of its own.
    seed : int
        Another one makes a run that is alike, and not the same.
    **changed
        How the traces were taken, where it is not as in `made_up_traces.conduct`.
    """
    turns = [
        (workload, level, repeat)
        for repeat in range(1, repeats + 1)
        for workload in workloads
        for level in levels
        # one repeat of the reads is enough to show a trial alone
        if repeat == 1 or workload == "log-append"
    ]
    steps = [
        {"number": step, "trial": f"{step:04}-{workload}", "levels": _levels(level), "block": repeat}
        | {"repeat": repeat, "is_reference": False}
        for step, (workload, level, repeat) in enumerate(turns, start=1)
    ]
    asked = _facts(steps, levels, workloads, seed)
    asked["experiment"]["tables"] = list(tables)
    for one in asked["experiment"]["workloads"] if title else ():
        one["title"] = title
    writer.write_run_json(dict(facts) | asked)
    for step, (workload, level, repeat) in enumerate(turns, start=1):
        trace = _trace(workload, level, seed=seed + step)
        measured = _trial(f"{step:04}-{workload}", workload, level, trace).measurement(seed=seed + step)
        measured = replace(
            measured, context=measured.context | {"trace": conduct(**_ENVIRONMENTS[level], **changed).to_json()}
        )
        with writer.trace_sink(measured.name) as sink:
            sink.keep(*trace.tables())
        place = TrialPlace(
            target="sdb",
            workload=workload,
            step=step,
            block=repeat,
            repeat=repeat,
            started_utc=f"2026-01-31T18:{step:02}:00.000+00:00",
            asked=_levels(level),
            achieved=_levels(level),
        )
        summary = make_summary(measured)
        label = f"{_TITLES[workload]}, write cache {level}"
        writer.add_trial(measured, TrialSummary(summary.name, label, summary.operation, summary.estimates), place=place)
    writer.finish(finished_utc="2026-01-31T18:30:00.000+00:00", failures={})


def traced_run(directory: Path, **options: Any) -> StoredRun:
    """Such a run on a made-up drive, stored in a new directory; the options are those of `write_explained`."""
    directory.mkdir(parents=True)
    drive = {"name": "sdb", "path": "/dev/sdb", "model": "SAMSUNG MZ7LH480HAHQ", "serial": "S45P", "transport": "sata"}
    facts = {"text": "/dev/sdb", "kind": "block_device", "drives": [drive]}
    target = {"label": "sdb", "facts_before": facts, "facts_after": facts}
    write_explained(RunWriter(directory), summarise, {"targets": [target]}, **options)
    return open_run(directory)


def _levels(level: str) -> dict[str, str]:
    return {"filesystem": "ext4", "write-cache": level}


def _trace(workload: str, level: str, seed: int) -> MadeUpTrace:
    if workload == "random-read":
        return made_up_trace(random_reads(84_000), operation=READ, operations=OPERATIONS, seed=seed)
    draw = appends_on_ext4(_FLUSH_NS[level], _WRITE_NS[level])
    return made_up_trace(draw, operation=DURABLE_WRITE, operations=OPERATIONS, seed=seed)


def _trial(name: str, workload: str, level: str, trace: MadeUpTrace) -> SyntheticTrial:
    """The timed pass: the same latencies without what tracing cost."""
    is_read = workload == "random-read"
    return SyntheticTrial(
        name,
        _law(np.array(list(latencies(trace)), np.int64)),
        durable=not is_read,
        duration_ns=400_000_000,
        device_writes=3.0,
        device_flushes=0.0 if level == "off" else 2.0,
        device_bytes_factor=1.0 if is_read else 4.0,
        path="/dev/sdb",
        device="sdb",
    )


def _law(traced_ns: np.ndarray[Any, np.dtype[np.int64]]) -> Law:
    untraced = np.round(traced_ns / _COST).astype(np.int64)
    return lambda random, count: random.choice(untraced, count)


def _facts(steps: list[dict[str, Any]], levels: Sequence[str], workloads: Sequence[str], seed: int) -> dict[str, Any]:
    return {
        "experiment": {
            "name": "explain",
            "question": "Where does the time of a write go, with the write cache on and off?",
            "design": "full",
            "workloads": [{"name": name, "title": _TITLES[name]} for name in workloads],
            "factors": [
                {"setting": "filesystem", "levels": ["ext4"]},
                {"setting": "write-cache", "levels": list(levels)},
            ],
        },
        "plan": {"seed": seed, "quick": False, "steps": steps},
        "started_utc": "2026-01-31T18:00:00.000+00:00",
        "seed": seed,
    }
