"""The set of a target is made of members whose owners all consented, or nothing of it stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from drivelab.inventory.consent import Consent
from drivelab.inventory.raid import resolve_raid
from drivelab.model.errors import DrivelabError
from drivelab.model.target import BlockLayer, TargetFacts
from drivelab.run import raid_on_target, traceable
from drivelab.run.device_counters import counted_device
from drivelab.run.raid_on_target import look_at_raid, make_raid_target
from drivelab.run.tracing.disk import TracedDisk
from drivelab.state.journal import Journal, begin_journal
from drivelab.state.raid import MadeRaid
from drivelab.state.undo import UNDO

GIB = 2**30


def layer(name: str, kind: Any) -> BlockLayer:
    return BlockLayer(name, f"/dev/{name}", "8:0", kind, GIB, 0, 512, 512, None, None, False, False, None)


def disk(name: str) -> TargetFacts:
    path = f"/dev/{name}"
    return TargetFacts(path, "block_device", path, True, None, (layer(name, "disk"),), (), GIB, 512, False)


def scratch(_: str = "") -> TargetFacts:
    return TargetFacts("scratch:1GiB", "scratch", "", False, None, (), (), GIB, 512, False)


class Workshop:
    """Takes the place of everything that makes something, and keeps what was done in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        self.fails = False
        for name in ("HeldDevice", "make_raid", "make_scratch", "resolve_measured"):
            monkeypatch.setattr(raid_on_target, name, getattr(self, name))
        monkeypatch.setattr(raid_on_target, "resolve_target", lambda path: disk(Path(path).name))
        monkeypatch.setattr(raid_on_target, "member_drives", lambda target: target)
        monkeypatch.setitem(UNDO, "made_file", lambda path: self.done.append(f"delete {path}") or "deleted")
        monkeypatch.setitem(UNDO, "made_set", lambda name: self.done.append(f"take {name} apart") or "taken apart")

    def HeldDevice(self, member: TargetFacts) -> Any:  # noqa: N802
        def give_up(erase: tuple[str, ...]) -> None:
            if member.path not in erase and not member.path.startswith("/dev/loop"):
                raise DrivelabError("C201", f"{member.path} would be overwritten")
            self.done.append(f"consent {member.path}")

        self.done.append(f"hold {member.path}")
        return SimpleNamespace(give_up=give_up, release=lambda: self.done.append(f"release {member.path}"))

    def make_scratch(self, size_bytes: int, journal: Journal, filled: Callable[[int, int], None]) -> Any:
        number = len([one for one in self.done if one.startswith("fill")])
        journal.will_change("made_file", path=f"file-{number}")
        self.done.append(f"fill {number}")
        filled(size_bytes, size_bytes)
        return SimpleNamespace(path=f"/dev/loop{number}", notes=("on ext4 of /dev/sda",))

    def resolve_measured(self, path: str) -> TargetFacts:
        name = Path(path).name
        return replace(disk(name), devices=(layer(name, "loop"),))

    def make_raid(self, wanted: Any, devices: list[str], journal: Journal) -> MadeRaid:
        journal.will_change("made_set", name="the-set")
        self.done.append(f"make {wanted.level} {' '.join(devices)}")
        if self.fails:
            raise DrivelabError("R455", "mdadm failed")
        return MadeRaid("/dev/md127", replace(wanted, name="the-set", uuid="u", layout="left-symmetric"))


