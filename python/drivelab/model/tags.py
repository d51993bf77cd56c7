"""What a user says of a run: ``rack=r07``, ``delivery=2026-10``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from drivelab.model.errors import DrivelabError
from drivelab.model.printable import printable

# what a run knows without being told, so that a tag of that name could contradict it
KNOWN_OF_RUNS = ("drive", "firmware", "host", "model", "run", "serial")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_VALUE_CHARACTERS_MAX = 200


def parse_tags(typed: Iterable[str]) -> dict[str, str]:
    """The tags of a run, by their keys in the order in which they were typed.

    Parameters
    ----------
    typed : iterable of str
        ``KEY=VALUE`` each. A key has up to 64 letters, digits, ``.``, ``_`` and ``-`` and
        begins with a letter; a value has up to 200 characters that can be printed.

    Raises
    ------
    DrivelabError
        U051: one has another form, a key stands for two values, or a run knows it already.
    """
    found: dict[str, str] = {}
    for text in typed:
        key, value = _parsed(text)
        if found.setdefault(key, value) != value:
            what = f"{key} is given twice: {found[key]} and {value}"
            raise DrivelabError("U051", what, where="--tag", do="keep one of them")
    return found


def _parsed(text: str) -> tuple[str, str]:
    key, equals, value = (part.strip() for part in text.partition("="))
    shown = printable(text)
    if not equals or not value:
        raise DrivelabError("U051", f"'{shown}' is no key with a value", where="--tag")
    if not _KEY.fullmatch(key):
        what = (
            f"'{printable(key)}' is no key: up to 64 letters, digits, '.', '_' and '-', of which the first is a letter"
        )
        raise DrivelabError("U051", what, where=f"--tag {shown}")
    if key in KNOWN_OF_RUNS:
        what = f"a run knows its {key} without being told"
        raise DrivelabError("U051", what, where=f"--tag {shown}", do="choose another key, or leave it out")
    if len(value) > _VALUE_CHARACTERS_MAX or not value.isprintable():
        what = f"the value of {key} is longer than {_VALUE_CHARACTERS_MAX} characters, or cannot be printed"
        raise DrivelabError("U051", what, where=f"--tag {key}=...")
    return key, value
