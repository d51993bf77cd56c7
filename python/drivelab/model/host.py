"""The computer that a measurement was made on."""

from __future__ import annotations

from dataclasses import dataclass, field

from drivelab.model.plain import Plain


@dataclass(frozen=True, slots=True)
class HostFacts(Plain):
    """What a reader must know about the host to compare its numbers with others.

    Attributes
    ----------
    hostname, kernel_release, kernel_version, architecture : str
        As ``uname`` prints them.
    distribution : str or None
        ``PRETTY_NAME`` of os-release.
    machine_vendor, machine_model : str or None
        From the firmware's DMI tables.
    hypervisor : str or None
        Which hypervisor runs this system; empty on bare metal; None when unknown.
    container : str or None
        Which container this program runs in; empty for none.
    cpu_count, cpu_usable_count : int
        Processors online, and those that this process may run on.
    cpu_governor : str or None
        Frequency governor; several are joined by a comma.
    memory_bytes : int
        Memory the kernel manages.
    clocksource : str or None
        What the kernel's clock reads.
    tick_rate_hz : int or None
        The kernel's HZ, which decides how often file times change.
    unknown : dict of str to str
        Why a fact is missing, by field.
    """

    hostname: str
    kernel_release: str
    kernel_version: str
    architecture: str
    distribution: str | None
    machine_vendor: str | None
    machine_model: str | None
    hypervisor: str | None
    container: str | None
    cpu_model: str | None
    cpu_count: int
    cpu_usable_count: int
    cpu_governor: str | None
    memory_bytes: int
    clocksource: str | None
    tick_rate_hz: int | None
    drivelab_version: str
    unknown: dict[str, str] = field(default_factory=dict)
