"""Reads the fields of a JSON document; what is not as it should be is named with its line and its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from drivelab.interop.foreign import SourceText, broken_field, checked
from drivelab.interop.json_place import JsonDocument, line_of_value
from drivelab.model.errors import DrivelabError

# larger than anything that is taken for a number; integers of JSON have no bound of their own
_ABSURD = 1e19


@dataclass(frozen=True, slots=True)
class JsonFields:
    """A mapping within a document, and where it stands.

    Attributes
    ----------
    path : tuple of str or int
        Where in the document it stands.
    """

    source: SourceText
    document: JsonDocument
    values: Mapping[str, Any]
    path: tuple[str | int, ...] = ()

    @property
    def line(self) -> int:
        """Line on which it begins."""
        return line_of_value(self.source.text, self.document, self.path)

    def below(self, *steps: str | int) -> JsonFields:
        """The mapping at a path below; an empty one where there is none.

        Raises
        ------
        DrivelabError
            I503: there is something else.
        """
        found: Any = self.values
        for step in steps:
            if isinstance(step, str):
                found = found.get(step, {}) if isinstance(found, Mapping) else found
            else:
                found = found[step]
        path = (*self.path, *steps)
        if not isinstance(found, Mapping):
            raise self._broken(f"{_kind(found)} stands where a mapping should", path)
        return replace(self, values=found, path=path)

    def each(self, name: str) -> Iterator[JsonFields]:
        """The mappings of a list; none where there is no list.

        Raises
        ------
        DrivelabError
            I503: it is no list, or holds something else.
        """
        found = self.values.get(name, [])
        if not isinstance(found, list):
            raise self._broken(f"{_kind(found)} stands where a list should", (*self.path, name))
        for place in range(len(found)):
            yield self.below(name, place)

    def number(self, name: str, default: float | None = None) -> float:
        """The number of a field.

        Raises
        ------
        DrivelabError
            I503: it holds none, one out of range, or is missing and there is no default.
        """
        found = self.values.get(name, default)
        path = (*self.path, name)
        if isinstance(found, bool) or not isinstance(found, int | float):
            what = "it is missing" if found is None else f"{_kind(found)} stands where a number should"
            raise self._broken(what, path)
        value = float(found) if abs(found) < _ABSURD else _ABSURD
        # finding the line takes time, and only errors need it
        line = 0 if 0 <= value < _ABSURD else self._line(path)
        return checked(value, f"{value:g}", self.source, line, _dotted(path))

    def text(self, name: str, default: str = "") -> str:
        """The text of a field; a number is its digits.

        Raises
        ------
        DrivelabError
            I503: it holds something else.
        """
        found = self.values.get(name, default)
        if isinstance(found, str):
            return found
        if isinstance(found, int | float) and not isinstance(found, bool):
            return f"{found:g}" if abs(found) < 1e15 else "very many"
        raise self._broken(f"{_kind(found)} stands where a text should", (*self.path, name))

    def broken(self, what: str, name: str) -> DrivelabError:
        """The error of one of its fields: I503, with its place."""
        return self._broken(what, (*self.path, name))

    def _broken(self, what: str, path: tuple[str | int, ...]) -> DrivelabError:
        return broken_field(what, self.source, self._line(path), _dotted(path))

    def _line(self, path: tuple[str | int, ...]) -> int:
        return line_of_value(self.source.text, self.document, path)


def _dotted(path: tuple[str | int, ...]) -> str:
    return "field " + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
