"""A file or directory that is held open, whatever its name means by now."""

from __future__ import annotations

from drivelab.model.frozen import FrozenModel


class HeldTarget(FrozenModel):
    """A file or directory that is held open, by its descriptor; device and inode say which one that must be.

    ``flags`` are asked of ``open`` beside those of all when it is opened once more.
    """

    descriptor: int
    device: int
    inode: int
    flags: int = 0

    @property
    def opened_by(self) -> str:
        """A path to exactly this file or directory."""
        return f"/proc/self/fd/{self.descriptor}"
