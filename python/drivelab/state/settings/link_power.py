"""Power management of a SATA link: how deep the link sleeps between commands."""

from __future__ import annotations

from drivelab.model.drive import DriveFacts
from drivelab.model.setting import LINK_POWER_LEVELS
from drivelab.state.settings.attribute_setting import AttributeSetting
from drivelab.state.settings.kernel_attribute import read_attribute

# the firmware's own choice, in which kernels begin, and to which they do not go back
_OF_FIRMWARE = "keep_firmware_settings"


class LinkPower(AttributeSetting):
    """Levels are the kernel's own names; it is the port that is set, and every drive on it."""

    name = "link-power"
    attribute = "scsi_host/link_power_management_policy"
    absent = "has no SATA link whose power the kernel manages"

    def levels(self, drive: DriveFacts) -> tuple[str, ...]:
        """All that kernels know; an old one knows fewer."""
        return LINK_POWER_LEVELS

    def reason(self, drive: DriveFacts) -> str:
        """Why it cannot be set here; empty when it can."""
        if read_attribute(drive.name, "scsi_host/link_power_management_supported", self._paths) == "0":
            return "its port does not manage the power of the link"
        if read_attribute(drive.name, self.attribute, self._paths) == _OF_FIRMWARE:
            return f"it is {_OF_FIRMWARE}, and the kernel offers no way back to that"
        return super().reason(drive)
