"""Purges an NVMe namespace by formatting it with an erase of all user data."""

from __future__ import annotations

from drivelab.inventory import nvme
from drivelab.inventory.block_devices import device_node
from drivelab.inventory.link import nvme_controller
from drivelab.inventory.nvme_controllers import namespaces_beside
from drivelab.inventory.system_paths import SystemPaths
from drivelab.inventory.tools import ask_drive
from drivelab.model.drive import DriveFacts
from drivelab.state.journal import Journal
from drivelab.state.programs import run_program
from drivelab.state.purge.method import PurgeProgress
from drivelab.state.settings.drive_kind import kind_of_drive

# seconds for most drives; large ones may erase block by block
_TIMEOUT_S = 3 * 3600.0
# secure erase setting 1: user data erase
_COMMAND = ("nvme", "format", "--ses=1", "--force", f"--timeout={int(_TIMEOUT_S * 1000)}")


class NvmeFormat:
    """The block format stays as it is."""

    name = "nvme-format"

    def reason(self, drive: DriveFacts, paths: SystemPaths) -> str:
        """Why the drive cannot be purged that way; empty when it can."""
        abilities, reason = ask_abilities(drive, paths)
        if abilities is None:
            return reason
        if not abilities.can_format:
            return "its controller has no Format command"
        others = namespaces_beside(drive.name, paths)
        if abilities.formats_all and others:
            return f"its controller would erase {', '.join(others)} as well"
        return ""

    def purge(self, name: str, journal: Journal, progress: PurgeProgress, paths: SystemPaths) -> None:
        """Format the namespace, and return when it is done."""
        node = str(device_node(name, paths))
        run_program([*_COMMAND, node], journal, timeout_s=_TIMEOUT_S)
        progress(1.0)


def ask_abilities(drive: DriveFacts, paths: SystemPaths) -> tuple[nvme.ControllerAbilities | None, str]:
    """What the controller of a drive can do, and why it is not known."""
    controller = nvme_controller(drive.name, paths) if drive.transport.startswith("nvme") else None
    if controller is None:
        return None, f"{kind_of_drive(drive)} has no NVMe controller"
    node = device_node(controller, paths)
    answer = ask_drive(nvme.abilities_command(node), node)
    if answer.reason:
        return None, answer.reason
    abilities = nvme.parse_abilities(answer.text)
    return abilities, "" if abilities else "its controller does not say what it can do"
