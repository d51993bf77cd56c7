"""A virtual drive: its numbers say nothing about hardware."""

from __future__ import annotations

from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.target import TargetFacts

CODE = "virtual-drive"


def find_in_target(target: TargetFacts, host: HostFacts | None = None) -> list[Finding]:
    """Drives that are files, memory or another machine; drives seen through a hypervisor."""
    virtual = [drive for drive in target.drives if drive.virtual]
    if virtual:
        named = ", ".join(f"{drive.name} ({drive.virtual})" for drive in virtual)
        text = (
            f"{named} is virtual: the numbers hold for this target as it is now, and not for a drive as hardware; "
            "what it does with flushes is up to whatever is behind it"
        )
        facts = {"virtual_drives": {drive.name: drive.virtual for drive in virtual}}
        return [Finding(CODE, "warning", text, "", facts)]
    if host is not None and host.hypervisor and target.drives:
        text = (
            f"this is a virtual machine ({host.hypervisor}): {target.drives[0].name} looks physical, but the "
            "hypervisor may cache or share it"
        )
        return [Finding(CODE, "note", text, "", {"hypervisor": host.hypervisor})]
    return []
