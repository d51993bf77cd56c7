"""What the kernel believes of the drive's volatile cache: whether it sends flushes at all."""

from __future__ import annotations

from drivelab.model.drive import DriveFacts
from drivelab.model.setting import KERNEL_WRITE_CACHE_LEVELS
from drivelab.state.settings.attribute_setting import AttributeSetting


class KernelWriteCache(AttributeSetting):
    """``write back`` sends flushes, ``write through`` sends none; the drive is not told.

    A kernel that never saw a cache in the drive refuses ``write back``, or
    takes it without a word and stays at ``write through``.
    """

    name = "kernel-write-cache"
    attribute = "queue/write_cache"

    def levels(self, drive: DriveFacts) -> tuple[str, ...]:
        """Both of them: only trying tells whether the kernel takes ``write back``."""
        return KERNEL_WRITE_CACHE_LEVELS
