"""Quantities as a file writes them, with their unit, and as they are held: bytes, ns, shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from drivelab.model.errors import DrivelabError
from drivelab.model.units import parse_bytes, parse_duration_ns


def _bytes(value: object) -> object:
    return _with_unit(value, parse_bytes)


def _nanoseconds(value: object) -> object:
    if isinstance(value, int):
        raise ValueError('write a duration with its unit, in quotes: "5s"')
    return _with_unit(value, parse_duration_ns)


def _with_unit(value: object, parse: Any) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except DrivelabError as error:
        raise ValueError(f"{error.what}; {error.do}") from error


def _share(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = value.strip()
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise ValueError('write a share as "20%" or 0.2') from None


def _schema(pattern: str, example: str, *, number: Mapping[str, Any] | None) -> WithJsonSchema:
    """What an editor accepts: a text with its unit, and a bare number where that is allowed."""
    text = {"type": "string", "pattern": pattern, "examples": [example]}
    return WithJsonSchema({"anyOf": [dict(number), text]} if number else text)


_SIZE_SCHEMA = _schema(
    r"^\s*[0-9]+(\.[0-9]+)?\s*((k|M|G|T|Ki|Mi|Gi|Ti)?B)?\s*$", "4KiB", number={"type": "integer", "minimum": 0}
)
_DURATION_SCHEMA = _schema(r"^\s*[0-9]+(\.[0-9]+)?\s*(ns|us|ms|s|min|h)\s*$", "5s", number=None)
_SHARE_SCHEMA = _schema(
    r"^\s*[0-9]+(\.[0-9]+)?\s*%?\s*$", "20%", number={"type": "number", "exclusiveMinimum": 0, "maximum": 1}
)

ByteCount = Annotated[int, BeforeValidator(_bytes), Field(ge=0), _SIZE_SCHEMA]
BlockSize = Annotated[int, BeforeValidator(_bytes), Field(ge=1, le=2**30), _SIZE_SCHEMA]
DurationNs = Annotated[int, BeforeValidator(_nanoseconds), Field(ge=0), _DURATION_SCHEMA]
Share = Annotated[float, BeforeValidator(_share), Field(gt=0, le=1), _SHARE_SCHEMA]
