"""Finds the line of a TOML file that a key or a value stands in, so that an error can name it."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence

Place = tuple[str | int, ...]

# what may stand between two things: white space, commas, comments
_BETWEEN = re.compile(r"(?:[\s,]|#[^\n]*)*")
_KEY = re.compile(r"[ \t]*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[A-Za-z0-9_-]+)[ \t]*(\.?)")
_STRING = re.compile(
    r"\"\"\"(?:[^\\]|\\.)*?\"{3,5}(?!\")|'''.*?'{3,5}(?!')|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'",
    re.DOTALL,
)
_BARE = re.compile(r"[^,\]}#\n]+")


def line_of(text: str, location: Sequence[str | int]) -> int:
    """Number of the line, from 1, that comes nearest to a place in the document.

    Parameters
    ----------
    text : str
        A TOML document; it must be valid.
    location : sequence of str or int
        Keys and indices from the top: ``("workloads", 1, "block_size")``.

    Returns
    -------
    int
        The line of the innermost key or value that can be found; for a missing
        key the header of its table; 1 when nothing is found.
    """
    best_depth, best_line = 0, 1
    for line, place in _Scanner(text).places():
        depth = len(place)
        if depth > best_depth and place == tuple(location[:depth]):
            best_depth, best_line = depth, line
    return best_line


class _Scanner:
    """Walks through a valid TOML document."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line_ends = [match.start() for match in re.finditer("\n", text)]
        self._array_lengths: dict[Place, int] = {}

    def places(self) -> Iterator[tuple[int, Place]]:
        """Every header, key and element of an array: its line, and its place."""
        table: Place = ()
        self._skip()
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                line = self._line()
                table = self._header()
                if table[-1] == 0:
                    # the array as a whole
                    yield line, table[:-1]
                yield line, table
            else:
                yield from self._assignment(table)
            self._skip()

    def _header(self) -> Place:
        is_array = self._text.startswith("[[", self._at)
        self._at += 2 if is_array else 1
        names = self._keys()
        self._at += 2 if is_array else 1
        place: Place = ()
        for name in names[:-1]:
            place = self._last_element((*place, name))
        place = (*place, names[-1])
        if is_array:
            self._array_lengths[place] = self._array_lengths.get(place, 0) + 1
        return self._last_element(place)

    def _last_element(self, place: Place) -> Place:
        """The last element of an array of tables: what stands below its name lies in that."""
        length = self._array_lengths.get(place, 0)
        return (*place, length - 1) if length else place

    def _assignment(self, table: Place) -> Iterator[tuple[int, Place]]:
        line = self._line()
        place = (*table, *self._keys())
        yield line, place
        # the equals sign
        self._at += 1
        yield from self._value(place)

    def _keys(self) -> list[str]:
        """A dotted key; ends before what follows it."""
        names = []
        while match := _KEY.match(self._text, self._at):
            self._at = match.end()
            names.append(match[1].strip("\"'"))
            if not match[2]:
                break
        return names

    def _value(self, place: Place) -> Iterator[tuple[int, Place]]:
        while self._text[self._at] in " \t":
            self._at += 1
        opening = self._text[self._at]
        if opening == "[":
            yield from self._array(place)
        elif opening == "{":
            yield from self._inline_table(place)
        else:
            pattern = _STRING if opening in "\"'" else _BARE
            match = pattern.match(self._text, self._at)
            self._at = match.end() if match else len(self._text)

    def _array(self, place: Place) -> Iterator[tuple[int, Place]]:
        self._at += 1
        index = 0
        self._skip()
        while self._text[self._at] != "]":
            yield self._line(), (*place, index)
            yield from self._value((*place, index))
            index += 1
            self._skip()
        self._at += 1

    def _inline_table(self, place: Place) -> Iterator[tuple[int, Place]]:
        self._at += 1
        self._skip()
        while self._text[self._at] != "}":
            yield from self._assignment(place)
            self._skip()
        self._at += 1

    def _skip(self) -> None:
        match = _BETWEEN.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _line(self) -> int:
        return bisect.bisect_left(self._line_ends, self._at) + 1
