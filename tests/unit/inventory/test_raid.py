"""A RAID set is read from what was typed, sized by its level, and refused where its members make none."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace

import pytest

from drivelab.inventory.raid import raid_reason, resolve_raid
from drivelab.inventory.target import require_writable, resolve_target
from drivelab.model.drive import BlockUse, DiscardFacts, DriveFacts, DriveIdentity, WriteCacheFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.raid import bitmap_of, expected_bytes, written_share
from drivelab.model.target import BlockLayer, LayerKind, TargetFacts

from .conftest import MakeSystem

MIB, GIB = 2**20, 2**30
RELEASE = platform.uname().release


def layer(name: str, kind: LayerKind) -> BlockLayer:
    return BlockLayer(name, f"/dev/{name}", "8:0", kind, GIB, 0, 512, 512, None, None, False, False, None)


def drive(name: str, wwn: str | None = None) -> DriveFacts:
    return DriveFacts(
        name=name,
        path=f"/dev/{name}",
        vendor=None,
        model="Disk",
        firmware=None,
        serials=(f"serial-{name}",),
        wwn=wwn,
        size_bytes=GIB,
        is_rotational=False,
        transport="sata",
        virtual="",
        link=None,
        logical_block_size_bytes=512,
        physical_block_size_bytes=512,
        optimal_io_size_bytes=0,
        write_cache=WriteCacheFacts(None, "", None, None),
        scheduler="none",
        queue_requests=64,
        discard=DiscardFacts(0, 0),
        is_read_only=False,
        is_removable=False,
        use=BlockUse(name, f"/dev/{name}", "disk", GIB),
        identity=DriveIdentity(name, "8:0", GIB, (f"serial-{name}",), wwn, 1),
    )


def device(name: str, *below: str, kind: LayerKind = "disk", size_bytes: int = GIB) -> TargetFacts:
    """A block device that lies on the drives named after it, or is one itself."""
    drives = tuple(drive(each) for each in below or (name,))
    layers = (*(layer(each, "disk") for each in below), layer(name, kind))
    path = f"/dev/{name}"
    return TargetFacts(path, "block_device", path, True, None, layers, drives, size_bytes, 512, False)


DEVICES: Mapping[str, TargetFacts] = {
    facts.path: facts
    for facts in (
        *(device(name) for name in ("sda", "sdb", "sdc", "sdd")),
        device("sde", size_bytes=2 * GIB),
        device("sda1", "sda", kind="part"),
        device("sda2", "sda", kind="part"),
        device("loop0", "sda", kind="loop"),
        device("loop1", "sda", kind="loop"),
    )
}


def resolved(text: str) -> TargetFacts:
    return resolve_raid(text, lambda name: DEVICES[name] if name in DEVICES else resolve_target(name))


def refused(text: str) -> DrivelabError:
    with pytest.raises(DrivelabError) as caught:
        resolved(text)
    return caught.value


def test_a_set_of_drives_has_their_drives_and_is_not_there_yet() -> None:
    target = resolved("raid5:/dev/sda,/dev/sdb, /dev/sdc")
    assert (target.kind, target.path, target.exists, target.filesystem) == ("raid", "", False, None)
    assert [one.name for one in target.drives] == ["sda", "sdb", "sdc"]
    assert target.drive is None
    assert target.raid is not None
    assert (target.raid.level, target.raid.chunk_bytes, target.raid.bitmap) == ("raid5", 512 * 1024, "none")
    assert [member.path for member in target.raid.erased_members] == ["/dev/sda", "/dev/sdb", "/dev/sdc"]
    assert 0.99 * 2 * GIB < target.size_bytes < 2 * GIB
    require_writable(target)
    stored = target.to_json()["raid"]
    assert [member["drives"][0]["serial"] for member in stored["members"]] == [f"serial-sd{end}" for end in "abc"]


def test_the_command_line_resolves_sets_of_scratch_drives() -> None:
    target = resolve_target("raid6:3*scratch:64MiB,scratch:64MiB")
    assert target.raid is not None
    assert [member.text for member in target.raid.members] == ["scratch:64MiB"] * 4
    assert (target.raid.scratch_bytes, target.raid.erased_members, target.drives) == (256 * MIB, (), ())
    assert any("4 members are files" in note for note in target.raid.notes)
    assert not any("flash" in note for note in target.raid.notes)


@pytest.mark.parametrize(
    ("level", "count", "data_members"), [("raid0", 4, 4), ("raid1", 3, 1), ("raid5", 4, 3), ("raid6", 5, 3)]
)
def test_a_set_is_as_large_as_the_members_that_hold_data(level: str, count: int, data_members: int) -> None:
    sizes = [GIB] * count
    # what mdadm 4.2 made of members of 1 GiB: it begins 2 MiB from the start of each
    assert expected_bytes(level, sizes) == data_members * (GIB - 2 * MIB)  # type: ignore[arg-type]
    assert written_share(level, count) == 1 / data_members  # type: ignore[arg-type]


def test_two_copies_go_round_any_number_of_members() -> None:
    assert expected_bytes("raid10", [GIB] * 3) == 1.5 * (GIB - 2 * MIB)
    assert written_share("raid10", 3) == 2 / 3


def test_only_what_the_smallest_member_has_is_used_and_that_is_said() -> None:
    target = resolved("raid1:/dev/sda,/dev/sde")
    assert target.size_bytes < GIB
    assert target.raid is not None
    assert any("no more than 1 GiB is used" in note for note in target.raid.notes)
    striped = resolved("raid0:/dev/sda,/dev/sde")
    assert striped.size_bytes > 2.9 * GIB
    assert striped.raid is not None
    assert any("lies on the larger ones alone" in note for note in striped.raid.notes)
    assert not striped.raid.is_assumed_clean


def test_large_members_get_a_bitmap_as_mdadm_gives_them_one() -> None:
    assert bitmap_of("raid5", [200 * GIB] * 3) == "internal"
    assert bitmap_of("raid5", [200 * GIB, 200 * GIB, 50 * GIB]) == "none"
    assert bitmap_of("raid0", [200 * GIB] * 3) == "none"


@pytest.mark.provokes("U040")
@pytest.mark.parametrize(
    "text", ["raid3:/dev/sda,/dev/sdb", "raid:/dev/sda", "raid1:", "raid1:/dev/sda,,/dev/sdb", "raid1:/dev/sda,"]
)
def test_what_is_no_level_or_has_an_empty_member_is_no_set(text: str) -> None:
    assert refused(text).code == "U040"


@pytest.mark.provokes("U041")
@pytest.mark.parametrize(("level", "least"), [("raid0", 2), ("raid1", 2), ("raid5", 3), ("raid6", 4), ("raid10", 3)])
def test_too_few_members_are_refused(level: str, least: int) -> None:
    error = refused(f"{level}:{least - 1}*scratch:64MiB")
    assert error.code == "U041"
    assert f"{level} needs at least {least} members" in error.what
    assert resolved(f"{level}:{least}*scratch:64MiB").kind == "raid"


@pytest.mark.provokes("U042")
def test_directories_files_and_sets_are_no_members() -> None:
    assert "is a directory" in refused("raid1:/dev/sda,/tmp").what
    assert "is a file" in refused(f"raid1:/dev/sda,{__file__}").what
    assert refused("raid1:/dev/sda,raid0:x").code == "U042"


@pytest.mark.parametrize("member", ["missing", "--force", "-x", "spare", "/dev/sda:1M"])
def test_what_mdadm_would_take_for_more_than_a_drive_is_no_member(member: str) -> None:
    assert refused(f"raid1:/dev/sda,{member}").code in ("U042", "T101")


@pytest.mark.provokes("U043")
def test_one_drive_is_no_two_members() -> None:
    assert "/dev/sda is named twice" in refused("raid1:/dev/sda,/dev/sda").what
    assert "/dev/sda1 and /dev/sda2 lie on one drive" in refused("raid1:/dev/sda1,/dev/sda2").what
    assert refused("raid1:/dev/sda2,/dev/sda").code == "U043"


@pytest.mark.provokes("U043")
def test_one_drive_by_two_ways_is_known_by_its_worldwide_name() -> None:
    ways = {name: replace(device(name), drives=(drive(name, wwn="0x5"),)) for name in ("sdx", "sdy")}
    with pytest.raises(DrivelabError, match="lie on one drive"):
        resolve_raid("raid1:sdx,sdy", lambda name: ways[name])


def test_loop_devices_over_files_of_one_disk_are_two_members() -> None:
    target = resolved("raid1:/dev/loop0,/dev/loop1")
    assert target.raid is not None
    assert any("share a disk" in note for note in target.raid.notes)


@pytest.mark.provokes("U044")
@pytest.mark.parametrize("count", ["0", "x", "", "-2", "65", "1.5"])
def test_a_number_of_members_is_a_small_whole_one(count: str) -> None:
    assert refused(f"raid1:{count}*scratch:64MiB").code == "U044"


@pytest.mark.provokes("U044")
def test_a_drive_cannot_be_had_several_times() -> None:
    assert refused("raid1:2*/dev/sda").what == "2*/dev/sda: only scratch drives can be had several times"


def test_the_mistakes_of_a_member_are_told_as_those_of_a_target() -> None:
    assert refused("raid1:2*scratch:1MiB").code == "T108"
    assert refused("raid1:2*scratch:huge").code == "U001"
    assert refused("raid1:/dev/sda,/dev/no_such_drive").code == "T101"


def test_a_member_that_is_read_only_is_told_before_anything_is_made() -> None:
    locked = replace(DEVICES["/dev/sdb"], is_read_only=True)
    target = resolve_raid("raid1:/dev/sda,/dev/sdb", lambda name: {"/dev/sdb": locked}.get(name, DEVICES[name]))
    assert target.is_read_only
    with pytest.raises(DrivelabError, match="/dev/sdb") as caught:
        require_writable(target)
    assert caught.value.code == "T102"


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({}, "CONFIG_BLK_DEV_MD"),
        ({f"lib/modules/{RELEASE}/modules.dep": "kernel/drivers/md/md-mod.ko:"}, "CONFIG_MD_RAID456"),
        ({f"lib/modules/{RELEASE}/modules.dep": "kernel/drivers/md/raid456.ko:\nkernel/drivers/md/md-mod.ko:"}, ""),
        ({f"lib/modules/{RELEASE}/modules.builtin": "kernel/drivers/md/raid456.ko\nkernel/md/md-mod.ko"}, ""),
        ({"sys/module/md_mod/x": "", "sys/module/raid456/x": ""}, ""),
    ],
)
def test_a_kernel_without_md_says_what_it_lacks(
    make_system: MakeSystem, files: Mapping[str, str], missing: str
) -> None:
    reason = raid_reason("raid5", make_system({"/proc/x": ""} | {f"/{path}": text for path, text in files.items()}))
    assert (missing in reason) if missing else reason == ""
