"""Reads JSON that stands in a file with other text, and finds the line of a value in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from drivelab.interop.foreign import SourceText
from drivelab.model.errors import DrivelabError

# places at which a document may begin that are tried before the file is given up
_TRIED_MAX = 64
# ("jobs", 7): as deep as the items are of which there are many
_ITEM_DEPTH = 2
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """A JSON document within a file.

    Attributes
    ----------
    begin, end : int
        Where it stands in the file, in characters.
    """

    value: Any
    begin: int
    end: int


def json_documents(source: SourceText, opening: str = "{") -> tuple[list[JsonDocument], DrivelabError | None]:
    """The JSON documents of a file, one after the other, whatever text stands between them.

    Parameters
    ----------
    opening : str
        With which characters a document begins: ``{`` or ``{[``.

    Returns
    -------
    list of JsonDocument, DrivelabError or None
        The documents, and I502 for the first one that cannot be read.
    """
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    begins = re.compile(rf"^[ \t]*([{re.escape(opening)}])", re.MULTILINE)
    found: list[JsonDocument] = []
    failure: DrivelabError | None = None
    at, tried = 0, 0
    while tried < _TRIED_MAX and (match := begins.search(source.text, at)):
        try:
            value, end = decoder.raw_decode(source.text, match.start(1))
        except (ValueError, RecursionError) as error:
            failure = failure or _json_error(error, source, match.start(1))
            at, tried = match.end(), tried + 1
            continue
        found.append(JsonDocument(value, match.start(1), end))
        at = end
    return found, failure


def line_at(text: str, position: int) -> int:
    """Number of the line on which a character stands, from 1."""
    return text.count("\n", 0, position) + 1


def line_of_value(text: str, document: JsonDocument, path: tuple[str | int, ...]) -> int:
    """Line on which the value at a path of a document stands; that of the document where it cannot be found.

    Parameters
    ----------
    path : tuple of str or int
        Keys and places: ``("jobs", 0, "read", "iops")``.
    """
    if len(path) <= _ITEM_DEPTH:
        lines = _lines_of_items(text, document.begin, document.end)
        return lines.get(path) or line_at(text, document.begin)
    for here, position in _values(text, document.begin, document.end):
        if len(here) == len(path) and tuple(here) == path:
            return line_at(text, position)
    return line_at(text, document.begin)


@lru_cache(maxsize=1)
def _lines_of_items(text: str, begin: int, end: int) -> dict[tuple[str | int, ...], int]:
    """Lines of the upper values, in one go: every job of a file of thousands asks for its own."""
    lines: dict[tuple[str | int, ...], int] = {}
    line, counted = 1, 0
    for here, position in _values(text, begin, end):
        if len(here) <= _ITEM_DEPTH and (path := tuple(here)) not in lines:
            line += text.count("\n", counted, position)
            counted = position
            lines[path] = line
    return lines


def _values(text: str, begin: int, end: int) -> Iterator[tuple[list[str | int], int]]:
    """The path of each key and value, in the order of the text, and where it stands; the list is used again."""
    # of each open mapping or list: the key or place at which the reading is
    here: list[str | int] = []
    is_key: list[bool] = []
    for token in _TOKEN.finditer(text, begin, end):
        word = token[0]
        if word in "}]":
            if here:
                here.pop()
                is_key.pop()
            continue
        if word == ",":
            if here and isinstance(here[-1], int):
                here[-1] += 1
            elif is_key:
                is_key[-1] = True
            continue
        if word == ":":
            continue
        if is_key and is_key[-1] and word.startswith('"'):
            here[-1], is_key[-1] = word[1:-1], False
            yield here, token.start()
            continue
        yield here, token.start()
        if word in "{[":
            here.append("" if word == "{" else 0)
            is_key.append(word == "{")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _json_error(error: Exception, source: SourceText, begin: int) -> DrivelabError:
    if isinstance(error, json.JSONDecodeError):
        what = f"{error.msg[:1].lower()}{error.msg[1:]}"
        return DrivelabError(
            "I502", f"it is no JSON: {what}", where=f"{source.place(error.lineno)}, column {error.colno}"
        )
    why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    return DrivelabError("I502", f"it is no JSON: {why}", where=source.place(line_at(source.text, begin)))
