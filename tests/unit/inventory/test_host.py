"""The host's facts are read where the kernel keeps them, and missing ones come with a reason."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping

import pytest

from drivelab.inventory.host import container, host_facts, hypervisor
from drivelab.inventory.system_paths import SystemPaths

MakeSystem = Callable[[Mapping[str, str]], SystemPaths]


def test_the_recorded_machine_is_described(recorded_system: SystemPaths) -> None:
    facts = host_facts("1.2.3", recorded_system)
    assert facts.drivelab_version == "1.2.3"
    assert facts.machine_model == "Standard PC (Q35 + ICH9, 2009)"
    assert facts.hypervisor == "QEMU"
    assert facts.cpu_model is not None
    assert facts.cpu_model.startswith("QEMU")
    assert 900 * 2**20 < facts.memory_bytes < 2**30


def test_every_missing_fact_has_a_reason(make_system: MakeSystem) -> None:
    document = host_facts("0", make_system({"/proc/meminfo": "MemTotal: 1000 kB\n"})).to_json()
    missing = {field for field, value in document.items() if value is None}
    assert missing == set(document["unknown"])
    assert document["memory_bytes"] == 1_024_000


def test_governors_clock_tick_and_distribution_are_read(make_system: MakeSystem) -> None:
    paths = make_system(
        {
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
            "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
            "/etc/os-release": 'NAME=Debian\nPRETTY_NAME="Debian GNU/Linux 12"\n',
            "/proc/meminfo": "",
        }
    )
    with gzip.open(paths.proc / "config.gz", "wt") as file:
        file.write("CONFIG_HZ_1000=y\nCONFIG_HZ=1000\n")
    facts = host_facts("0", paths)
    assert facts.cpu_governor == "performance, powersave"
    assert (facts.clocksource, facts.tick_rate_hz) == ("tsc", 1000)
    assert facts.distribution == "Debian GNU/Linux 12"


@pytest.mark.parametrize(
    ("vendor", "flags", "expected"),
    [
        ("QEMU", "fpu hypervisor", "QEMU"),
        ("VMware, Inc.", "fpu hypervisor", "VMware"),
        ("Amazon EC2", "fpu hypervisor", "Amazon EC2"),
        ("Amazon EC2", "fpu", ""),
        ("Dell Inc.", "fpu sse", ""),
        ("Dell Inc.", "fpu hypervisor", "unnamed"),
        ("QEMU", "", "QEMU"),
        ("Ampere", "", None),
    ],
)
def test_hypervisors_are_told_by_processor_and_firmware(
    make_system: MakeSystem, vendor: str, flags: str, expected: str | None
) -> None:
    assert hypervisor(flags, make_system({"/sys/class/dmi/id/sys_vendor": vendor})) == expected


def test_a_hypervisor_without_firmware_tables_is_told_by_its_clock(make_system: MakeSystem) -> None:
    clock = {"/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock \n"}
    assert hypervisor("fpu hypervisor", make_system(clock)) == "KVM"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/.dockerenv": ""}, "docker"),
        ({"/run/.containerenv": ""}, "podman"),
        ({"/proc/1/environ": "A=b\0container=lxc\0C=d"}, "lxc"),
        ({"/proc/1/cgroup": "0::/kubepods/besteffort/pod1"}, "kubepods"),
        ({"/proc/1/cgroup": "0::/init.scope"}, ""),
    ],
)
def test_containers_are_recognised(make_system: MakeSystem, files: Mapping[str, str], expected: str) -> None:
    assert container(make_system(files)) == expected
