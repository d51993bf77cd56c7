"""Two experiments that never were, over numbers: queue depth and block size, and write size on two drives."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from synthetic import SyntheticTrial, log_normal

from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import parse_bytes
from drivelab.store.place import TrialPlace
from drivelab.store.write import RunWriter

Summarise = Callable[[Measurement], TrialSummary]
Levels = dict[str, str]
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
GRID_SIZES = ("4KiB", "16KiB", "64KiB", "256KiB")
# the drive serves so many I/Os at once, and moves so many bytes per s
_CHANNELS, _BYTES_PER_S = 24, 3.2e9
WRITE_SIZES = ("1", "512", "4KiB", "32KiB", "1MiB")
SHIFTS = (0, 512, 2048)
# of each drive: time of a flush with the cache on and off, and bytes per s
DRIVES = {"sdb": (780_000, 190_000, 2.6e8), "sdc": (9_600_000, 1_600_000, 1.9e8)}
_OVERLOADED = 11
# of durable writes, and of reads
_TITLES = {True: "write + fdatasync in reserved space", False: "random reads"}


def write_queue_depth_grid(writer: RunWriter, summarise: Summarise, facts: Mapping[str, Any]) -> None:
    """Random reads at seven depths and four sizes; one of the trials did not reach the drive."""
    turns = [{"queue_depth": str(depth), "block_size": size} for size in GRID_SIZES for depth in DEPTHS]
    writer.write_run_json(
        dict(facts) | _facts("queue-depth-grid", "How many I/Os are worth keeping outstanding?", turns)
    )
    told: list[Finding] = []
    for step, levels in enumerate(turns, start=1):
        trial = _read_trial(step, int(levels["queue_depth"]), parse_bytes(levels["block_size"]))
        found = [_invalid(trial.name)] if step == _OVERLOADED else []
        told += found
        _add(writer, summarise, trial, step, "sdb", levels, found)
    writer.finish(told, finished_utc="2026-02-01T11:00:00.000+00:00", failures={})


def write_write_sizes(writer: RunWriter, summarise: Summarise, facts: Mapping[str, Any]) -> None:
    """Durable writes of five sizes from three places, with the write cache on and off, on two drives."""
    turns = [
        {"block_size": size, "shift": str(shift), "write-cache": cache}
        for size, shift, cache in itertools.product(WRITE_SIZES, SHIFTS, ("on", "off"))
    ]
    writer.write_run_json(dict(facts) | _facts("write-size", "How does a durable write depend on its size?", turns))
    for step, (drive, levels) in enumerate(itertools.product(DRIVES, turns), start=1):
        _add(writer, summarise, _write_trial(step, drive, levels), step, drive, levels, [])
    writer.finish(finished_utc="2026-02-01T13:00:00.000+00:00", failures={})


def _read_trial(step: int, depth: int, size: int) -> SyntheticTrial:
    alone_ns = 70_000 + size / _BYTES_PER_S * 1e9
    # as many as there are channels, or bytes, for: from there on each waits for the others
    served = min(_CHANNELS, alone_ns / (size / _BYTES_PER_S * 1e9))
    median = alone_ns * math.sqrt(1 + (depth / served) ** 2)
    return SyntheticTrial(
        f"{step:04}-random-read",
        log_normal(median, 0.11),
        block_size_bytes=size,
        queue_depth=depth,
        duration_ns=200_000_000,
        path="/dev/sdb",
        device="sdb",
    )


def _write_trial(step: int, drive: str, levels: Mapping[str, str]) -> SyntheticTrial:
    cached_ns, direct_ns, bytes_per_s = DRIVES[drive]
    size, shift = parse_bytes(levels["block_size"]), int(levels["shift"])
    flush_ns = cached_ns if levels["write-cache"] == "on" else direct_ns
    # what does not begin at a page is read, changed and written
    torn = 1.35 if shift % 4096 and size >= 4096 else 1.0
    return SyntheticTrial(
        f"{step:04}-reserved",
        log_normal(torn * (flush_ns + size / bytes_per_s * 1e9), 0.07),
        block_size_bytes=size,
        durable=True,
        duration_ns=300_000_000,
        device_flushes=1.0 if levels["write-cache"] == "on" else 0.0,
        device_bytes_factor=max(1.0, 4096 / size),
        path=f"/dev/{drive}",
        device=drive,
    )


def _invalid(trial: str) -> Finding:
    return Finding("queue-not-filled", "invalid", "fewer I/Os were outstanding than asked for", trial)


def _add(
    writer: RunWriter,
    summarise: Summarise,
    trial: SyntheticTrial,
    step: int,
    drive: str,
    levels: Levels,
    findings: Sequence[Finding],
) -> None:
    measured = trial.measurement(seed=400 + step)
    summary = summarise(measured)
    label = ", ".join([_TITLES[trial.durable], *levels.values()])
    started = f"2026-02-01T{10 + step // 60:02}:{step % 60:02}:00.000+00:00"
    workload = trial.name.split("-", 1)[1]
    place = TrialPlace(drive, workload, step, 1, 1, started, levels, {})
    labelled = TrialSummary(summary.name, label, summary.operation, summary.estimates)
    writer.add_trial(measured, labelled, place=place, findings=list(findings))


def _facts(name: str, question: str, turns: Sequence[Levels]) -> dict[str, Any]:
    is_write = "shift" in turns[0]
    workload = "reserved" if is_write else "random-read"
    targets = tuple(DRIVES) if is_write else ("sdb",)
    factors = []
    for factor in turns[0]:
        levels = list(dict.fromkeys(turn[factor] for turn in turns))
        is_setting = factor == "write-cache"
        key = {"setting": factor} if is_setting else {"setting": "workload", "key": factor}
        factors.append(key | {"levels": levels})
    steps = [
        {"number": step, "trial": f"{step:04}-{workload}", "levels": levels, "block": 1, "repeat": 1}
        | {"is_reference": False}
        for step, (_, levels) in enumerate(itertools.product(targets, turns), start=1)
    ]
    return {
        "experiment": {
            "name": name,
            "question": question,
            "tables": ["results"],
            "workloads": [{"name": workload, "title": _TITLES[is_write]}],
            "factors": factors,
        },
        "plan": {"seed": 5, "quick": False, "steps": steps},
        "started_utc": "2026-02-01T10:00:00.000+00:00",
        "seed": 5,
    }
