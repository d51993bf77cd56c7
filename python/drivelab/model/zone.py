"""A part of a range with a share of its own of the accesses."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Zone(BaseModel):
    """A part of the range, and its part of the accesses."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    range_fraction: float = Field(gt=0, le=1)
    access_fraction: float = Field(gt=0, le=1)
