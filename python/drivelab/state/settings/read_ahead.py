"""How far the kernel reads ahead of a program that reads through the page cache."""

from __future__ import annotations

from drivelab.model.drive import DriveFacts
from drivelab.state.settings.attribute_setting import AttributeSetting

_KIB = 1024


class ReadAhead(AttributeSetting):
    """Levels are bytes; 0 reads nothing ahead."""

    name = "read-ahead"
    attribute = "queue/read_ahead_kb"

    def level_of(self, raw: str) -> str:
        """Bytes, from KiB."""
        return str(int(raw) * _KIB)

    def raw_of(self, level: str) -> str:
        """KiB, from bytes."""
        return str(int(level) // _KIB)

    def bounds(self, drive: DriveFacts) -> tuple[int | None, int | None]:
        """Any number of pages."""
        return 0, None
