"""The page about the keys inside a run names every one that is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from drivelab.cli.main import build_program
from drivelab.model.drive import (
    BlockUse,
    DiscardFacts,
    DriveFacts,
    DriveIdentity,
    LinkFacts,
    Touchability,
    WriteCacheFacts,
)
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.measurement import DeviceCounts
from drivelab.model.plan import PREPARATIONS, Plan, PlannedStep, PlannedTarget
from drivelab.model.target import BlockLayer, FilesystemFacts, TargetFacts
from drivelab.model.trace import TraceConduct
from drivelab.model.verdict import Check, Fitness, Threshold, Verdict

PROJECT = Path(__file__).resolve().parents[3]
PAGES = [PROJECT / "docs" / name for name in ("run_keys.md", "data_format.md")]
# what their keys name is known to the experiment, the kernel or the drive, and to no page
NAMES_OF_SOMETHING = {
    *("levels", "settings", "settings_changed", "actions", "evidence", "unknown", "views", "failures", "foreign"),
    *("operations", "all_phases", "factors", "workloads", "smart_before", "smart_after"),
}
GOLDEN_RUNS = sorted((PROJECT / "tests" / "golden" / "runs").iterdir())
# golden runs are made up, with some keys of schema 1
GOLDEN_ONLY = {"versions", "python", "drivelab", "temperature_celsius", "before", "after", "seed", "written_fraction"}


def named_keys() -> set[str]:
    """Every word that the pages set as code."""
    return {word for page in PAGES for word in re.findall(r"`([\w-]+)`", page.read_text())}


def keys_of(value: Any) -> Iterator[str]:
    """The keys of nested plain data, without those that are names of something."""
    if isinstance(value, Mapping):
        for key, held in value.items():
            yield key
            if key not in NAMES_OF_SOMETHING:
                yield from keys_of(held)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for held in value:
            yield from keys_of(held)


def stored_keys(run: Path) -> set[str]:
    """The keys of run.json, and of every column of the trials that holds JSON, estimates apart."""
    found = set(keys_of(json.loads((run / "run.json").read_text())))
    trials = pq.read_table(run / "trials.parquet")  # type: ignore[no-untyped-call]
    for column in ("workload_json", "engine_json", "devices_json", "context_json", "findings_json"):
        for text in trials[column].to_pylist():
            found |= set(keys_of(json.loads(text)))
    return found


@pytest.mark.parametrize(
    "kind",
    [
        *(HostFacts, Plan, PlannedTarget, PlannedStep, Finding, Fitness, Verdict, Check, Threshold, Estimate),
        *(TargetFacts, FilesystemFacts, BlockLayer, DriveFacts, LinkFacts, WriteCacheFacts, DiscardFacts, BlockUse),
        *(DriveIdentity, Touchability, DeviceCounts, TraceConduct),
    ],
    ids=lambda kind: kind.__name__,
)
def test_every_field_of_what_is_stored_is_named(kind: type) -> None:
    assert {field.name for field in fields(kind)} <= named_keys()


def test_what_preparation_is_for_is_named() -> None:
    assert set(PREPARATIONS) <= named_keys()


@pytest.mark.parametrize(
    "options",
    [
        ["--durability", "fdatasync", "--record", "ios.parquet"],
        ["--rate", "500", "--arrivals", "poisson"],
    ],
    ids=["recorded", "open loop"],
)
def test_every_key_of_a_run_made_here_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["io", "file", "--operation", "write", "--size", "1MiB", "--count", "16", *options, "--out", "runs"]
    done = CliRunner().invoke(build_program("io"), arguments)
    assert done.exit_code in (0, 4), done.output
    (run,) = (tmp_path / "runs").iterdir()
    assert stored_keys(run) - named_keys() == set()


@pytest.mark.parametrize("run", GOLDEN_RUNS, ids=lambda run: run.name)
def test_every_key_of_a_kept_run_is_named(run: Path) -> None:
    assert stored_keys(run) - named_keys() <= GOLDEN_ONLY
