"""What a foreign file of results tells, in the form that every reader of one hands over.

A reader is pure: text in, `ForeignFile` out. What the source does not tell stays unset, so that nobody takes a default
for a fact; a number stands alone, without an interval, because one number carries none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.histogram import Histogram
from drivelab.model.workload import Workload

Kind = Literal["fio", "bonnie", "iozone", "diskbenchmark", "pg_test_fsync", "ioping", "dd", "sysstat"]
PROGRAMS: dict[Kind, str] = {
    "fio": "fio",
    "bonnie": "bonnie++",
    "iozone": "IOzone",
    "diskbenchmark": "diskbenchmark",
    "pg_test_fsync": "pg_test_fsync",
    "ioping": "ioping",
    "dd": "dd",
    "sysstat": "iostat or sar",
}
# no drive, rate or run comes near; more is a broken file
_LARGEST = 1e18
_NUMBER = re.compile(r"[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})([eE][+-]?\d{1,2})?", re.ASCII)
_SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class SourceText:
    """A foreign file that was read.

    Attributes
    ----------
    name : str
        Name of the file, without its directory.
    """

    name: str
    text: str

    def place(self, line: int, field_name: str = "") -> str:
        """A place in it for people: ``old.csv:3, column rewrite``."""
        return f"{self.name}:{line}" + (f", {field_name}" if field_name else "")


@dataclass(frozen=True, slots=True)
class ForeignTrial:
    """One result of a foreign program: what becomes one trial.

    Attributes
    ----------
    workload, title : str
        Name of its workload, and what it is for people.
    operation : str
        What its numbers are about; ``mixed`` or ``copy`` where the source does not tell reads and writes apart.
    known : Workload
        What was asked for; only the fields that the source tells are set.
    line : int
        Line of the file on which it begins, from 1.
    parameters : mapping of str to str
        What may tell it from other trials of its workload: those that differ become factors.
    factors : tuple of str
        Parameters that are factors in any case.
    machine, drive : str
        What it was measured on; empty where the source does not tell.
    operations : mapping of str to mapping of str to int
        ``count``, ``bytes`` and ``errors`` of each operation, as far as they are told.
    histograms : mapping of (operation, latency) to Histogram
        Whole measured window.
    measured_ns : int
        Length of the measured window; 0 where it is not told.
    measured : str
        When, in ISO 8601 and UTC; empty where it is not told.
    backend : str
        What issued the I/O, by drivelab's names; empty where it is not told.
    is_direct : bool or None
        Whether the page cache was bypassed; None where it is not told.
    processor_ns : mapping of str to float
        ``user_ns`` and ``system_ns``, or ``total_ns``, of all jobs in the window.
    together : str
        Trials with the same name ran at the same time; empty is alone.
    failure : str
        Why it failed; empty when it did not.
    details : mapping of str to Any
        What else the source tells of it, as plain data.
    """

    workload: str
    title: str
    operation: str
    known: Workload
    estimates: Mapping[str, Estimate]
    line: int = 0
    parameters: Mapping[str, str] = field(default_factory=dict)
    factors: tuple[str, ...] = ()
    machine: str = ""
    drive: str = ""
    operations: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    histograms: Mapping[tuple[str, str], Histogram] = field(default_factory=dict)
    measured_ns: int = 0
    measured: str = ""
    backend: str = ""
    is_direct: bool | None = None
    processor_ns: Mapping[str, float] = field(default_factory=dict)
    together: str = ""
    failure: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """What one file tells.

    Attributes
    ----------
    version : str
        Version of the program; empty where the file does not tell.
    trials : tuple of ForeignTrial
        In the order of the file; at least one.
    notes : tuple of str
        What was not taken over, and what a reader has to know.
    measured : str
        When, as far as it is told: text for people.
    """

    source: SourceText
    kind: Kind
    version: str
    trials: tuple[ForeignTrial, ...]
    notes: tuple[str, ...] = ()
    measured: str = ""

    @property
    def program(self) -> str:
        """The program and its version: ``fio 3.33``."""
        return f"{PROGRAMS[self.kind]} {self.version}".strip()


def told(value: float, unit: Unit, method: str, count: int = 0) -> Estimate:
    """A number as a source tells it: with nothing of how it scatters.

    Parameters
    ----------
    method : str
        What it is in the source's words.
    count : int
        Observations behind it, where the source tells.
    """
    return Estimate(float(value), None, None, unit, count, 1.0, method)


def number_of(text: str, source: SourceText, line: int, field_name: str, *, least: float = 0.0) -> float:
    """The number that a field holds.

    Raises
    ------
    DrivelabError
        I503: it holds none, or one out of range.
    """
    stripped = text.strip()
    value = float(stripped) if _NUMBER.fullmatch(stripped) else math.nan
    return checked(value, repr(_shown(stripped)), source, line, field_name, least=least)


def whole_number_of(text: str, source: SourceText, line: int, field_name: str, *, least: int = 0) -> int:
    """The whole number that a field holds.

    Raises
    ------
    DrivelabError
        I503: it holds none, or one out of range.
    """
    value = number_of(text, source, line, field_name, least=least)
    if value != int(value):
        raise broken_field(f"{_shown(text)!r} is not a whole number", source, line, field_name)
    return int(value)


def checked(value: float, shown: str, source: SourceText, line: int, field_name: str, *, least: float = 0.0) -> float:
    """The value, if it is one that a file can sensibly hold.

    Raises
    ------
    DrivelabError
        I503: it is none.
    """
    if math.isnan(value):
        raise broken_field(f"{shown} is not a number", source, line, field_name)
    if not least <= value <= _LARGEST:
        raise broken_field(f"{shown} is not between {least:g} and {_LARGEST:g}", source, line, field_name)
    return value


def broken_field(what: str, source: SourceText, line: int, field_name: str) -> DrivelabError:
    """The error of a field that cannot be read: I503, with its place."""
    return DrivelabError("I503", what, where=source.place(line, field_name))


def broken_line(what: str, source: SourceText, line: int) -> DrivelabError:
    """The error of a line that does not fit its format: I504, with its place."""
    return DrivelabError("I504", what, where=source.place(line))


def nothing_in(source: SourceText, kind: Kind) -> DrivelabError:
    """The error of a file in which a reader finds no result: I505."""
    return DrivelabError("I505", f"there is no result of {PROGRAMS[kind]} in it", where=source.name)


def size_level(size_bytes: int) -> str:
    """A size as experiments write the levels of a factor: ``4KiB``, ``512``, ``1MiB``."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return str(size_bytes)


def workload_name(text: str) -> str:
    """A text from outside as the name of a workload: lower-case letters, digits, dots and dashes."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower())[:200].strip("-.")[:40].strip("-.") or "unnamed"


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
