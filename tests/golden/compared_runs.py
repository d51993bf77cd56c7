"""Pairs of runs that never were, with a known ratio between them, for the tests of the comparison."""

from __future__ import annotations

import functools
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "python")]

from synthetic import SyntheticTrial, log_normal  # noqa: E402

from drivelab.analyse.summary import summarise  # noqa: E402
from drivelab.model.finding import Finding  # noqa: E402
from drivelab.store.place import TrialPlace  # noqa: E402
from drivelab.store.read import StoredRun, open_run  # noqa: E402
from drivelab.store.write import RunWriter  # noqa: E402

MEDIAN_NS = 300_000
NOISE = 0.01
KERNEL = "6.12.41"
_HOST = {"hostname": "pike", "distribution": "Debian GNU/Linux 13 (trixie)", "cpu_model": "AMD EPYC 7543"}


def write_compared_run(directory: Path, seed: int, *, status: str = "complete", **how: Any) -> StoredRun:
    """The run of `_write`; one that was written before, and described by words and numbers, is copied."""
    if all(isinstance(value, str | int | float) for value in how.values()):
        shutil.copytree(_written(seed, **how), directory)
    else:
        _write(directory, seed, **how)
    run = open_run(directory)
    run.run_json["status"] = status
    return run


@functools.cache
def _written(seed: int, **how: Any) -> Path:
    """Where such a run lies until this process ends."""
    directory = Path(_kept().name) / str(_written.cache_info().misses)
    _write(directory, seed, **how)
    return directory


@functools.cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _write(
    directory: Path,
    seed: int,
    *,
    factor: float = 1.0,
    repeats: int = 5,
    noise: float = NOISE,
    run_noise: float = 0.0,
    flushes: float = 1.0,
    backend: str = "sync",
    kernel: str = KERNEL,
    serial: str = "S45P",
    firmware: str = "GXA7801Q",
    filesystems: Sequence[str] = ("ext4",),
    findings: Sequence[Finding] = (),
    workload: str = "log-append",
    title: str = "4 KiB appended + fdatasync",
    label: str = "sdb",
    achieved: Mapping[str, str] | None = None,
    **changes: Any,
) -> None:
    """A run of durable writes, each repeat with a median that scatters around `factor` times the same one."""
    directory.mkdir(parents=True)
    writer = RunWriter(directory)
    random = np.random.default_rng(seed)
    facts = _facts(seed, kernel, serial, firmware, label, workload, title, filesystems)
    writer.write_run_json(facts)
    of_run = factor * np.exp(run_noise * random.normal())
    step = 0
    for repeat in range(1, repeats + 1):
        for filesystem in filesystems:
            step += 1
            median = MEDIAN_NS * of_run * np.exp(noise * random.normal())
            trial = SyntheticTrial(
                f"{step:04}-{workload}",
                log_normal(float(median), 0.05),
                durable=True,
                duration_ns=300_000_000,
                device_flushes=flushes,
                path="/dev/sdb",
                device="sdb",
            )
            measured = replace(trial, **changes).measurement(seed=100 * seed + step)
            engine = measured.engine | {"backend": {"name": backend, "reason": ""}}
            measured = replace(measured, engine=engine, context=measured.context | {"kernel_release": kernel})
            levels = {"filesystem": filesystem}
            started = f"2026-01-31T12:{step:02}:00.000+00:00"
            place = TrialPlace(label, workload, step, repeat, repeat, started, levels, achieved or levels)
            told = [replace(one, trial=trial.name) for one in findings]
            writer.add_trial(measured, summarise(measured), place=place, findings=told)
    writer.finish(list(findings), finished_utc="2026-01-31T13:00:00.000+00:00", failures={})


def _facts(
    seed: int,
    kernel: str,
    serial: str,
    firmware: str,
    label: str,
    workload: str,
    title: str,
    filesystems: Sequence[str],
) -> dict[str, Any]:
    drive = {"name": "sdb", "path": "/dev/sdb", "model": "SAMSUNG MZ7LH480HAHQ", "firmware": firmware}
    drive |= {"serial": serial, "serials": [serial], "size_bytes": 480103981056, "is_rotational": False}
    target = {"text": "/dev/sdb", "kind": "block_device", "drives": [drive]}
    return {
        "experiment": {
            "name": "log",
            "question": "How long does a log write take?",
            "workloads": [{"name": workload, "title": title}],
            "factors": [{"setting": "filesystem", "levels": list(filesystems)}],
        },
        "plan": {"seed": 1, "quick": False, "steps": []},
        "host": _HOST | {"kernel_release": kernel},
        "drivelab_version": "0.1.0",
        "targets": [{"label": label, "facts_before": target, "facts_after": target}],
        # each is another run, and no copy
        "started_utc": f"2026-01-31T12:00:00.{seed:03}+00:00",
        "seed": 1,
    }
