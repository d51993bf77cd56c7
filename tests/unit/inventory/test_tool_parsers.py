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


def test_hdparm_tells_the_level_of_power_management() -> None:
    assert hdparm.parse_apm("\n/dev/sda:\n APM_level\t= 254\n") == "254"
    assert hdparm.parse_apm("\n/dev/sda:\n APM_level\t= off\n") == "off"
    assert hdparm.parse_apm("\n/dev/sda:\n APM_level\t= not supported\n") is None


def test_hdparm_tells_whether_a_password_protects_a_drive(golden: Golden) -> None:
    frozen = hdparm.parse_security(golden("hdparm_security_frozen.txt"))
    assert frozen == hdparm.AtaSecurity(True, False, False, True, erase_minutes=98)
    locked = hdparm.parse_security(golden("hdparm_security_locked.txt"))
    assert locked == hdparm.AtaSecurity(True, True, True, False, erase_minutes=508)
    assert hdparm.parse_security(golden("hdparm_sata.txt")) is None


def test_sdparm_tells_whether_the_write_cache_can_be_switched(golden: Golden) -> None:
    assert sdparm.parse_changeable(golden("sdparm_sas.txt")) is True
    assert sdparm.parse_changeable("WCE           1  [cha: n, def:  1, sav:  1]\n") is False
    assert sdparm.parse_changeable(golden("sdparm_virtio.txt")) is None


def test_nvme_tells_what_a_controller_can_do_to_all_that_it_holds() -> None:
    text = '{"oacs":266,"fna":4,"sanicap":2684354563}'
    assert nvme.parse_abilities(text) == nvme.ControllerAbilities(True, False, True, True, False)
    assert nvme.parse_abilities('{"oacs":0,"fna":2,"sanicap":4}') == nvme.ControllerAbilities(
        False, True, False, False, True
    )
    assert nvme.parse_abilities("NVMe status: ...") is None
    assert nvme.parse_abilities('{"oacs":1}') is None


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("nvme_sanitize_running.txt", nvme.SanitizeStatus(0.25, True, False)),
        ("nvme_sanitize_done.txt", nvme.SanitizeStatus(1.0, False, False)),
        ("nvme_sanitize_failed.txt", nvme.SanitizeStatus(1.0, False, True)),
    ],
)
def test_nvme_tells_how_far_a_sanitize_is(golden: Golden, name: str, status: nvme.SanitizeStatus) -> None:
    assert nvme.parse_sanitize_status(golden(name)) == status
    assert nvme.parse_sanitize_status("") is None
