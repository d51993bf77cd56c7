"""Text as a terminal may have it: no control characters from outside, and only ASCII where that is asked."""

from __future__ import annotations

from drivelab.report.numerals import THIN_SPACE

_PLAIN = str.maketrans({"–": "-", "≥": ">=", "≤": "<=", "×": "x", "µ": "u", "·": "-", "→": "->", "…": "..."})


def terminal_text(text: str, plain: bool) -> str:
    """Text for a terminal: its own spaces, no control characters from outside, and only ASCII when asked."""
    spaced = text.replace(THIN_SPACE, " ").replace("\u00a0", " ").replace("µs", "us")
    safe = "".join(character if character.isprintable() or character == "\n" else "?" for character in spaced)
    return safe.translate(_PLAIN).encode("ascii", "replace").decode() if plain else safe
