"""How many commands the kernel sends to the drive before it waits for an answer."""

from __future__ import annotations

from drivelab.inventory.sysfs import read_int
from drivelab.model.drive import DriveFacts
from drivelab.state.settings.attribute_setting import AttributeSetting
from drivelab.state.settings.kernel_attribute import attribute_path


class DeviceQueueDepth(AttributeSetting):
    """Levels are numbers; a depth of 1 turns NCQ of a SATA drive off."""

    name = "device-queue-depth"
    attribute = "device/queue_depth"
    absent = "has no depth that can be set: only SCSI, SAS and SATA drives have one (use nr-requests)"

    def bounds(self, drive: DriveFacts) -> tuple[int | None, int | None]:
        """One command, and as many as the host adapter takes."""
        path = attribute_path(drive.name, "scsi_host/can_queue", self._paths)
        return 1, (read_int(path) or None) if path else None
