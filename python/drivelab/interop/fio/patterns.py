"""Patterns of bytes as fio's options write them: strings, numbers, files and the offset of the block, in a row."""

from __future__ import annotations

import re
from pathlib import Path

# fio takes no more of any pattern
_BYTES_MAX = 512
_OFFSET_BYTES = 8
_WORD = re.compile(
    r"\"(?P<text>[^\"]*)\"|'(?P<file>[^']*)'|(?P<offset>%o)"
    r"|0[xX](?P<digits>[0-9a-fA-F]+?)(?=0[xX]|[^0-9a-fA-F]|$)|(?P<number>[+-]?\d+?)(?=0[xX]|\D|$)"
)
_NUMBER_MAX = 2**31


def pattern_of(text: str, *, takes_offset: bool) -> str | None:
    """A pattern as `drivelab.model.contents.Contents` has it.

    Parameters
    ----------
    takes_offset : bool
        Whether ``%o`` stands for the offset of the block.

    Returns
    -------
    str or None
        None where it is no pattern, a file in it cannot be read, or it is too long.
    """
    found: list[str] = []
    place = 0
    while place < len(text):
        match = _WORD.match(text, place)
        if match is None:
            return None
        part = "%o" if match["offset"] and takes_offset else _bytes_of(match)
        if not part:
            return None
        found.append(part)
        place = match.end()
    count = sum(_OFFSET_BYTES if part == "%o" else len(part) // 2 for part in found)
    return "".join(found) if 0 < count <= _BYTES_MAX else None


def _bytes_of(match: re.Match[str]) -> str:
    """Hexadecimal digits of one word; empty where it has none."""
    if match["text"] is not None:
        return match["text"].encode().hex()
    if match["digits"] is not None:
        return ("0" * (len(match["digits"]) % 2) + match["digits"]).lower()
    if match["number"] is not None:
        return _bytes_of_number(int(match["number"]))
    try:
        with Path(match["file"] or "").open("rb") as file:
            return file.read(_BYTES_MAX).hex()
    except OSError:
        return ""


def _bytes_of_number(number: int) -> str:
    """As many bytes as a decimal number needs, the lowest first; four where it is negative."""
    if not -_NUMBER_MAX <= number < _NUMBER_MAX:
        return ""
    value = number % 2**32
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "little").hex()
