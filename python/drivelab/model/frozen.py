"""What most of the models that are read or stored are based on."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """It cannot be changed, and knows no other keys."""

    # what checks it is made when the first one is: every command knows more models than it reads
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
