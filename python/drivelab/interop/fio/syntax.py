"""The lines of a job file: sections and their options, as they are written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.store.regular_file import opened_regular

# far above what people write, and low enough that no file takes long
FILE_BYTES_MAX = 2**22
SETTINGS_MAX = 20_000
INCLUDE_DEPTH_MAX = 8
# what a job file is called that comes from a pipe
PIPE = "-"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands.

    Attributes
    ----------
    path : str
        The job file, or one that it includes.
    """

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Line:
    """One option as it is written, without blanks and comment around it."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Section:
    """A section: a job, or ``[global]``, whose options hold for the jobs after it."""

    name: str
    place: Place
    lines: tuple[Line, ...]

    @property
    def is_global(self) -> bool:
        """Whether it holds options for later jobs; fio looks at the first letters only."""
        return self.name.startswith("global")


def read_sections(path: Path) -> list[Section]:
    """The sections of a job file, with the lines of the files that they include.

    Raises
    ------
    DrivelabError
        U030: a file cannot be read. U031: it is no job file.
    """
    return _Reader().sections(path)


def uncommented(line: str) -> str:
    """A line without its comment: ``;`` and ``#`` begin one anywhere, also within a value."""
    for mark in (";", "#"):
        line = line.partition(mark)[0]
    return line.strip(" \t\r\n\v\f\0")


class _Reader:
    def __init__(self) -> None:
        self._count = 0
        self._bytes = 0

    def sections(self, path: Path) -> list[Section]:
        found: list[tuple[str, Place, list[Line]]] = []
        for line in self._lines(path):
            if line.text.startswith("["):
                found.append((_section_name(line), line.place, []))
            elif not found:
                raise DrivelabError(
                    "U031",
                    f"'{_shown(line.text)}' stands before the first section",
                    where=str(line.place),
                    do="begin with a section: [global] or [NAME]",
                )
            elif line.text.startswith("include"):
                found[-1][2].extend(self._included(line, depth=1))
            else:
                found[-1][2].append(self._counted(line))
        return [Section(name, place, tuple(lines)) for name, place, lines in found]

    def _included(self, line: Line, *, depth: int) -> Iterator[Line]:
        """The options of a file that is included: it has no sections of its own."""
        name = line.text[len("include") + 1 :].strip()
        if depth > INCLUDE_DEPTH_MAX:
            what = f"files include each other more than {INCLUDE_DEPTH_MAX} deep"
            raise DrivelabError("U031", what, where=str(line.place), do="take the circle out")
        path = Path(name)
        if not path.exists():
            path = Path(line.place.path).parent / name
        for each in self._lines(path, included_at=line.place):
            if each.text.startswith("["):
                raise DrivelabError(
                    "U031",
                    "a file that is included has sections",
                    where=str(each.place),
                    do="leave only options in it",
                )
            if each.text.startswith("include"):
                yield from self._included(each, depth=depth + 1)
            else:
                yield self._counted(each)

    def _counted(self, line: Line) -> Line:
        self._count += 1
        if self._count > SETTINGS_MAX:
            raise DrivelabError("U031", f"there are more than {SETTINGS_MAX} options", where=str(line.place))
        return line

    def _lines(self, path: Path, *, included_at: Place | None = None) -> Iterator[Line]:
        where = str(included_at or path)
        try:
            if included_at is None and (str(path) == PIPE or path.is_fifo()):
                # it was named: what comes is waited for, as by fio
                with sys.stdin.buffer if str(path) == PIPE else path.open("rb") as file:
                    content = file.read(FILE_BYTES_MAX + 1)
            elif not path.is_file():
                kind = "is no file" if path.exists() else "does not exist"
                raise DrivelabError("U030", f"{path} {kind}", where=where)
            else:
                with opened_regular(path) as file:
                    content = file.read(FILE_BYTES_MAX + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise DrivelabError("U030", f"{path} cannot be read: {reason}", where=where) from error
        self._bytes += len(content)
        if self._bytes > FILE_BYTES_MAX:
            raise DrivelabError("U030", f"{path} is larger than any job file", where=where)
        text = content.decode("utf-8", errors="replace")
        for number, line in enumerate(text.split("\n"), start=1):
            kept = uncommented(line)
            if kept:
                yield Line(kept, Place(str(path), number))


def _section_name(line: Line) -> str:
    inside, closing, _rest = line.text[1:].rpartition("]")
    if not closing or not inside:
        what = f"'{_shown(line.text)}' is no section"
        raise DrivelabError("U031", what, where=str(line.place), do="write [NAME]")
    return inside


def _shown(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
