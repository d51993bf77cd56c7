"""Write-back throttling: the kernel holds back buffered writes while reads take longer than this."""

from __future__ import annotations

from drivelab.model.drive import DriveFacts
from drivelab.state.settings.attribute_setting import AttributeSetting

_NS_PER_US = 1000


class WriteBackThrottling(AttributeSetting):
    """Levels are nanoseconds, or ``off``."""

    name = "write-back-throttling"
    attribute = "queue/wbt_lat_usec"
    absent = "has no write-back throttling: this kernel was built without it (CONFIG_BLK_WBT)"

    def level_of(self, raw: str) -> str:
        """Nanoseconds, from microseconds; 0 stands for off."""
        return "off" if raw == "0" else str(int(raw) * _NS_PER_US)

    def raw_of(self, level: str) -> str:
        """Microseconds, from nanoseconds."""
        return "0" if level == "off" else str(int(level) // _NS_PER_US)

    def levels(self, drive: DriveFacts) -> tuple[str, ...]:
        """The level that is no number."""
        return ("off",)

    def bounds(self, drive: DriveFacts) -> tuple[int | None, int | None]:
        """One microsecond; the kernel knows no most."""
        return _NS_PER_US, None
