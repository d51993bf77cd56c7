"""RAID sets are made as they were asked for, read back, and taken apart again wherever they are by then."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.model.raid import RaidFacts, RaidLevel, chunk_bytes_of
from drivelab.state import raid
from drivelab.state.journal import Journal, begin_journal
from drivelab.state.raid import make_raid, require_raid, require_whole, superblock_uuid, undo_raid
from fake_drive.raid_sets import FakeRaidSets


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRaidSets:
    """A made-up kernel with four drives; whoever tests is root, mdadm is there, and patience is short."""
    sets = FakeRaidSets(tmp_path / "computer")
    monkeypatch.setattr(raid, "run_program", sets.run_program)
    monkeypatch.setattr(raid, "require_program", lambda name: name)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(raid, "_PATIENCE_S", 0.2)
    monkeypatch.setattr(raid, "_PAUSE_S", 0.01)
    return sets


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """An empty journal."""
    found = begin_journal(tmp_path / "journals")
    yield found
    found.close()


def wanted(level: RaidLevel = "raid5", bitmap: str = "none") -> RaidFacts:
    return RaidFacts(level, (), chunk_bytes_of(level), bitmap, "1.2", level != "raid0")


def made(kernel: FakeRaidSets, journal: Journal, level: RaidLevel = "raid5", count: int = 3) -> raid.MadeRaid:
    return make_raid(wanted(level), [str(drive) for drive in kernel.drives[:count]], journal, kernel.paths)


def undone(kernel: FakeRaidSets, journal: Journal) -> str:
    return undo_raid(**journal.outstanding[0].facts, paths=kernel.paths)


def test_a_set_is_made_under_a_name_and_an_identifier_that_the_journal_knows_before(
    kernel: FakeRaidSets, journal: Journal
) -> None:
    found = made(kernel, journal)
    facts = journal.outstanding[0].facts
    assert found.path == str(kernel.paths.dev / "md127")
    assert (found.facts.uuid, found.facts.name) == (facts["uuid"], facts["name"])
    assert facts["members"] == [str(drive) for drive in kernel.drives[:3]]
    assert (found.facts.layout, found.facts.chunk_bytes, found.facts.stripe_cache_pages) == (
        "left-symmetric",
        2**19,
        256,
    )
    assert (found.facts.bitmap, found.facts.metadata, found.facts.consistency) == ("none", "1.2", "resync")
    assert superblock_uuid(kernel.drives[0]) == facts["uuid"]
    create = next(command for command in kernel.commands if "--create" in command)
    assert {"--run", "--level=5", "--raid-devices=3", "--chunk=512K", "--bitmap=none", "--assume-clean"} < set(create)
    # members lose what they held before mdadm sees them
    assert [command[0] for command in kernel.commands[:4]] == ["wipefs"] * 3 + ["mdadm"]


def test_levels_without_copies_chunks_or_parity_are_not_told_of_them(kernel: FakeRaidSets, journal: Journal) -> None:
    assert made(kernel, journal, "raid0", 2).facts.layout == ""
    undone(kernel, journal)
    assert made(kernel, journal, "raid1", 2).facts.chunk_bytes == 0
    stripes, mirror = ([*words] for words in kernel.commands if "--create" in words)
    assert not any(word.startswith(("--bitmap", "--assume-clean")) for word in stripes)
    assert not any(word.startswith("--chunk") for word in mirror)


@pytest.mark.provokes("R455")
@pytest.mark.parametrize("failing", ["--create", "wipefs"])
def test_what_mdadm_says_is_told(kernel: FakeRaidSets, journal: Journal, failing: str) -> None:
    kernel.failing = failing
    with pytest.raises(DrivelabError, match="no luck") as caught:
        made(kernel, journal)
    assert caught.value.code == "R455"
    # known already, so that whatever was made until then can be undone
    assert len(journal.outstanding) == 1


@pytest.mark.provokes("R456")
@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("level", "raid4", "level is raid4, not raid5"),
        ("raid_disks", "2", "number of members is 2, not 3"),
        ("sync_action", "resync", "is busy with a resync"),
        ("degraded", "1", "has lost 1 of 3 members"),
        ("array_state", "inactive", "is inactive"),
    ],
)
def test_a_set_that_came_out_otherwise_is_not_measured(
    kernel: FakeRaidSets, journal: Journal, name: str, text: str, told: str
) -> None:
    kernel.broken = {name: text}
    with pytest.raises(DrivelabError, match=told) as caught:
        made(kernel, journal)
    assert caught.value.code == "R456"
    undone(kernel, journal)
    assert (kernel.arrays, kernel.superblocks()) == ([], [])


@pytest.mark.provokes("R456")
def test_a_set_that_the_kernel_does_not_show_is_not_measured(kernel: FakeRaidSets, journal: Journal) -> None:
    kernel.broken = {"uuid": str(uuid.uuid4())}
    with pytest.raises(DrivelabError, match="does not show"):
        made(kernel, journal)
    # its members tell that it is ours all the same
    undone(kernel, journal)
    assert (kernel.arrays, kernel.superblocks()) == ([], [])


@pytest.mark.provokes("R457")
@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("degraded", "1", "has lost 1 of 3"),
        ("sync_action", "check", "busy with a check"),
        ("array_state", "broken", "is broken"),
    ],
)
def test_a_set_that_is_not_whole_any_more_is_not_measured(
    kernel: FakeRaidSets, journal: Journal, name: str, text: str, told: str
) -> None:
    path = made(kernel, journal).path
    require_whole(path, kernel.paths)
    kernel.set_attribute("md127", name, text)
    with pytest.raises(DrivelabError, match=told) as caught:
        require_whole(path, kernel.paths)
    assert caught.value.code == "R457"


def test_taking_apart_stops_the_set_and_clears_its_members(kernel: FakeRaidSets, journal: Journal) -> None:
    name = made(kernel, journal).facts.name
    link = kernel.paths.dev / "md" / name
    assert link.is_symlink()
    done = undone(kernel, journal)
    assert done.startswith(f"took the RAID set {name} apart")
    assert (kernel.arrays, kernel.superblocks(), link.is_symlink()) == ([], [], False)
    assert undone(kernel, journal) == ""


def test_a_set_that_udev_puts_together_again_is_stopped_again(kernel: FakeRaidSets, journal: Journal) -> None:
    made(kernel, journal)
    kernel.is_assembled_again = True
    undone(kernel, journal)
    assert (kernel.arrays, kernel.superblocks()) == ([], [])
    stopped = [command[-1] for command in kernel.commands if "--stop" in command]
    assert [Path(path).name for path in stopped] == ["md127", "md126"]


def test_after_a_reboot_members_are_found_under_other_names(kernel: FakeRaidSets, journal: Journal) -> None:
    made(kernel, journal)
    kernel.start_again("boot-2")
    kernel.rename("sdb", "sdx")
    kernel.rename("sdd", "sdb")
    assert kernel.superblocks() == ["sda", "sdx", "sdc"]
    undone(kernel, journal)
    assert kernel.superblocks() == []


def test_sets_of_others_are_left_alone(kernel: FakeRaidSets, journal: Journal) -> None:
    made(kernel, journal, count=3)
    facts = journal.outstanding[0].facts
    other = str(uuid.uuid4())
    assert undo_raid(**facts | {"uuid": other}, paths=kernel.paths) == ""
    assert kernel.arrays == ["md127"]
    assert len(kernel.superblocks()) == 3


@pytest.mark.provokes("R406")
def test_a_set_that_somebody_uses_stays_and_is_told_of(kernel: FakeRaidSets, journal: Journal) -> None:
    made(kernel, journal)
    kernel.failing = "--stop"
    with pytest.raises(DrivelabError, match=r"still there.*no luck") as caught:
        undone(kernel, journal)
    assert caught.value.code == "R406"
    assert kernel.arrays == ["md127"]


@pytest.mark.provokes("R450")
def test_a_kernel_without_the_level_is_told_of_before_anything_is_changed(
    kernel: FakeRaidSets, journal: Journal
) -> None:
    (kernel.paths.sys / "module/raid456").rmdir()
    require_raid("raid1", kernel.paths)
    with pytest.raises(DrivelabError, match="CONFIG_MD_RAID456") as caught:
        made(kernel, journal)
    assert caught.value.code == "R450"
    assert (journal.outstanding, kernel.commands) == ((), [])


@pytest.mark.provokes("R402")
def test_without_mdadm_its_package_is_told(
    kernel: FakeRaidSets, monkeypatch: pytest.MonkeyPatch, journal: Journal
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("drivelab.state.programs.find_tool", lambda _: None)
    with pytest.raises(DrivelabError, match="mdadm is not installed") as caught:
        require_raid("raid1", kernel.paths)
    assert (caught.value.code, caught.value.do) == ("R402", "apt-get install mdadm")


@pytest.mark.provokes("R401")
def test_only_root_makes_sets(kernel: FakeRaidSets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(DrivelabError, match="a RAID set needs root") as caught:
        require_raid("raid1", kernel.paths)
    assert caught.value.code == "R401"
