"""How many requests the kernel may hold for the drive at once."""

from __future__ import annotations

from drivelab.inventory.block_devices import directory_of
from drivelab.inventory.sysfs import read_int
from drivelab.model.drive import DriveFacts
from drivelab.state.settings.attribute_setting import AttributeSetting

# BLKDEV_MIN_RQ of the kernel: it raises smaller numbers
_LEAST = 4
# MAX_SCHED_RQ of the kernel, 16 times its default; without a scheduler the drive's own tags are the most
_MOST_WITH_SCHEDULER = 2048


class NrRequests(AttributeSetting):
    """Levels are numbers; what is possible depends on the scheduler in use."""

    name = "nr-requests"
    attribute = "queue/nr_requests"

    def bounds(self, drive: DriveFacts) -> tuple[int | None, int | None]:
        """The kernel's own least, and the most under any scheduler."""
        tags = read_int(directory_of(drive.name, self._paths) / "mq" / "0" / "nr_tags")
        return min(_LEAST, tags or _LEAST), max(_MOST_WITH_SCHEDULER, tags)
