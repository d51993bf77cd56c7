"""What a target cannot have is refused, or left out and named: never quietly not measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from drivelab.model.drive import DiscardFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.plan import Plan
from drivelab.model.setting import SettingFacts
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan

from .conftest import MakeExperiment

WRITE_CACHE = {"setting": "write-cache", "levels": ["on", "off"]}
SCHEDULERS = {"setting": "scheduler", "levels": ["as-found", "none", "bfq"]}
KNOWN = {
    "write-cache": SettingFacts("write-cache", value="on", levels=("on", "off")),
    "scheduler": SettingFacts("scheduler", value="none", levels=("none", "mq-deadline")),
}
Settings = Mapping[str, SettingFacts]


def measured(plan: Plan, factor: str) -> set[str]:
    """Levels of a factor that a plan measures."""
    return {step.levels[factor] for step in plan.steps}


def test_settings_reach_the_steps_and_are_told_apart_from_other_levels(
    experiment: MakeExperiment, disk: TargetFacts
) -> None:
    plan = make_plan(experiment(factors=[WRITE_CACHE]), [disk], seed=1, settings=[KNOWN])
    assert {(step.levels["write-cache"], step.settings["write-cache"]) for step in plan.steps} == {
        ("on", "on"),
        ("off", "off"),
    }
    assert all(not step.actions for step in plan.steps)


@pytest.mark.provokes("P707")
def test_a_level_that_is_not_to_be_had_is_refused_with_its_reason(
    experiment: MakeExperiment, disk: TargetFacts
) -> None:
    with pytest.raises(DrivelabError) as refusal:
        make_plan(experiment(factors=[SCHEDULERS]), [disk], seed=1, settings=[KNOWN])
    assert refusal.value.code == "P707"
    assert refusal.value.what == "scheduler bfq for Samsung 850 PRO 3456: it can be none, mq-deadline"
    assert "--skip-unavailable" in refusal.value.do


def test_all_levels_that_are_refused_for_one_reason_are_told_in_one_sentence(
    experiment: MakeExperiment, disk: TargetFacts, no_settings: Settings
) -> None:
    with pytest.raises(DrivelabError) as refusal:
        make_plan(experiment(factors=[WRITE_CACHE, SCHEDULERS]), [disk], seed=1, settings=[no_settings])
    told = "write-cache on, off and scheduler none, bfq for Samsung 850 PRO 3456: it has none"
    assert refusal.value.what == told


def test_factors_that_stay_as_found_for_one_reason_share_a_sentence(
    experiment: MakeExperiment, scratch: TargetFacts, no_settings: Settings
) -> None:
    plan = make_plan(experiment(factors=[WRITE_CACHE, SCHEDULERS]), [scratch], seed=1, settings=[no_settings])
    assert plan.left_out == (
        "write-cache on, off for scratch-1GiB: it has none; it stays as it was found",
        "scheduler none, bfq for scratch-1GiB: it has none",
    )
    no_level = {**SCHEDULERS, "levels": ["none", "bfq"]}
    plan = make_plan(experiment(factors=[WRITE_CACHE, no_level]), [scratch], seed=1, settings=[no_settings])
    told = "write-cache on, off and scheduler none, bfq for scratch-1GiB: it has none; they stay as they were found"
    assert plan.left_out == (told,)


def test_it_is_left_out_and_named_when_the_user_says_so(experiment: MakeExperiment, disk: TargetFacts) -> None:
    plan = make_plan(experiment(factors=[SCHEDULERS]), [disk], seed=1, settings=[KNOWN], skip_unavailable=True)
    assert measured(plan, "scheduler") == {"as-found", "none"}
    assert plan.left_out == ("scheduler bfq for Samsung 850 PRO 3456: it can be none, mq-deadline",)


def test_a_scratch_drive_leaves_out_what_it_has_not_without_being_told(
    experiment: MakeExperiment, scratch: TargetFacts
) -> None:
    plan = make_plan(experiment(factors=[SCHEDULERS]), [scratch], seed=1, settings=[KNOWN])
    assert measured(plan, "scheduler") == {"as-found", "none"}
    assert len(plan.left_out) == 1


def test_a_file_system_that_cannot_be_made_is_left_out_and_named(
    experiment: MakeExperiment, scratch: TargetFacts, disk: TargetFacts
) -> None:
    asked = experiment(factors=[{"setting": "filesystem", "levels": ["raw", {"type": "ext4"}, {"type": "xfs"}]}])
    reason = "mkfs.xfs is not installed: apt-get install xfsprogs"
    known = {"filesystem": SettingFacts("filesystem", views={"xfs": reason})}
    plan = make_plan(asked, [scratch], seed=1, settings=[known])
    assert measured(plan, "filesystem") == {"raw", "ext4"}
    assert plan.left_out[0].endswith(f": {reason}")
    with pytest.raises(DrivelabError, match="apt-get install xfsprogs"):
        make_plan(asked, [disk], seed=1, settings=[known])


def test_a_factor_without_any_level_stays_as_found_and_the_others_are_measured(
    experiment: MakeExperiment, scratch: TargetFacts, no_settings: Settings
) -> None:
    sizes = {"setting": "workload", "key": "block_size", "levels": ["4KiB", "8KiB"]}
    plan = make_plan(experiment(factors=[WRITE_CACHE, sizes]), [scratch], seed=1, settings=[no_settings])
    assert {tuple(step.levels.items()) for step in plan.steps} == {
        (("write-cache", "as-found"), ("block_size", size)) for size in ("4KiB", "8KiB")
    }
    assert len(plan.steps) == 2 * 4
    # nobody could read it back: it is not asked for
    assert all(not step.settings for step in plan.steps)
    assert plan.left_out == ("write-cache on, off for scratch-1GiB: it has none; it stays as it was found",)


def test_the_level_that_a_setting_has_is_to_be_had_though_it_cannot_be_set(
    experiment: MakeExperiment, disk: TargetFacts
) -> None:
    known = {"write-cache": SettingFacts("write-cache", value="off", reason="the drive has no volatile cache")}
    plan = make_plan(experiment(factors=[WRITE_CACHE]), [disk], seed=1, settings=[known], skip_unavailable=True)
    assert measured(plan, "write-cache") == {"off"}
    assert plan.left_out == ("write-cache on for Samsung 850 PRO 3456: the drive has no volatile cache",)


def test_what_nobody_knows_about_is_tried(experiment: MakeExperiment, disk: TargetFacts) -> None:
    plan = make_plan(experiment(factors=[SCHEDULERS]), [disk], seed=1)
    assert measured(plan, "scheduler") == {"as-found", "none", "bfq"}


def test_as_found_is_asked_for_where_it_can_be_read(experiment: MakeExperiment, disk: TargetFacts) -> None:
    plan = make_plan(experiment(factors=[SCHEDULERS]), [disk], seed=1, settings=[KNOWN], skip_unavailable=True)
    assert {step.settings["scheduler"] for step in plan.steps} == {"as-found", "none"}


@pytest.mark.parametrize("kind", ["directory", "partition"])
def test_a_device_is_trimmed_only_where_there_is_one(
    experiment: MakeExperiment, directory: TargetFacts, partition: TargetFacts, kind: str
) -> None:
    target = {"directory": directory, "partition": partition}[kind]
    asked = experiment(factors=[{"setting": "trim", "levels": ["none", "device"]}])
    if kind == "partition":
        assert measured(make_plan(asked, [target], seed=1), "trim") == {"none", "device"}
        return
    with pytest.raises(DrivelabError, match="the target is no block device"):
        make_plan(asked, [target], seed=1)


@pytest.mark.parametrize(
    ("action", "level"), [("trim", "device"), ("trim", "fstrim"), ("purge", "nvme-format")], ids=lambda text: text
)
def test_a_drive_without_discard_or_purge_is_not_trimmed_nor_purged(
    experiment: MakeExperiment, disk: TargetFacts, action: str, level: str
) -> None:
    drive = replace(disk.drives[0], discard=DiscardFacts(0, 0))
    target = replace(disk, drives=(drive,))
    factors = [{"setting": action, "levels": ["none", level]}, {"setting": "filesystem", "levels": ["ext4"]}]
    with pytest.raises(DrivelabError) as refusal:
        make_plan(experiment(factors=factors), [target], seed=1)
    assert refusal.value.what.startswith(f"{action} {level} for")
    plan = make_plan(experiment(factors=factors), [target], seed=1, skip_unavailable=True)
    assert measured(plan, action) == {"none"}
    assert {step.actions[action] for step in plan.steps} == {"none"}


def test_an_action_that_cannot_be_done_at_all_is_not_done_and_named(
    experiment: MakeExperiment, directory: TargetFacts
) -> None:
    asked = experiment(factors=[{"setting": "trim", "levels": ["device"]}])
    plan = make_plan(asked, [directory], seed=1, skip_unavailable=True)
    assert {(step.levels["trim"], step.actions["trim"]) for step in plan.steps} == {("none", "none")}
    (sentence,) = plan.left_out
    assert sentence == "trim device for /srv/data: the target is no block device; it stays as it was found"


def test_fstrim_needs_a_file_system_on_the_device(experiment: MakeExperiment, disk: TargetFacts) -> None:
    asked = experiment(factors=[{"setting": "trim", "levels": ["none", "fstrim"]}])
    with pytest.raises(DrivelabError, match="no file system is made on it") as refusal:
        make_plan(asked, [disk], seed=1)
    assert refusal.value.code == "P707"


@pytest.mark.provokes("P704")
def test_a_directory_cannot_have_another_file_system(experiment: MakeExperiment, directory: TargetFacts) -> None:
    asked = experiment(factors=[{"setting": "filesystem", "levels": ["raw", "ext4"]}])
    with pytest.raises(DrivelabError) as refusal:
        make_plan(asked, [directory], seed=1)
    assert refusal.value.code == "P704"
    assert "--skip-unavailable" in refusal.value.do


def test_the_one_file_system_of_an_experiment_is_that_of_the_directory(
    experiment: MakeExperiment, directory: TargetFacts
) -> None:
    asked = experiment(factors=[{"setting": "filesystem", "levels": ["ext4"]}], reference={"workload": "w"})
    plan = make_plan(asked, [directory], seed=1)
    assert all(step.filesystem is None and step.levels == {"filesystem": "as-found"} for step in plan.steps)
    assert plan.notes == ("no ext4 is made: /srv/data is measured on the file system it lies on",)
    with pytest.raises(DrivelabError, match="lies on one already"):
        make_plan(experiment(factors=[{"setting": "filesystem", "levels": ["raw"]}]), [directory], seed=1)


def test_a_setting_that_nobody_can_change_is_measured_at_the_level_it_has(
    experiment: MakeExperiment, disk: TargetFacts
) -> None:
    known = {"write-cache": SettingFacts("write-cache", value="on", reason="the host lets nobody switch it")}
    plan = make_plan(experiment(factors=[WRITE_CACHE]), [disk], seed=1, settings=[known])
    assert measured(plan, "write-cache") == {"on"}
    assert "write-cache of Samsung 850 PRO 3456 stays on: the host lets nobody switch it" in plan.notes
    assert plan.targets[0].changes == ""
    # what was asked for alone is not replaced by another
    only = {"setting": "write-cache", "levels": ["off"]}
    with pytest.raises(DrivelabError, match="the host lets nobody"):
        make_plan(experiment(factors=[only]), [disk], seed=1, settings=[known])


def test_a_directory_keeps_its_file_system_when_the_user_says_so(
    experiment: MakeExperiment, directory: TargetFacts
) -> None:
    factors = [
        {"setting": "filesystem", "levels": ["raw", "ext4", "xfs"]},
        {"setting": "mount", "levels": ["nodiscard", "discard"]},
    ]
    plan = make_plan(experiment(factors=factors), [directory], seed=1, skip_unavailable=True)
    assert len(plan.steps) == 4
    assert all(step.filesystem is None and step.levels == {"filesystem": "as-found"} for step in plan.steps)
    (sentence,) = plan.left_out
    assert sentence.startswith("filesystem raw, ext4, xfs for /srv/data: it lies on one already")


@pytest.mark.provokes("P708")
def test_a_plan_without_a_single_trial_is_refused_with_the_reasons(
    experiment: MakeExperiment, write: dict[str, Any], scratch: TargetFacts
) -> None:
    sizes = {"setting": "workload", "key": "block_size", "levels": ["1", "100"]}
    asked = experiment(factors=[sizes], workloads=[write | {"direct": True}])
    with pytest.raises(DrivelabError) as refusal:
        make_plan(asked, [scratch], seed=1)
    assert refusal.value.code == "P708"
    assert "whole blocks of 512 B" in refusal.value.what


def test_a_reference_that_is_not_to_be_had_stays_as_found(
    experiment: MakeExperiment, scratch: TargetFacts, no_settings: Settings
) -> None:
    reference = {"workload": "w", "levels": {"write-cache": "on"}}
    asked = experiment(factors=[WRITE_CACHE], reference=reference)
    plan = make_plan(asked, [scratch], seed=1, settings=[no_settings])
    assert [step.levels for step in plan.steps if step.is_reference] == [{"write-cache": "as-found"}] * 5
