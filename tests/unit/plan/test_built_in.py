"""The plans of the built-in experiments: their quick form fits a scratch drive, their full form a real one."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace

import pytest

from drivelab.experiments.load import built_in_names, load_experiment
from drivelab.model.errors import DrivelabError
from drivelab.model.plan import Plan
from drivelab.model.setting import SettingFacts
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan

NAMES = built_in_names()
TB = 10**12
QUICK_NS = 120 * 10**9
PLANNING_S = 2.0
Settings = Mapping[str, SettingFacts]
PURGEABLE = {"purge": SettingFacts("purge", "none", levels=("none", "any"))}


@pytest.fixture
def large(disk: TargetFacts) -> TargetFacts:
    """A drive of 1 TB of whose settings nothing is known."""
    return replace(disk, size_bytes=TB)


@pytest.mark.parametrize("name", NAMES)
def test_the_quick_form_fits_a_scratch_drive_of_1_gib_and_two_minutes(
    name: str, scratch: TargetFacts, no_settings: Settings
) -> None:
    plan = make_plan(load_experiment(name), [scratch], seed=1, quick=True, settings=[no_settings])
    assert plan.steps
    assert plan.expected_ns <= QUICK_NS
    assert plan.destroys == ()


@pytest.mark.parametrize("name", [name for name in NAMES if load_experiment(name).requires == "anything"])
def test_the_quick_form_fits_a_directory_whose_user_is_not_root(
    name: str, directory: TargetFacts, no_settings: Settings
) -> None:
    plan = make_plan(
        load_experiment(name), [directory], seed=1, quick=True, settings=[no_settings], skip_unavailable=True
    )
    assert plan.steps
    assert all(step.filesystem is None and not step.settings for step in plan.steps)


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_fit_is_refused_and_not_cut_down(name: str, scratch: TargetFacts, no_settings: Settings) -> None:
    # one block of 4 KiB is all that random reads need, and what goes round needs no more than its largest
    is_modest = name in ("queue-depth", "burst") or name.startswith("pts-")
    tiny = replace(scratch, size_bytes=2**11 if is_modest else 4 * 2**20)
    with pytest.raises(DrivelabError) as refusal:
        make_plan(load_experiment(name), [tiny], seed=1, quick=True, settings=[no_settings])
    assert refusal.value.code == "P705"
    assert "needs" in refusal.value.what


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("name", NAMES)
def test_it_is_planned_quickly_and_survives_being_stored(name: str, quick: bool, large: TargetFacts) -> None:
    # the processor's time: what others do meanwhile is not the plan's
    begin = time.process_time()
    plan = make_plan(load_experiment(name), [large], seed=1, quick=quick, settings=[PURGEABLE])
    document = plan.to_json()
    assert time.process_time() - begin < PLANNING_S
    assert Plan.from_json(json.loads(json.dumps(document))) == plan


@pytest.mark.parametrize("name", NAMES)
def test_each_needs_the_consent_of_a_drives_owner(name: str, large: TargetFacts) -> None:
    plan = make_plan(load_experiment(name), [large], seed=1, quick=True, settings=[PURGEABLE])
    # burst only reads
    assert bool(plan.destroys) == bool(plan.targets[0].erase_argument) == (name != "burst")


def test_large_read_writes_a_drive_once_and_nothing_else(large: TargetFacts, scratch: TargetFacts) -> None:
    asked = load_experiment("large-read")
    plan = make_plan(asked, [large], seed=1)
    assert plan.preparation == {"precondition": TB}
    assert sum(step.bytes_written for step in plan.steps) == 0
    # a scratch drive is full already
    assert make_plan(asked, [scratch], seed=1, quick=True).preparation == {"scratch": 2**30}


def test_write_size_is_the_figure_of_its_source(large: TargetFacts) -> None:
    plan = make_plan(load_experiment("write-size"), [large], seed=1)
    reserved = [step for step in plan.steps if step.workload == "reserved"]
    # 21 sizes x 2 offsets x write cache on or off x 5, through the page cache
    assert len(reserved) == 21 * 2 * 2 * 5 == 420
    assert not any(step.pattern.direct for step in reserved)
    assert {step.pattern.block_size for step in reserved} == {2**n for n in range(21)}
    assert {step.pattern.shift for step in reserved} == {0, 512}
    # the file is reserved as the program of the source does it: offset + size x count
    first = next(step.pattern for step in reserved if (step.pattern.block_size, step.pattern.shift) == (4096, 512))
    assert first.file_size == 512 + 4096 * 1000


def test_settings_scan_changes_one_setting_at_a_time(large: TargetFacts) -> None:
    plan = make_plan(load_experiment("settings-scan"), [large], seed=1)
    base = {"filesystem": "ext4"}
    for step in plan.steps:
        changed = {name for name, level in step.levels.items() if level != base.get(name, "as-found")}
        assert len(changed) <= 1
        assert not (step.is_reference and changed)


def test_fill_level_writes_twice_the_capacity_to_each_share(large: TargetFacts) -> None:
    plan = make_plan(load_experiment("fill-level"), [large], seed=1)
    block = 8 * 2**20
    assert [step.bytes_written for step in plan.steps] == [2 * TB // block * block] * 5
    assert {step.actions["trim"] for step in plan.steps} == {"device"}
