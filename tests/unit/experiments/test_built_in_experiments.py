"""The built-in experiments and what is said about them elsewhere agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drivelab.experiments.load import built_in_names, load_experiment
from drivelab.model.factor import ACTION_LEVELS
from drivelab.model.need import Need
from drivelab.model.plan import Plan
from drivelab.model.setting import SETTING_NAMES, SettingFacts
from drivelab.model.target import BlockLayer, TargetFacts
from drivelab.model.units import format_bytes
from drivelab.model.workload import FileState
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.needs.load import load_need
from drivelab.plan.make import make_plan

DOCS = Path(__file__).resolve().parents[3] / "docs"
NAMES = built_in_names()
NO_SETTINGS = {name: SettingFacts(name, reason="it has none") for name in SETTING_NAMES}
LAYER = BlockLayer("sdx", "/dev/sdx", "8:0", "disk", 10**12, 0, 512, 4096, "write back", True, False, False, "none")


def log_of(name: str) -> WorkloadPattern:
    """How `database-log` writes the log of a program."""
    workloads = load_experiment("database-log").workloads
    return next(workload for workload in workloads if workload.name == name).pattern()


def first_trial(need: Need) -> str:
    """The trial of a check that judges a need first of all."""
    return need.thresholds[0].trial


@pytest.mark.parametrize("name", ["etcd", "zookeeper"])
def test_a_log_is_written_in_the_size_that_a_check_judges_it_by(name: str) -> None:
    pattern = log_of(name)
    assert first_trial(load_need(name)) == f"sync-write-{pattern.block_size}"
    assert pattern.durability == "fdatasync"
    assert (pattern.backend, pattern.direct, pattern.queue_depth) == ("sync", False, 1)


@pytest.mark.parametrize(
    ("name", "state"),
    [("etcd", "preallocated"), ("postgres", "overwrite"), ("zookeeper", "sparse"), ("kafka", "append")],
)
def test_each_log_begins_in_the_file_that_its_program_makes(name: str, state: FileState) -> None:
    assert log_of(name).file_state == state


def test_kafka_syncs_when_its_file_is_full_and_not_before() -> None:
    pattern = log_of("kafka")
    assert (pattern.durability, pattern.sync_every_writes, pattern.bytes) == ("fsync", "end", 2**30)


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_has_a_page_that_says_what_it_varies_and_issues(name: str) -> None:
    experiment = load_experiment(name)
    page = (DOCS / "experiments" / f"{name}.md").read_text()
    for heading in ("## What is varied and what is issued", "## How to read the result", "## What it can't tell"):
        assert heading in page
    assert "**Source.**" in page
    assert f"drivelab run {name} scratch:1GiB --quick" in page
    told = set(re.findall(r"`([\w-]+)`", page))
    assert {factor.name for factor in experiment.factors} <= told
    assert {workload.name for workload in experiment.workloads} <= told


@pytest.mark.parametrize("name", NAMES)
def test_a_page_tells_the_steps_and_the_bytes_of_its_plans(name: str) -> None:
    page = (DOCS / "experiments" / f"{name}.md").read_text()
    plans = [plan_of(name, quick=quick) for quick in (False, True)]
    told = dict(re.findall(r"^\| (repeats|steps|writes|preparation) \| (.+) \|$", page, re.MULTILINE))
    written = [format_bytes(plan.bytes_written - plan.preparation_bytes) for plan in plans]
    prepared = [format_bytes(plan.preparation_bytes) for plan in plans]
    # how many steps a loop device has depends on its kernel's settings
    if name == "settings-scan":
        assert told["steps"].startswith(f"{len(plans[0].steps)} |")
        assert told["writes"].startswith(f"{written[0]} |")
        assert told["preparation"].startswith(f"{prepared[0]} |")
    else:
        assert told["steps"] == " | ".join([str(len(plan.steps)) for plan in plans])
        assert told["writes"] == " | ".join(written)
        assert told["preparation"] == " | ".join(prepared)
    repeats = load_experiment(name).repeats
    assert told["repeats"] == f"{repeats.full} | {repeats.quick}"


def plan_of(name: str, *, quick: bool) -> Plan:
    """The plan on a drive of 1 TB with every setting, or the quick one on a scratch drive without any."""
    scratch = TargetFacts("scratch:1GiB", "scratch", "", False, None, (), (), 2**30, 512, False)
    drive = TargetFacts("/dev/sdx", "block_device", "/dev/sdx", True, None, (LAYER,), (), 10**12, 512, False)
    done = ("trim", "purge")
    known = NO_SETTINGS if quick else {name: SettingFacts(name, levels=ACTION_LEVELS[name]) for name in done}
    return make_plan(load_experiment(name), [scratch if quick else drive], seed=1, quick=quick, settings=[known])


@pytest.mark.parametrize("name", NAMES)
def test_a_question_can_be_put_before_several_drives(name: str) -> None:
    said, *after_it = re.split(r"\bit\b", load_experiment(name).question)
    assert not after_it or "a drive" in said


@pytest.mark.parametrize("name", NAMES)
def test_the_page_and_the_file_ask_the_same(name: str) -> None:
    page = (DOCS / "experiments" / f"{name}.md").read_text()
    assert page.startswith(f"# {name}: {load_experiment(name).question}\n")


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_is_linked_from_the_index(name: str) -> None:
    assert f"(experiments/{name}.md)" in (DOCS / "index.md").read_text()


def test_nothing_is_compressible_or_a_repeat() -> None:
    for name in NAMES:
        for workload in load_experiment(name).workloads:
            contents = workload.pattern().contents
            assert (contents.kind, contents.compressible_fraction, contents.duplicate_fraction) == ("random", 0, 0)
