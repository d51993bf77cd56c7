"""A sentence with as many of its parts as there is room for; the page has it whole."""

from __future__ import annotations

import re
from collections.abc import Callable

# before what explains, adds to or bounds what was said
_END_OF_PART = re.compile(r"[:;,.]? (?=\()|[:;,.] ")
# as those who wrote them write them
_SMALL_NAME = re.compile(r"(?:ext[234]|xfs|btrfs|f2fs|bcachefs|sd[a-z]+|nvme\d\S*|vd[a-z]+|md\d+|loop\d+|sim:\S+)\b")
_END_OF_CLAUSE = re.compile(r"[;.] ")


def capitalised(text: str) -> str:
    """The text with a capital at its beginning, and no other letter changed; names of file systems have none."""
    return text if _SMALL_NAME.match(text) else text[:1].upper() + text[1:]


def parts_within(text: str, length_max: int) -> str:
    """The parts of a text that fit, without a point at its end; all of it where not even the first part does."""
    return _within(text, length_max, _END_OF_PART, len(text.removesuffix(".")))


def clauses_within(text: str, length_max: int) -> str:
    """The same, ended only where a clause ends."""
    return _within(text, length_max, _END_OF_CLAUSE, len(text))


def clauses_in_lines(text: str, lines_of: Callable[[str], list[str]], count_max: int) -> list[str]:
    """The lines of as many clauses of a text as have room in so many; none where not even the first clause has."""
    ends = [len(text), *(found.start() for found in reversed(list(_END_OF_CLAUSE.finditer(text))))]
    return next((lines for end in ends if len(lines := lines_of(text[:end])) <= count_max), [])


def _within(text: str, length_max: int, end: re.Pattern[str], whole: int) -> str:
    starts = (found.start() for found in end.finditer(text))
    # no parenthesis is open there
    ends = [start for start in starts if text.count("(", 0, start) == text.count(")", 0, start)]
    return text[: max((one for one in (*ends, whole) if one <= length_max), default=whole)]
