"""What the system's tools print is read right, and odd output never raises."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from drivelab.inventory import hdparm, lsblk, nvme, sdparm, smartctl, wipefs

Golden = Callable[[str], str]


def test_lsblk_lists_devices_at_every_depth(golden: Golden) -> None:
    devices = lsblk.parse(golden("lsblk_udev.json"))
    assert set(devices) == {"sda", "sda1", "sda2", "sda3", "dm-0"}
    assert devices["sda"].serial == "S3Z8NB0K123456A"
    assert devices["sda"].partition_table == "gpt"
    assert devices["sda2"].contents == "crypto_LUKS"
    assert (devices["dm-0"].contents, devices["dm-0"].label) == ("ext4", "home")


def test_lsblk_without_udev_still_names_the_drives(golden: Golden) -> None:
    devices = lsblk.parse(golden("lsblk_guest.json"))
    assert devices["nvme0n1"].serial == "LAB-d0"
    assert devices["sda"].model == "QEMU HARDDISK"
    assert "md0" in devices


@pytest.mark.parametrize("text", ["", "lsblk: unknown option", "[]", '{"blockdevices": null}', '{"blockdevices": []}'])
def test_lsblk_output_of_another_form_lists_nothing(text: str) -> None:
    assert lsblk.parse(text) == {}


def test_smartctl_tells_an_nvme_drive(golden: Golden) -> None:
    facts = smartctl.parse(golden("smartctl_nvme.json"))
    assert (facts.model, facts.serial, facts.firmware) == ("QEMU NVMe Ctrl", "LAB-d0", "7.2.22")
    assert facts.write_cache_enabled is None


def test_smartctl_tells_a_sata_drive_with_its_cache_and_its_link(golden: Golden) -> None:
    assert smartctl.parse(golden("smartctl_sata.json")).write_cache_enabled is True
    facts = smartctl.parse(golden("smartctl_sata_ssd.json"))
    assert facts.write_cache_enabled is False
    assert facts.wwn == "0x5002538e2a9992c3"
    assert (facts.link_rate_bits_per_s, facts.link_rate_bits_per_s_max) == (3_000_000_000, 6_000_000_000)


def test_smartctl_tells_a_scsi_drive(golden: Golden) -> None:
    facts = smartctl.parse(golden("smartctl_scsi.json"))
    assert (facts.serial, facts.firmware) == ("LAB-d2", "2.5+")


def test_smartctl_that_refuses_a_bridge_gives_its_own_words(golden: Golden) -> None:
    facts = smartctl.parse(golden("smartctl_usb_refused.json"))
    assert facts.serial is None
    assert "Unknown USB bridge" in facts.reason


@pytest.mark.parametrize("text", ["", "smartctl 6.6: UNRECOGNIZED OPTION: json"])
def test_smartctl_without_json_says_so(text: str) -> None:
    assert "no JSON" in smartctl.parse(text).reason


@pytest.mark.parametrize(
    ("parse", "name", "expected"),
    [
        (hdparm.parse_write_cache, "hdparm_sata.txt", True),
        (hdparm.parse_write_cache, "hdparm_scsi.txt", None),
        (hdparm.parse_write_cache, "hdparm_nvme.txt", None),
        (sdparm.parse_write_cache, "sdparm_scsi.txt", True),
        (sdparm.parse_write_cache, "sdparm_sas.txt", False),
        (sdparm.parse_write_cache, "sdparm_virtio.txt", None),
        (nvme.parse_write_cache, "nvme_feature6.txt", True),
        (nvme.parse_write_cache, "nvme_feature6_old.txt", False),
    ],
)
def test_each_tool_says_whether_the_write_cache_is_on(
    parse: Callable[[str], bool | None], name: str, expected: bool | None, golden: Golden
) -> None:
    assert parse(golden(name)) is expected


def test_hdparm_off_is_off() -> None:
    assert hdparm.parse_write_cache("/dev/sda:\n write-caching =  0 (off)\n") is False


def test_wipefs_lists_each_type_once() -> None:
    text = '{"signatures": [{"type": "gpt"}, {"type": "gpt"}, {"type": "PMBR"}, {"type": null}]}'
    assert wipefs.parse(text) == ("gpt", "PMBR")
    assert wipefs.parse("") == ()