@pytest.fixture
def workshop(monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """Where sets are made."""
    return Workshop(monkeypatch)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """An empty journal."""
    found = begin_journal(tmp_path)
    yield found
    found.close()


@pytest.fixture
def mirror() -> TargetFacts:
    """A RAID-1 of two drives."""
    return resolve_raid("raid1:/dev/sdb,/dev/sdc", lambda path: disk(Path(path).name))


def test_each_member_is_looked_at_and_held_right_before_the_set_is_made(
    workshop: Workshop, journal: Journal, mirror: TargetFacts
) -> None:
    found, notes = make_raid_target(mirror, journal, Consent(("/dev/sdb", "/dev/sdc")), lambda *_: None)
    assert workshop.done == [
        *("hold /dev/sdb", "consent /dev/sdb", "hold /dev/sdc", "consent /dev/sdc"),
        "make raid1 /dev/sdb /dev/sdc",
        *("release /dev/sdc", "release /dev/sdb"),
    ]
    assert (found.kind, found.path, found.text) == ("block_device", "/dev/md127", mirror.text)
    assert found.raid is not None
    assert (found.raid.name, [member.path for member in found.raid.members]) == ("the-set", ["/dev/sdb", "/dev/sdc"])
    assert any("--assume-clean" in note for note in notes)


@pytest.mark.provokes("C201")
def test_a_member_that_nobody_gave_up_keeps_the_set_from_being_made(
    workshop: Workshop, journal: Journal, mirror: TargetFacts
) -> None:
    with pytest.raises(DrivelabError, match="/dev/sdc would be overwritten"):
        make_raid_target(mirror, journal, Consent(("/dev/sdb",)), lambda *_: None)
    assert workshop.done == [
        *("hold /dev/sdb", "consent /dev/sdb", "hold /dev/sdc"),
        *("release /dev/sdc", "release /dev/sdb"),
    ]
    assert journal.outstanding == ()


def test_scratch_members_are_filled_one_after_the_other(workshop: Workshop, journal: Journal) -> None:
    filled: list[tuple[int, int]] = []
    target = resolve_raid("raid5:3*scratch:1GiB", scratch)
    found, notes = make_raid_target(target, journal, Consent(), lambda *part: filled.append(part))
    assert filled == [(GIB, 3 * GIB), (2 * GIB, 3 * GIB), (3 * GIB, 3 * GIB)]
    assert found.raid is not None
    assert [(one.path, one.text) for one in found.raid.members] == [
        (f"/dev/loop{number}", "scratch:1GiB") for number in range(3)
    ]
    assert notes.count("on ext4 of /dev/sda") == 1
    assert workshop.done[-4] == "make raid5 /dev/loop0 /dev/loop1 /dev/loop2"


@pytest.mark.provokes("R455")
def test_where_mdadm_fails_scratch_drives_are_removed_after_the_set(workshop: Workshop, journal: Journal) -> None:
    workshop.fails = True
    with pytest.raises(DrivelabError, match="mdadm failed"):
        make_raid_target(resolve_raid("raid1:2*scratch:1GiB", scratch), journal, Consent(), lambda *_: None)
    assert workshop.done[-3:] == ["take the-set apart", "delete file-1", "delete file-0"]
    assert journal.outstanding == ()


def test_a_set_that_is_looked_at_again_stays_what_it_was(
    workshop: Workshop, journal: Journal, mirror: TargetFacts
) -> None:
    found, _ = make_raid_target(mirror, journal, Consent(("/dev/sdb", "/dev/sdc")), lambda *_: None)
    again = look_at_raid(found.path, found, found.identity)
    assert again == found
    assert workshop.done


@pytest.mark.parametrize(
    ("layers", "device"),
    [
        ("vda loop0 loop1 loop2 md127", "md127"),
        ("sda sdb md0 loop0", "loop0"),
        ("sda sdb sdc md127", "md127"),
        ("vda loop0", "loop0"),
        ("vda loop0 dm-0", "loop0"),
    ],
)
def test_commands_are_told_of_the_set_and_not_of_its_last_member(layers: str, device: str) -> None:
    kinds = {"l": "loop", "m": "md", "d": "dm"}
    assert counted_device([layer(name, kinds.get(name[0], "disk")) for name in layers.split()]) == device


def test_operations_on_a_set_can_be_traced_once_it_is_made(
    mirror: TargetFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[TracedDisk] = []
    monkeypatch.setattr(traceable, "choose_source", lambda disk, asked: tried.append(disk))
    monkeypatch.setattr(traceable, "has_kernel_ids", lambda: True)
    traceable.require_traceable([mirror], "auto")
    # any disk will do until there is a set
    assert [disk.layers for disk in tried] in ([()], [])
