"""Before anything is changed, every member of a RAID set needs its owner's word, and the kernel must have md."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.inventory.consent import Consent
from drivelab.inventory.raid import resolve_raid
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.target import BlockLayer, TargetFacts
from drivelab.plan.make import make_plan
from drivelab.run import preflight
from drivelab.run.preflight import require_possible

GIB = 2**30
# it writes nothing by itself, and erases the members all the same
READS = Experiment.model_validate(
    {
        "format": 1,
        "name": "x",
        "question": "?",
        "workloads": [{"name": "r", "operation": "read", "count": 1, "file_size": "1MiB"}],
        "repeats": {"full": 1},
    }
)


def disk(path: str) -> TargetFacts:
    layer = BlockLayer(Path(path).name, path, "8:0", "disk", GIB, 0, 512, 512, None, None, False, False, None)
    return TargetFacts(path, "block_device", path, True, None, (layer,), (), GIB, 512, False)


def scratch(_: str) -> TargetFacts:
    return TargetFacts("scratch:1GiB", "scratch", "", False, None, (), (), GIB, 512, False)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of this computer; consent is to be had for the drives whose path was typed."""
    found: list[str] = []

    def require_consent(member: TargetFacts, erase: tuple[str, ...]) -> None:
        found.append(f"consent {member.path}")
        if member.path not in erase:
            raise DrivelabError("C201", f"{member.path} would be overwritten")

    monkeypatch.setattr(preflight, "require_erase_consent", require_consent)
    monkeypatch.setattr(preflight, "require_root", lambda why: found.append(f"root for {why}"))
    monkeypatch.setattr(preflight, "require_program", found.append)
    monkeypatch.setattr(preflight, "require_raid", lambda level: found.append(f"md for {level}"))
    monkeypatch.setattr(preflight, "choose_directory", lambda size_bytes: found.append(f"room for {size_bytes}"))
    return found


def require(target: TargetFacts, *erase: str) -> None:
    plan = make_plan(READS, [target], seed=1)
    require_possible(plan, {plan.targets[0].label: target}, Consent(erase))


@pytest.mark.provokes("C201")
def test_one_serial_of_three_is_not_enough(asked: list[str]) -> None:
    target = resolve_raid("raid5:/dev/sdb,/dev/sdc,/dev/sdd", disk)
    require(target, "/dev/sdb", "/dev/sdc", "/dev/sdd")
    assert asked == ["md for raid5", "consent /dev/sdb", "consent /dev/sdc", "consent /dev/sdd"]
    with pytest.raises(DrivelabError, match="/dev/sdc would be overwritten"):
        require(target, "/dev/sdb", "/dev/sdd")


def test_scratch_members_need_room_for_all_of_them_and_nobodys_word(asked: list[str]) -> None:
    require(resolve_raid("raid1:2*scratch:1GiB", scratch))
    assert asked == ["root for a scratch drive", "losetup", f"room for {2 * GIB}", "md for raid1"]


@pytest.mark.provokes("R450")
def test_without_md_nobody_is_asked_for_consent(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(level: str) -> None:
        raise DrivelabError("R450", f"no {level}")

    monkeypatch.setattr(preflight, "require_raid", refuse)
    with pytest.raises(DrivelabError, match="no raid1"):
        require(resolve_raid("raid1:/dev/sdb,/dev/sdc", disk))
    assert asked == []
