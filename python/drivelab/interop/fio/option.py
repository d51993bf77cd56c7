"""What is known of one option of a job file: how its value is read, and what drivelab does with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drivelab.interop.fio.translated import Effect

# text: as it stands; flag: nothing, 0 or 1; boolean: 0 or 1; choice: a word, and perhaps more after a colon;
# number: a whole number, with the suffixes of sizes; numbers, sizes: up to three, for reads, writes and trims;
# size: bytes, per cent or zones; extent: one size, or two with a dash; duration: with a unit, or the option's own;
# floats: a list with colons; ranges: a size to another; split: sizes with shares, both for each direction
Kind = Literal[
    "text",
    "flag",
    "boolean",
    "choice",
    "number",
    "numbers",
    "size",
    "sizes",
    "extent",
    "duration",
    "durations",
    "floats",
    "ranges",
    "split",
]
# what a bare number of a duration is in
DefaultUnit = Literal["", "us", "s"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes
    ----------
    name : str
        As fio's list has it.
    kind : str
        How its value is read.
    effect : str
        What becomes of it, unless its value or its job decide otherwise.
    what : str
        What drivelab does, in words.
    default : str
        fio's default, as it would be written; "" is unset. A value that equals it is
        honoured whatever the option is.
    unit : str
        Unit of a bare number of a duration.
    choices : tuple of str
        Words that a choice may be; none lets through what is written.
    minimum, maximum : int or None
        Bounds that fio checks.
    engines : tuple of str
        Engines that alone know the option; none is all.
    topic : str
        Heading below which it stands in the documentation.
    """

    name: str
    kind: Kind
    effect: Effect
    what: str
    aliases: tuple[str, ...] = ()
    default: str = ""
    unit: DefaultUnit = ""
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    engines: tuple[str, ...] = ()
    topic: str = ""
