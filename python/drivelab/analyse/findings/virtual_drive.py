"""A virtual drive: its numbers say nothing about hardware."""

from __future__ import annotations

from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.names import in_number
from drivelab.model.target import TargetFacts

CODE = "virtual-drive"


def find_in_target(target: TargetFacts, host: HostFacts | None = None) -> list[Finding]:
    """Drives that are files, memory or another machine; drives seen through a hypervisor."""
    if target.simulated is not None:
        text = f"{target.text} is simulated ({target.simulated.title}): the numbers are of a model, not of hardware"
        return [Finding(CODE, "warning", text, "", {"virtual_drives": {target.text: "simulated drive"}})]
    virtual = [drive for drive in target.drives if drive.virtual]
    if virtual:
        named = list(dict.fromkeys(drive.name for drive in virtual))
        names = ", ".join(named)
        kinds = ", ".join(dict.fromkeys(drive.virtual for drive in virtual))
        text = (
            f"{names} {in_number(len(named), 'are')} virtual: the numbers are of {_behind(kinds)}; "
            f"they hold as it is now and say nothing about hardware, and what a flush does is up to it too ({kinds})"
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


def answers_for_hardware(target: TargetFacts) -> bool:
    """Whether a hypervisor, or a model, answers, and may limit it; a loop device is limited by nobody."""
    return target.simulated is not None or any("virtual" in drive.virtual for drive in target.drives)


def _behind(kinds: str) -> str:
    """What answers instead of a drive."""
    if "virtual machine" in kinds or "virtual drive" in kinds:
        return "the host's storage and its cache"
    return "the file behind it and its drive" if kinds == "loop device" else "what is behind it"
