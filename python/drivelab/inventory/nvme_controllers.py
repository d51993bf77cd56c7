"""What hangs together in NVMe: the controllers that lead to a namespace, and the namespaces beside it."""

from __future__ import annotations

import re

from drivelab.inventory.block_devices import directory_of
from drivelab.inventory.link import nvme_controller
from drivelab.inventory.sysfs import entries
from drivelab.inventory.system_paths import SYSTEM, SystemPaths


def controllers_of(name: str, paths: SystemPaths = SYSTEM) -> list[str]:
    """Kernel names of all controllers that lead to a namespace; empty for other drives."""
    inside = entries(directory_of(name, paths) / "device")
    several = [entry for entry in inside if re.fullmatch(r"nvme\d+", entry)]
    one = nvme_controller(name, paths)
    return several or ([one] if one else [])


def namespaces_beside(name: str, paths: SystemPaths = SYSTEM) -> list[str]:
    """Kernel names of the other namespaces that share a controller with one; empty for other drives."""
    controllers = controllers_of(name, paths)
    if not controllers:
        return []
    # with multipath they lie in the subsystem, and the controllers have hidden ones
    directories = [directory_of(name, paths) / "device", *(paths.sys / "class" / "nvme" / one for one in controllers)]
    inside = {entry for directory in directories for entry in entries(directory)}
    return sorted(entry for entry in inside - {name} if re.fullmatch(r"nvme\d+n\d+", entry))
