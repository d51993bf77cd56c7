"""Autonomous power states of an NVMe drive: whether it goes to sleep by itself when idle.

The kernel computes the table of the feature from the longest wake-up latency
that it is told to bear, and writes it again whenever it resets the controller.
So the kernel is told, not the drive: what is put back is the same number, from
which the kernel makes the same table.
"""

from __future__ import annotations

from drivelab.inventory import nvme
from drivelab.inventory.block_devices import device_node
from drivelab.inventory.link import nvme_controller
from drivelab.inventory.sysfs import read_text
from drivelab.inventory.tools import ask_drive
from drivelab.model.drive import DriveFacts
from drivelab.state.settings.attribute_setting import AttributeSetting

# default_ps_max_latency_us of the module nvme_core, when it does not say itself
_DEFAULT_TOLERANCE_US = "100000"


class Apst(AttributeSetting):
    """``off`` lets the kernel bear no wake-up latency; ``on`` as much as the kernel's default."""

    name = "apst"
    attribute = "nvme/power/pm_qos_latency_tolerance_us"
    absent = "has no autonomous power states that the kernel uses"

    def level_of(self, raw: str) -> str:
        """On or off; any latency that is borne turns it on."""
        return "off" if raw == "0" else "on"

    def raw_of(self, level: str) -> str:
        """Longest wake-up latency to bear, in microseconds."""
        if level == "off":
            return "0"
        parameters = self._paths.sys / "module" / "nvme_core" / "parameters"
        default = read_text(parameters / "default_ps_max_latency_us") or "0"
        return default if default != "0" else _DEFAULT_TOLERANCE_US

    def levels(self, drive: DriveFacts) -> tuple[str, ...]:
        """On and off."""
        return ("on", "off")

    def further_views(self, drive: DriveFacts) -> dict[str, str]:
        """What the drive itself says, where nvme-cli is installed."""
        controller = nvme_controller(drive.name, self._paths)
        if controller is None:
            return {}
        command = nvme.feature_command(device_node(controller, self._paths), nvme.APST)
        answer = nvme.parse_apst(ask_drive(command, device_node(controller, self._paths)).text)
        return {} if answer is None else {" ".join(command[:2]): "on" if answer else "off"}
