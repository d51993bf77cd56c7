"""A part of a range with a share of its own of the accesses."""

from __future__ import annotations

from pydantic import Field

from drivelab.model.frozen import FrozenModel


class Zone(FrozenModel):
    """A part of the range, and its part of the accesses."""

    range_fraction: float = Field(gt=0, le=1)
    access_fraction: float = Field(gt=0, le=1)
