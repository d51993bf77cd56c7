"""What most of the models that are read or stored are based on."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """It cannot be changed, and knows no other keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")
