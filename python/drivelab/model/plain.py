"""Plain data for JSON, as dataclasses tell it of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any, ClassVar

from pydantic import BaseModel


class Plain:
    """A dataclass that tells all of its fields, and behind them the properties that `TOLD` names."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    TOLD: ClassVar[tuple[str, ...]] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = (*(one.name for one in fields(self)), *self.TOLD)
        return {name: plain(getattr(self, name)) for name in names}


def plain(value: Any) -> Any:
    """What a field holds as plain data; of other dataclasses their fields."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Plain):
        return value.to_json()
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    return value
