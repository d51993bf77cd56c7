"""Text that commands nothing: what a terminal would obey, or reorder, is spelled out."""

from __future__ import annotations

import re

_COMMANDS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 but tab and newlines, DEL, C1
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff"  # separators of lines, marks and overrides of direction
    "\ud800-\udfff]"  # halves of surrogate pairs
    "|\r(?!\n)"  # a line of CSV ends with both
)


def printable(text: str) -> str:
    r"""The text with every character that commands a terminal written as its number: ``\x1b``, ``\u202e``."""
    return _COMMANDS.sub(_spelled, text)


def _spelled(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
