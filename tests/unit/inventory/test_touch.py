"""The judgement of a drive follows from its facts alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.inventory.touch import judge
from drivelab.model.drive import BlockUse, DiscardFacts, DriveFacts, DriveIdentity, WriteCacheFacts

PARTITION = BlockUse("sda1", "/dev/sda1", "part", 2**29, start_bytes=2**20, contents="ext4", label="home")
BLANK = DriveFacts(
    name="sda",
    path="/dev/sda",
    vendor=None,
    model="Disk",
    firmware=None,
    serials=("S1",),
    wwn=None,
    size_bytes=2**30,
    is_rotational=False,
    transport="sata",
    virtual="",
    link=None,
    logical_block_size_bytes=512,
    physical_block_size_bytes=4096,
    optimal_io_size_bytes=0,
    write_cache=WriteCacheFacts(True, "hdparm", "write back", False),
    scheduler="none",
    queue_requests=64,
    discard=DiscardFacts(4096, 2**30),
    is_read_only=False,
    is_removable=False,
    use=BlockUse("sda", "/dev/sda", "disk", 2**30, contents=""),
    identity=DriveIdentity("sda", "8:0", 2**30, ("S1",), None, 1),
)


def with_use(**changes: object) -> DriveFacts:
    return replace(BLANK, use=replace(BLANK.use, **changes))


def test_a_blank_drive_needs_its_serial() -> None:
    touch = judge(BLANK)
    assert (touch.verdict, touch.erase_argument) == ("free", "S1")


def test_a_drive_without_a_serial_is_named_by_its_wwn_or_else_by_the_kernel() -> None:
    assert judge(replace(BLANK, serials=(), wwn="0x5000")).erase_argument == "0x5000"
    assert judge(replace(BLANK, serials=())).erase_argument == "sda"


def test_a_drive_that_holds_something_needs_consent_to_lose_that_too() -> None:
    touch = judge(with_use(contents="gpt", children=(PARTITION,)))
    assert (touch.verdict, touch.erase_argument) == ("holds_data", "S1+contents")
    assert touch.reasons == ("sda holds gpt", "sda1 holds ext4 'home'")


def test_a_partition_counts_as_contents_whatever_is_in_it() -> None:
    unread = replace(PARTITION, contents=None)
    assert judge(with_use(contents=None, children=(unread,))).reasons == ("sda1 is a partition",)


@pytest.mark.parametrize(
    ("child", "reason"),
    [
        (replace(PARTITION, mount_points=("/home",)), "sda1 is mounted on /home"),
        (replace(PARTITION, used_by=("swap",)), "sda1 is used as swap"),
        (BlockUse("dm-0", "/dev/dm-0", "dm", 1, detail="LVM volume v"), "sda is held by dm-0 (LVM volume v)"),
        (BlockUse("loop4", "/dev/loop4", "loop", 1), "sda is held by loop4"),
    ],
)
def test_any_use_forbids_it(child: BlockUse, reason: str) -> None:
    touch = judge(with_use(children=(child,)))
    assert (touch.verdict, touch.reasons, touch.may_be_erased) == ("in_use", (reason,), False)


def test_no_medium_read_only_and_unread_forbid_it() -> None:
    assert judge(replace(BLANK, size_bytes=0)).verdict == "unusable"
    assert judge(replace(BLANK, is_read_only=True)).verdict == "unusable"
    unread = judge(replace(with_use(contents=None), unknown={"use": "sda: needs root"}))
    assert unread.verdict == "unknown"
    assert "needs root" in unread.reasons[0]
    assert not unread.may_be_erased
