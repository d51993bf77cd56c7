"""The computer that drivelab runs on, as far as it matters for comparing numbers."""

from __future__ import annotations

import gzip
import os
import platform
from pathlib import Path

from drivelab.inventory.sysfs import entries, read_text
from drivelab.inventory.system_paths import SYSTEM, SystemPaths
from drivelab.model.host import HostFacts

# what hypervisors write into the firmware's tables, lower case; after systemd's virt.c
_HYPERVISORS_BY_DMI = (
    ("qemu", "QEMU"),
    ("kvm", "KVM"),
    ("amazon ec2", "Amazon EC2"),
    ("google", "Google Compute Engine"),
    ("vmware", "VMware"),
    ("innotek", "VirtualBox"),
    ("virtualbox", "VirtualBox"),
    ("xen", "Xen"),
    ("microsoft corporation virtual machine", "Hyper-V"),
    ("openstack", "OpenStack"),
    ("parallels", "Parallels"),
    ("apple virtualization", "Apple Virtualization"),
)
_CONTAINER_FILES = ((".dockerenv", "docker"), ("run/.containerenv", "podman"))


def host_facts(drivelab_version: str, paths: SystemPaths = SYSTEM) -> HostFacts:
    """Facts about this computer."""
    name = platform.uname()
    cpu = _fields(paths.proc / "cpuinfo")
    dmi = paths.sys / "class" / "dmi" / "id"
    facts = HostFacts(
        hostname=name.node,
        kernel_release=name.release,
        kernel_version=name.version,
        architecture=name.machine,
        distribution=_os_release(paths).get("PRETTY_NAME"),
        machine_vendor=read_text(dmi / "sys_vendor"),
        machine_model=read_text(dmi / "product_name") or read_text(paths.proc / "device-tree" / "model"),
        hypervisor=hypervisor(cpu.get("flags", ""), paths),
        container=container(paths),
        cpu_model=cpu.get("model name") or cpu.get("Model") or cpu.get("cpu model"),
        cpu_count=os.cpu_count() or 1,
        cpu_usable_count=len(os.sched_getaffinity(0)),
        cpu_governor=_governor(paths),
        memory_bytes=_memory_bytes(paths),
        clocksource=read_text(_clock_directory(paths) / "current_clocksource"),
        tick_rate_hz=_tick_rate(name.release, paths),
        drivelab_version=drivelab_version,
    )
    facts.unknown.update({field: why for field, why in _REASONS.items() if getattr(facts, field) is None})
    return facts


_REASONS = {
    "distribution": "there is no os-release file",
    "machine_vendor": "the firmware passes on no DMI tables",
    "machine_model": "the firmware passes on no DMI tables",
    "hypervisor": "neither the processor nor the firmware names one",
    "cpu_model": "/proc/cpuinfo names none",
    "cpu_governor": "the kernel does not control the frequency here",
    "clocksource": "sysfs does not show it",
    "tick_rate_hz": "neither /proc/config.gz nor /boot holds the kernel's configuration",
}


def hypervisor(cpu_flags: str, paths: SystemPaths = SYSTEM) -> str | None:
    """Name of the hypervisor; empty on bare metal, "unnamed" when one is there and does not say which.

    None when it cannot be told: other processors than x86 have no flag for it.
    """
    dmi = paths.sys / "class" / "dmi" / "id"
    told = " ".join(read_text(dmi / field) or "" for field in ("sys_vendor", "product_name", "bios_vendor")).lower()
    named = next((name for text, name in _HYPERVISORS_BY_DMI if text in told), None)
    kind = read_text(paths.sys / "hypervisor" / "type")
    has_flag = "hypervisor" in cpu_flags.split()
    if has_flag or kind:
        return named or kind or _hypervisor_by_clock(paths) or "unnamed"
    if cpu_flags:
        return ""
    return named


def _hypervisor_by_clock(paths: SystemPaths) -> str:
    """Name of the hypervisor that offers its own clock; empty when none does."""
    clocks = read_text(_clock_directory(paths) / "available_clocksource") or ""
    known = (("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen"))
    return next((name for text, name in known if text in clocks), "")


def container(paths: SystemPaths = SYSTEM) -> str | None:
    """Name of the container that this process runs in; empty for none."""
    for file, name in _CONTAINER_FILES:
        if (paths.root / file).exists():
            return name
    environment = read_text(paths.proc / "1" / "environ") or ""
    told = [entry.partition("=")[2] for entry in environment.split("\0") if entry.startswith("container=")]
    if told:
        return told[0]
    groups = read_text(paths.proc / "1" / "cgroup") or ""
    return next((name for name in ("kubepods", "docker", "lxc", "libpod") if f"/{name}" in groups), "")


def _clock_directory(paths: SystemPaths) -> Path:
    return paths.sys / "devices" / "system" / "clocksource" / "clocksource0"


def _fields(path: Path) -> dict[str, str]:
    """``name : value`` lines of a file; the first of a name counts."""
    found: dict[str, str] = {}
    for line in (read_text(path) or "").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found


def _os_release(paths: SystemPaths) -> dict[str, str]:
    text = read_text(paths.root / "etc" / "os-release") or read_text(paths.root / "usr" / "lib" / "os-release") or ""
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip(): value.strip().strip("\"'") for name, equals, value in pairs if equals}


def _governor(paths: SystemPaths) -> str | None:
    root = paths.sys / "devices" / "system" / "cpu"
    governors = {read_text(root / cpu / "cpufreq" / "scaling_governor") for cpu in entries(root)} - {None}
    return ", ".join(sorted(governor for governor in governors if governor)) or None


def _memory_bytes(paths: SystemPaths) -> int:
    words = _fields(paths.proc / "meminfo").get("MemTotal", "0").split()
    return int(words[0]) * 1024  # the file says kB and means KiB


def _tick_rate(release: str, paths: SystemPaths) -> int | None:
    text = _gunzipped(paths.proc / "config.gz") or read_text(paths.root / "boot" / f"config-{release}") or ""
    values = [line.partition("=")[2] for line in text.splitlines() if line.startswith("CONFIG_HZ=")]
    return int(values[0]) if values else None


def _gunzipped(path: Path) -> str | None:
    try:
        with gzip.open(path, "rt") as file:
            return file.read()
    except (OSError, EOFError):
        return None
