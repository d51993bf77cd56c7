"""A run goes on where it was cut off: on the same drive, wherever it is now, and on no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivelab.inventory.raid import resolve_raid
from drivelab.inventory.target import resolve_target
from drivelab.model.drive import DriveIdentity
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.plan import Plan
from drivelab.model.target import BlockLayer, TargetFacts
from drivelab.plan.make import make_plan
from drivelab.run import resumption
from drivelab.run.resumption import plan_resumption
from drivelab.store.run_record import RunRecord

EXPERIMENT = Experiment.model_validate(
    {
        "format": 1,
        "name": "x",
        "question": "?",
        "workloads": [{"name": "w", "count": 1, "file_size": 4096}],
        "repeats": {"full": 2},
    }
)
SIZE = 10**9


def disk(name: str, serial: str, *, partition: int = 0, size_bytes: int = SIZE) -> TargetFacts:
    """A drive of that serial under a kernel name, or one of its partitions."""
    layers = [layer(name, "disk")]
    if partition:
        layers.append(layer(f"{name}{partition}", "part"))
    serials = (serial,) if serial else ()
    identity = DriveIdentity(layers[-1].name, "8:0", size_bytes, serials, None, 7)
    path = layers[-1].path
    return TargetFacts(path, "block_device", path, True, None, tuple(layers), (), size_bytes, 512, False, identity)


def layer(name: str, kind: Any) -> BlockLayer:
    return BlockLayer(name, f"/dev/{name}", "8:0", kind, SIZE, 0, 512, 512, None, None, False, False, None)


class Computer:
    """Stands in for this computer: which drives there are, and under which names."""

    def __init__(self, *present: TargetFacts) -> None:
        self.present = {facts.path: facts for facts in present}

    def resolve(self, text: str) -> TargetFacts:
        if text not in self.present:
            raise DrivelabError("T101", f"there is no {text}")
        return self.present[text]

    def drives(self) -> list[Any]:
        whole = [facts for facts in self.present.values() if len(facts.devices) == 1]
        return [
            type("Drive", (), {"serials": facts.identity.serials, "path": facts.path, "name": facts.devices[0].name})
            for facts in whole
            if facts.identity is not None
        ]


@pytest.fixture
def found_on(monkeypatch: pytest.MonkeyPatch) -> Callable[..., TargetFacts]:
    """The target that a run which began on `before` goes on with, on a computer with these drives."""

    def find(before: TargetFacts, *present: TargetFacts) -> TargetFacts:
        computer = Computer(*present)
        monkeypatch.setattr(resumption, "resolve_target", computer.resolve)
        monkeypatch.setattr(resumption, "list_drives", computer.drives)
        plan = make_plan(EXPERIMENT, [before], seed=1)
        rest = plan_resumption(stored_run(plan, before, plan.steps[0].trial))
        assert rest.plan.steps == plan.steps
        assert [target.label for target in rest.plan.targets] == [target.label for target in plan.targets]
        assert rest.completed == {plan.steps[0].trial}
        return rest.targets[plan.targets[0].label]

    return find


def test_a_drive_is_found_where_it_was(found_on: Callable[..., TargetFacts]) -> None:
    assert found_on(disk("sdb", "S1"), disk("sda", "S0"), disk("sdb", "S1")).path == "/dev/sdb"


def test_a_drive_is_found_under_another_name(found_on: Callable[..., TargetFacts]) -> None:
    assert found_on(disk("sdb", "S1"), disk("sdb", "S0"), disk("sdc", "S1")).path == "/dev/sdc"


def test_a_partition_is_found_on_the_drive_that_it_belongs_to(found_on: Callable[..., TargetFacts]) -> None:
    others = disk("sdb", "S0"), disk("sdb", "S0", partition=1)
    mine = disk("sdc", "S1"), disk("sdc", "S1", partition=1)
    assert found_on(disk("sdb", "S1", partition=1), *others, *mine).path == "/dev/sdc1"


@pytest.mark.provokes("C207")
@pytest.mark.parametrize(
    "present",
    [
        (),
        (disk("sdb", "S0"),),
        (disk("sdb", "S1", size_bytes=2 * SIZE),),
    ],
)
def test_another_drive_in_its_place_is_refused(
    found_on: Callable[..., TargetFacts], present: tuple[TargetFacts, ...]
) -> None:
    with pytest.raises(DrivelabError, match=r"is not the drive that the run began on \(serial S1\)") as refused:
        found_on(disk("sdb", "S1"), *present)
    assert refused.value.code == "C207"


def test_a_device_without_a_serial_is_known_by_the_count_of_disks(found_on: Callable[..., TargetFacts]) -> None:
    before = disk("loop3", "")
    assert before.identity is not None
    assert found_on(before, before).path == "/dev/loop3"
    another = replace(before, identity=replace(before.identity, diskseq=8))
    with pytest.raises(DrivelabError, match="is not the drive"):
        found_on(before, another)


def test_a_directory_on_another_file_system_is_refused(tmp_path: Path) -> None:
    before = resolve_target(str(tmp_path))
    assert before.filesystem is not None
    plan = make_plan(EXPERIMENT, [before], seed=1)
    moved = replace(before, filesystem=replace(before.filesystem, source="/dev/elsewhere"))
    with pytest.raises(DrivelabError, match=r"and lay on .* of /dev/elsewhere") as refused:
        plan_resumption(stored_run(plan, moved))
    assert refused.value.code == "C207"


def raid_of(*members: TargetFacts) -> TargetFacts:
    """A RAID-1 of drives."""
    by_path = {member.path: member for member in members}
    return resolve_raid(f"raid1:{','.join(by_path)}", by_path.__getitem__)


def test_a_raid_set_is_made_again_of_the_drives_that_it_was_made_of(found_on: Callable[..., TargetFacts]) -> None:
    before = raid_of(disk("sdb", "S1"), disk("sdc", "S2"))
    found = found_on(before, disk("sdc", "S0"), disk("sdd", "S2"), disk("sdb", "S1"))
    assert (found.kind, found.text) == ("raid", "raid1:/dev/sdb,/dev/sdc")
    assert found.raid is not None
    assert [(member.text, member.path) for member in found.raid.members] == [
        ("/dev/sdb", "/dev/sdb"),
        ("/dev/sdc", "/dev/sdd"),
    ]


@pytest.mark.provokes("C207")
def test_a_raid_set_of_other_drives_is_refused(found_on: Callable[..., TargetFacts]) -> None:
    before = raid_of(disk("sdb", "S1"), disk("sdc", "S2"))
    with pytest.raises(DrivelabError, match=r"/dev/sdc is not the drive that the run began on \(serial S2\)"):
        found_on(before, disk("sdb", "S1"), disk("sdc", "S3"))


@pytest.mark.provokes("R422")
def test_a_raid_set_without_its_members_is_not_made_again() -> None:
    asked = resolve_target("raid1:2*scratch:64MiB")
    plan = make_plan(EXPERIMENT, [asked], seed=1)
    again = plan_resumption(stored_run(plan, asked)).targets[plan.targets[0].label]
    assert again == asked
    with pytest.raises(DrivelabError, match="of what drives") as refused:
        plan_resumption(stored_run(plan, replace(asked, raid=None)))
    assert refused.value.code == "R422"


@pytest.mark.parametrize(
    "level",
    [
        {"type": "xfs", "mkfs_options": ["-l", "logdev=/dev/loop1,size=16384b"]},
        {"type": "btrfs", "mkfs_options": ["/dev/loop1"]},
        {"type": "ext4", "mount_options": ["noatime", "loop"]},
    ],
)
def test_options_that_reach_beyond_the_target_are_refused_in_a_stored_plan_too(level: dict[str, Any]) -> None:
    scratch = resolve_target("scratch:1GiB")
    run = stored_run(make_plan(EXPERIMENT, [scratch], seed=1), scratch)
    run.record.plan["filesystems"] = [level]
    with pytest.raises(DrivelabError, match=r"known to touch only the target|another device or file") as refused:
        plan_resumption(run)
    assert (refused.value.code, "\n" in refused.value.what) == ("R422", False)


@pytest.mark.provokes("R422")
def test_a_check_is_said_to_be_one_and_not_resumed() -> None:
    record = RunRecord(experiment={"name": "check"}, plan={"trials": ["a"]})
    run: Any = type("Stored", (), {"record": record, "directory": Path("run")})()
    with pytest.raises(DrivelabError, match="it is a check") as refused:
        plan_resumption(run)
    assert refused.value.code == "R422"


def stored_run(plan: Plan, facts: TargetFacts, *completed: str) -> Any:
    """What is asked of a stored run."""
    targets = [{"label": plan.targets[0].label, "facts_before": facts.to_json()}]
    record = RunRecord(plan=plan.to_json(), targets=targets)
    members = {"record": record, "directory": Path("run"), "completed_trials": lambda _: set(completed)}
    return type("Stored", (), members)()
