"""A level of a factor in words, for labels in which the factor does not stand beside it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from drivelab.model.errors import DrivelabError
from drivelab.model.setting import AS_FOUND, UNITS
from drivelab.model.units import format_bytes, format_count, format_duration_ns, parse_bytes

READ_FRACTION = "read_fraction"
# factors whose levels say of themselves what they are: ext4, discard, reads
_SAID_BY_THEIR_LEVELS = ("filesystem", "mount", READ_FRACTION)
# levels of the last, in per cent
_OF_ONE_KIND = {0: "writes", 100: "reads"}
# keys of workloads that are numbers of bytes
_BYTES_KEYS = ("block_size", "record_size", "file_size", "shift", "offset", "size", "bytes")
_EXPLAINED = {"shift": "the offset within a block"}
_QUANTITY = re.compile(r"\d+(\.\d+)?\s*([kKMGT]i?B?|B|%)?")


def is_quantity(level: str) -> bool:
    """Whether a level is a number, with a unit or without: ``32``, ``4KiB``, ``20%``."""
    return _QUANTITY.fullmatch(level) is not None


def level_size(level: str) -> float:
    """What puts levels of numbers in order: ``4KiB`` comes after ``512``; names have none, and are infinite."""
    try:
        return float(parse_bytes(level.removesuffix("%"))) if is_quantity(level) else math.inf
    except DrivelabError:
        return math.inf


def level_text(name: str, level: str) -> str:
    """A level with its unit, where it is a number that has one, and sizes in one form: ``128 KiB``, ``R/W 65/35``."""
    if name in _BYTES_KEYS:
        return _size(level)
    if name == READ_FRACTION:
        return _mix(level)
    if re.fullmatch(r"[0-9.]+%", level):
        return f"{level[:-1]} %"
    if not level.isdecimal():
        return level
    unit = UNITS.get(name)
    if unit == "B":
        return format_bytes(int(level))
    if unit == "ns":
        return format_duration_ns(int(level))
    return f"{level} {unit}" if unit else level


def levels_phrase(levels: Mapping[str, str]) -> str:
    """Levels of several factors, each with its factor unless it speaks for itself.

    Levels that were left as they were found are left out.

    Examples
    --------
    >>> levels_phrase({"filesystem": "ext4", "block_size": "1", "shift": "512", "direct": "false", "apm": "as-found"})
    'ext4, block size 1 B, shift 512 B, page cache used'
    >>> levels_phrase({"write-cache": "off", "queue_depth": "4"})
    'write-cache off, queue depth 4'
    """
    return ", ".join(level_phrase(name, level) for name, level in levels.items() if level != AS_FOUND)


def factor_words(name: str) -> str:
    """What a factor is called in a sentence, with what it is where its name does not tell."""
    words = name.replace("_", " ")
    return f"{words} ({_EXPLAINED[name]})" if name in _EXPLAINED else words


def level_phrase(name: str, level: str) -> str:
    """A level with the name of its factor, unless it speaks for itself: ``ext4``, ``queue depth 4``."""
    if name in _SAID_BY_THEIR_LEVELS:
        return level_text(name, level)
    if name == "count" and level.isdecimal():
        return f"{format_count(int(level))} I/Os"
    if name == "direct":
        return "page cache bypassed" if level == "true" else "page cache used"
    return with_factor(name, level_text(name, level))


def with_factor(name: str, words: str) -> str:
    """A level in words behind the name of its factor: ``queue depth 4``; ``R/W 65/35`` says itself what it is."""
    return words if name == READ_FRACTION else f"{name.replace('_', ' ')} {words}"


def _size(level: str) -> str:
    try:
        return format_bytes(parse_bytes(level))
    except DrivelabError:
        # a share of the target, or several sizes
        return level


def _mix(level: str) -> str:
    try:
        reads = round(100 * float(level))
    except ValueError:
        # it is in words
        return level
    return _OF_ONE_KIND.get(reads, f"R/W {reads}/{100 - reads}")
