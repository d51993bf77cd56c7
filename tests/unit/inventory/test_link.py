"""Links: how a drive is attached, how fast, and whether it could be faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from drivelab.inventory.drive_notes import describe_link
from drivelab.inventory.identify import AtaIdentity
from drivelab.inventory.link import link_of, parse_rate, transport_of
from drivelab.inventory.system_paths import SystemPaths
from drivelab.model.drive import LinkFacts

MakeSystem = Callable[[Mapping[str, str]], SystemPaths]
PCI = "/sys/devices/pci0000:00/0000:01:00.0"
SATA = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda"
USB = "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1"
SAS = "/sys/devices/pci0000:00/0000:02:00.0/host0"


def nvme(speed: str, width: int) -> dict[str, str]:
    return {
        "/sys/class/block/nvme0n1": "-> ../../devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1",
        f"{PCI}/nvme/nvme0/nvme0n1/size": "100",
        f"{PCI}/nvme/nvme0/nvme0n1/device": "-> ../../nvme0",
        f"{PCI}/nvme/nvme0/transport": "pcie",
        f"{PCI}/nvme/nvme0/device": "-> ../../../0000:01:00.0",
        f"{PCI}/current_link_speed": speed,
        f"{PCI}/current_link_width": str(width),
        f"{PCI}/max_link_speed": "16.0 GT/s PCIe",
        f"{PCI}/max_link_width": "4",
    }


def test_an_nvme_drive_at_its_best_is_not_below_its_maximum(make_system: MakeSystem) -> None:
    link = link_of("nvme0n1", None, make_system(nvme("16.0 GT/s PCIe", 4)))
    assert link == LinkFacts("pcie", 16_000_000_000, 16_000_000_000, 4, 4)
    assert not link.is_below_maximum
    assert describe_link(link) == "PCIe 16 GT/s x4, at most 7.88 GB/s"


@pytest.mark.parametrize(("speed", "width"), [("8.0 GT/s PCIe", 4), ("16.0 GT/s PCIe", 2)])
def test_an_nvme_drive_in_a_slow_or_narrow_slot_is_below_its_maximum(
    make_system: MakeSystem, speed: str, width: int
) -> None:
    link = link_of("nvme0n1", None, make_system(nvme(speed, width)))
    assert link is not None
    assert link.is_below_maximum
    assert "of 16 GT/s x4" in describe_link(link)


def test_a_multipath_nvme_drive_is_found_through_its_subsystem(make_system: MakeSystem) -> None:
    files = nvme("16.0 GT/s PCIe", 4) | {
        "/sys/class/block/nvme0n1": "-> ../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1",
        "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/size": "100",
        "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/device": "-> ../../nvme-subsys0",
        "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0": "-> ../../../pci0000:00/0000:01:00.0/nvme/nvme0",
    }
    paths = make_system(files)
    link = link_of("nvme0n1", None, paths)
    assert transport_of("nvme0n1", paths) == "nvme"
    assert link is not None
    assert link.lanes == 4


def test_an_nvme_drive_over_the_network_is_named_so(make_system: MakeSystem) -> None:
    paths = make_system(nvme("16.0 GT/s PCIe", 4) | {f"{PCI}/nvme/nvme0/transport": "tcp\n"})
    assert transport_of("nvme0n1", paths) == "nvme-tcp"
    assert link_of("nvme0n1", None, paths) is None


@pytest.mark.parametrize(
    ("port_limit", "drive_limit", "most"),
    [("6.0 Gbps", 6_000_000_000, 6_000_000_000), ("3.0 Gbps", 6_000_000_000, 3_000_000_000), ("<unknown>", None, None)],
)
def test_a_sata_link_is_held_against_the_slower_of_port_and_drive(
    make_system: MakeSystem, port_limit: str, drive_limit: int | None, most: int | None
) -> None:
    paths = make_system(
        {
            "/sys/class/block/sda": f"-> ../..{SATA.removeprefix('/sys')}",
            f"{SATA}/size": "100",
            "/sys/class/ata_link/link3/sata_spd": "3.0 Gbps\n",
            "/sys/class/ata_link/link3/hw_sata_spd_limit": f"{port_limit}\n",
        }
    )
    link = link_of("sda", AtaIdentity("", "", "", drive_limit), paths)
    assert link == LinkFacts("sata", 3_000_000_000, most)
    assert link.is_below_maximum == (most == 6_000_000_000)
    assert link.ceiling_bytes_per_s == 300_000_000


@pytest.mark.parametrize(
    ("version", "speed", "most"),
    [
        (" 3.20", "10000", 10_000_000_000),
        (" 3.00", "480", 5_000_000_000),
        (" 2.10", "480", 5_000_000_000),
        (" 2.00", "480", 480_000_000),
    ],
)
def test_a_usb_drive_is_held_against_its_version(make_system: MakeSystem, version: str, speed: str, most: int) -> None:
    block = f"{USB}/2-1:1.0/host7/target7:0:0/7:0:0:0/block/sdb"
    paths = make_system(
        {
            "/sys/class/block/sdb": f"-> ../..{block.removeprefix('/sys')}",
            f"{block}/size": "100",
            f"{USB}/bcdDevice": "0100",
            f"{USB}/speed": speed,
            f"{USB}/version": version,
            f"{USB}/2-1:1.0/driver": "-> ../../../../bus/usb/drivers/uas",
        }
    )
    link = link_of("sdb", None, paths)
    assert link is not None
    assert (link.rate_bits_per_s, link.rate_bits_per_s_max, link.driver) == (int(speed) * 10**6, most, "uas")


def test_a_sas_drive_tells_the_rate_of_its_phy(make_system: MakeSystem) -> None:
    block = f"{SAS}/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sdc"
    paths = make_system(
        {
            "/sys/class/block/sdc": f"-> ../..{block.removeprefix('/sys')}",
            f"{block}/size": "100",
            f"{SAS}/port-0:0/phy-0:0": "-> ../phy-0:0",
            f"{SAS}/phy-0:0/sas_phy/phy-0:0/negotiated_linkrate": "6.0 Gbit",
            f"{SAS}/phy-0:0/sas_phy/phy-0:0/maximum_linkrate": "12.0 Gbit",
        }
    )
    link = link_of("sdc", None, paths)
    assert transport_of("sdc", paths) == "sas"
    assert link == LinkFacts("sas", 6_000_000_000, 12_000_000_000)
    assert link.is_below_maximum


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("8.0 GT/s PCIe", 8 * 10**9),
        ("1.5 Gbps", 15 * 10**8),
        ("12.0 Gbit", 12 * 10**9),
        ("Unknown", None),
        (None, None),
    ],
)
def test_rates_are_read_in_every_form_that_the_kernel_writes(text: str | None, rate: int | None) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("link", "ceiling"),
    [
        # PCI Express: 5 GT/s lanes carry 500 MB/s, 8 GT/s 984.6 MB/s; SATA 6 Gbit/s: 600 MB/s; USB 5 Gbit/s: 500 MB/s
        (LinkFacts("pcie", 5 * 10**9, lanes=1), 500_000_000),
        (LinkFacts("pcie", 8 * 10**9, lanes=1), 984_615_385),
        (LinkFacts("sata", 6 * 10**9), 600_000_000),
        (LinkFacts("usb", 5 * 10**9), 500_000_000),
        (LinkFacts("sas", 12 * 10**9), 1_200_000_000),
    ],
)
def test_the_ceiling_is_what_the_line_code_leaves(link: LinkFacts, ceiling: int) -> None:
    assert link.ceiling_bytes_per_s == ceiling
