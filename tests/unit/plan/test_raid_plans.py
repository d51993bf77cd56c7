"""The plan of a RAID set tells what each member loses, who has to consent, and what the set cannot have."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from drivelab.inventory.raid import resolve_raid
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.plan import Plan
from drivelab.model.setting import SettingFacts
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan

from .conftest import GIB, MakeExperiment, layer

READ = {"name": "r", "operation": "read", "access": "random", "count": 10, "file_size": "1MiB"}
NO_SCHEDULER = {"scheduler": SettingFacts("scheduler", reason="3 drives lie beneath")}


def member(drive: DriveFacts, name: str, *, is_rotational: bool = False) -> TargetFacts:
    """A drive of its own that holds nothing."""
    serial = f"SERIAL-{name}"
    touch = replace(drive.touch, verdict="free", erase_argument=serial)
    use = replace(drive.use, name=name, contents="", children=())
    own = replace(drive, name=name, path=f"/dev/{name}", serials=(serial,), touch=touch, use=use)
    layers = (layer(name, "disk", is_rotational=is_rotational),)
    path = f"/dev/{name}"
    return TargetFacts(path, "block_device", path, True, None, layers, (own,), 256 * 10**9, 512, False)


@pytest.fixture
def drives(drive: DriveFacts) -> dict[str, TargetFacts]:
    """Three empty drives."""
    return {f"/dev/{name}": member(drive, name) for name in ("sdc", "sdd", "sde")}


@pytest.fixture
def raid(drives: dict[str, TargetFacts]) -> TargetFacts:
    """A RAID-5 of the three."""
    return resolve_raid(f"raid5:{','.join(drives)}", drives.__getitem__)


@pytest.fixture
def scratch_raid(scratch: TargetFacts) -> TargetFacts:
    """A RAID-5 of scratch drives."""
    return resolve_raid("raid5:3*scratch:1GiB", lambda _: scratch)


def test_every_member_is_lost_and_needs_consent_even_where_nothing_is_written(
    experiment: MakeExperiment, raid: TargetFacts
) -> None:
    plan = make_plan(experiment(workloads=[READ]), [raid], seed=1)
    target = plan.targets[0]
    assert (target.kind, target.label, target.pace) == ("raid", "raid5-sdc-sdd-sde", "flash")
    assert target.erase_arguments == ("SERIAL-sdc", "SERIAL-sdd", "SERIAL-sde")
    assert len(plan.destroys) == 3
    assert plan.destroys[0].startswith("everything on /dev/sdc (")
    assert not target.is_filled
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_scratch_members_need_no_consent_and_are_filled(experiment: MakeExperiment, scratch_raid: TargetFacts) -> None:
    keys = {"factors": [{"setting": "precondition", "levels": ["sequential"]}], "workloads": [READ]}
    plan = make_plan(experiment(**keys), [scratch_raid], seed=1)
    target = plan.targets[0]
    assert (target.label, target.pace, target.erase_arguments, target.destroys) == ("raid5-3x1GiB", "loop", (), ())
    assert plan.preparation == {"scratch": 3 * GIB}
    assert target.is_filled


def test_the_notes_of_the_set_are_those_of_the_plan(experiment: MakeExperiment, raid: TargetFacts) -> None:
    notes = make_plan(experiment(), [raid], seed=1).notes
    assert any("--assume-clean" in note for note in notes)
    assert any("those of all members together" in note for note in notes)


def test_settings_of_a_drive_are_left_out_with_the_reason(experiment: MakeExperiment, raid: TargetFacts) -> None:
    keys = {"factors": [{"setting": "scheduler", "levels": ["none", "mq-deadline"]}]}
    plan = make_plan(experiment(**keys), [raid], seed=1, settings=[NO_SCHEDULER])
    assert {step.levels["scheduler"] for step in plan.steps} == {"as-found"}
    assert plan.left_out == (
        "scheduler none, mq-deadline for raid5-sdc-sdd-sde: 3 drives lie beneath; it stays as it was found",
    )


@pytest.mark.parametrize(("level", "can_be_trimmed"), [("raid0", True), ("raid1", True), ("raid5", False)])
def test_sets_with_parity_are_not_trimmed(
    experiment: MakeExperiment, drives: dict[str, TargetFacts], level: str, *, can_be_trimmed: bool
) -> None:
    raid = resolve_raid(f"{level}:{','.join(drives)}", drives.__getitem__)
    keys = {"factors": [{"setting": "trim", "levels": ["none", "device"]}]}
    plan = make_plan(experiment(**keys), [raid], seed=1)
    assert {step.levels["trim"] for step in plan.steps} == {"none", *(["device"] if can_be_trimmed else [])}


def test_file_systems_are_made_on_the_set(experiment: MakeExperiment, raid: TargetFacts) -> None:
    keys = {"factors": [{"setting": "filesystem", "levels": ["raw", "ext4"]}]}
    plan = make_plan(experiment(**keys, requires="device"), [raid], seed=1)
    assert {step.levels["filesystem"] for step in plan.steps} == {"raw", "ext4"}
    assert plan.preparation["filesystem"] > 0


def test_one_disk_that_turns_makes_the_set_as_slow(drive: DriveFacts, experiment: MakeExperiment) -> None:
    found = {"sdc": member(drive, "sdc"), "sdd": member(drive, "sdd", is_rotational=True)}
    plan = make_plan(experiment(), [resolve_raid("raid1:sdc,sdd", found.__getitem__)], seed=1)
    assert plan.targets[0].pace == "disk"


@pytest.mark.provokes("P710")
def test_a_member_is_no_target_beside_its_set(
    experiment: MakeExperiment, raid: TargetFacts, drives: dict[str, TargetFacts], drive: DriveFacts
) -> None:
    for targets in ([raid, drives["/dev/sdd"]], [drives["/dev/sdd"], raid]):
        with pytest.raises(DrivelabError, match="are the same device, /dev/sdd") as caught:
            make_plan(experiment(workloads=[READ]), targets, seed=1)
        assert caught.value.code == "P710"
    assert len(make_plan(experiment(), [raid, member(drive, "sdf")], seed=1).targets) == 2


@pytest.mark.provokes("P710")
def test_two_sets_share_no_drive(experiment: MakeExperiment, raid: TargetFacts, drives: dict[str, TargetFacts]) -> None:
    other = resolve_raid("raid1:/dev/sdc,/dev/sdd", drives.__getitem__)
    with pytest.raises(DrivelabError, match="the same device"):
        make_plan(experiment(), [raid, other], seed=1)


@pytest.mark.provokes("P710")
def test_a_directory_on_a_member_would_be_erased(
    experiment: MakeExperiment, raid: TargetFacts, directory: TargetFacts, drives: dict[str, TargetFacts]
) -> None:
    below = replace(directory, devices=drives["/dev/sdd"].devices)
    with pytest.raises(DrivelabError, match="lies on /dev/sdd, which the run would erase"):
        make_plan(experiment(), [raid, below], seed=1)
