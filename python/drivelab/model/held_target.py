"""A file or directory that is held open, whatever its name means by now."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class HeldTarget(BaseModel):
    """A file or directory that is held open, by its descriptor; device and inode say which one that must be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    descriptor: int
    device: int
    inode: int

    @property
    def opened_by(self) -> str:
        """A path to exactly this file or directory."""
        return f"/proc/self/fd/{self.descriptor}"
