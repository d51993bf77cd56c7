"""The largest command that the kernel sends to the drive; larger requests are split."""

from __future__ import annotations

import os

from drivelab.model.drive import DriveFacts
from drivelab.state.settings.attribute_setting import AttributeSetting

_KIB = 1024
# what the kernel says of a device that takes requests of any size
_NO_LIMIT_KIB = 2**31 - 1


class MaxSectors(AttributeSetting):
    """Levels are bytes."""

    name = "max-sectors"
    attribute = "queue/max_sectors_kb"

    def level_of(self, raw: str) -> str:
        """Bytes, from KiB."""
        return str(int(raw) * _KIB)

    def raw_of(self, level: str) -> str:
        """KiB, from bytes."""
        return str(int(level) // _KIB)

    def bounds(self, drive: DriveFacts) -> tuple[int | None, int | None]:
        """A page or a block, and what drive and adapter can take."""
        most = self._number(drive, "queue/max_hw_sectors_kb")
        least = max(os.sysconf("SC_PAGE_SIZE"), drive.logical_block_size_bytes)
        return least, most * _KIB if most and most < _NO_LIMIT_KIB else None
