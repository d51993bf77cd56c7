"""Drives are known by their serial and WWN, read from what the kernel already has."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from drivelab.inventory.identify import parse_ata_page, parse_serial_page
from drivelab.inventory.identity import kernel_identity, normal_wwn, read_identity, usable_serials
from drivelab.inventory.system_paths import SystemPaths


def test_the_ata_page_holds_serial_firmware_and_model(golden: Callable[[str], str]) -> None:
    recorded = json.loads(golden("guest.json"))
    page = next(content["hex"] for path, content in recorded.items() if path.endswith("vpd_pg89"))
    identity = parse_ata_page(bytes.fromhex(page))
    assert identity is not None
    assert (identity.serial, identity.firmware, identity.model) == ("LAB-d1", "2.5+", "QEMU HARDDISK")


def test_the_fastest_rate_of_word_76_counts() -> None:
    page = bytearray(60 + 512)
    page[60 + 152] = 0b1110
    identity = parse_ata_page(bytes(page))
    assert identity is not None
    assert identity.sata_rate_bits_per_s_max == 6_000_000_000


@pytest.mark.parametrize("page", [None, b"", b"\x00\x89", bytes(571)])
def test_a_missing_or_short_ata_page_tells_nothing(page: bytes | None) -> None:
    assert parse_ata_page(page) is None


def test_the_serial_page_ends_where_it_says() -> None:
    assert parse_serial_page(b"\x00\x80\x00\x06LAB-d2 trailing") == "LAB-d2"
    assert parse_serial_page(b"\x00") == ""
    assert parse_serial_page(None) == ""


def test_serials_that_name_nothing_are_left_out() -> None:
    assert usable_serials(("000000000000", None, "", "   ", " S1 ", "S1", "S2")) == ("S1", "S2")


@pytest.mark.parametrize(
    ("text", "wwn"),
    [
        ("naa.5002538e40a1b2c3", "0x5002538e40a1b2c3"),
        ("0x5002538E40A1B2C3", "0x5002538e40a1b2c3"),
        ("eui.0025385b71b0a1c2", "eui.0025385b71b0a1c2"),
        ("eui.0000000000000000", None),
        ("t10.ATA     QEMU HARDDISK", None),
        (None, None),
    ],
)
def test_worldwide_names_have_one_form(text: str | None, wwn: str | None) -> None:
    assert normal_wwn(text) == wwn


def test_every_recorded_drive_has_its_serial_without_any_tool(recorded_system: SystemPaths) -> None:
    names = ("nvme0n1", "sda", "sdb", "sdc", "sdd", "vda")
    serials = {name: kernel_identity(name, recorded_system).serials[0] for name in names}
    assert serials == {
        "nvme0n1": "LAB-d0",
        "sda": "LAB-d1",
        "sdb": "LAB-d2",
        "sdc": "LAB-d4",
        "sdd": "LAB-d3",
        "vda": "LAB-d5",
    }


def test_a_partition_has_the_serial_of_its_disk_and_its_own_size(recorded_system: SystemPaths) -> None:
    disk, partition = read_identity("sda", recorded_system), read_identity("sda1", recorded_system)
    assert partition.serials == disk.serials
    assert partition.diskseq == disk.diskseq
    assert partition.size_bytes == 100_000 * 512 < disk.size_bytes


def test_volumes_and_arrays_are_known_by_their_own_identifier(recorded_system: SystemPaths) -> None:
    assert read_identity("dm-0", recorded_system).serials[0].startswith("LVM-")
    assert len(read_identity("md0", recorded_system).serials) == 1
