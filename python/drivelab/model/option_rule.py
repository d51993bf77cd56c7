"""Holds options of mkfs and mount against the list of those that touch the target alone.

The words are taken apart as the programs do it (getopt, getsubopt, libmount), so
that ``-Klfoo`` and ``-K -l foo`` are the same here as there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from drivelab.model.errors import DrivelabError
from drivelab.model.filesystem_options import MKFS_OPTIONS, MOUNT_OPTIONS

_KNOWN = "known to touch only the target"
_KINDS = {"N": "[0-9]{1,19}", "SIZE": "[0-9]{1,19}[A-Za-z]?", "PERCENT": r"[0-9]{1,3}(\.[0-9]{1,6})?"}


@dataclass(frozen=True, slots=True)
class RefusedOption:
    """An option that is not on the list.

    Attributes
    ----------
    place : int
        Which of the words has it, from 0.
    what : str
        The option, and what is wrong with it.
    do : str
        What is on the list.
    """

    place: int
    what: str
    do: str


def refused_mkfs_option(filesystem: str, words: Sequence[str]) -> RefusedOption | None:
    """The first option of mkfs that is not on the list; None when all are.

    Parameters
    ----------
    words : sequence of str
        The options as the program gets them, before the device.
    """
    program, options = f"mkfs.{filesystem}", _by_name(filesystem)
    listed = f"{program} may have {', '.join(MKFS_OPTIONS[filesystem])}"
    for place, name, value in _as_getopt_reads(words, options):
        if not name:
            what = f"'{value}' is no option: {program} would take it for another device or file"
            return RefusedOption(place, what, listed)
        if name not in options:
            return RefusedOption(place, f"'{name}' is not one of the options of {program} that are {_KNOWN}", listed)
        takes = options[name]
        may_have = f"{name} may have {_listed(takes) or 'no value'}"
        if value is None and takes:
            return RefusedOption(place, f"{name} of {program} needs a value", may_have)
        wrong = None if value is None else _first_unlisted(value, takes)
        if wrong is not None:
            what = f"'{wrong}' is not one of the values of {name} of {program} that are {_KNOWN}"
            return RefusedOption(place, what, may_have)
    return None


def refused_mount_option(filesystem: str, words: Sequence[str]) -> RefusedOption | None:
    """The first mount option that is not on the list; None when all are.

    Parameters
    ----------
    words : sequence of str
        The options; one may hold several, with commas between them.
    """
    takes = MOUNT_OPTIONS[filesystem]
    for place, word in enumerate(words):
        wrong = _first_unlisted(word, takes)
        if wrong is not None:
            what = f"'{wrong}' is not one of the mount options of {filesystem} that are {_KNOWN}"
            return RefusedOption(place, what, f"{filesystem} may be mounted with {_listed(takes)}")
    return None


def require_listed_options(filesystem: str, mkfs: Sequence[str] = (), mount: Sequence[str] = ()) -> None:
    """Return only if all options are on the list.

    Raises
    ------
    DrivelabError
        P713: one is not.
    """
    refused = refused_mkfs_option(filesystem, mkfs) or refused_mount_option(filesystem, mount)
    if refused is not None:
        raise DrivelabError("P713", refused.what, where=f"{filesystem}: {' '.join((*mkfs, *mount))}", do=refused.do)


@cache
def _by_name(filesystem: str) -> dict[str, str]:
    """What each option takes, by each of its names."""
    return {name: takes for names, takes in MKFS_OPTIONS[filesystem].items() for name in names.split()}


def _as_getopt_reads(words: Sequence[str], options: dict[str, str]) -> Iterator[tuple[int, str, str | None]]:
    """Each option: the place of the word that decides, its name, and its value if it has one; others have no name."""
    at = 0
    while at < len(words):
        word, begin = words[at], at
        at += 1
        if not word.startswith("-") or word in ("-", "--"):
            yield begin, "", word
            continue
        for name, value in _options_in(word, options):
            if value is None and options.get(name) and at < len(words):
                at += 1
                yield at - 1, name, words[at - 1]
            else:
                yield begin, name, value


def _options_in(word: str, options: dict[str, str]) -> Iterator[tuple[str, str | None]]:
    """The options in a word, each with the value that stands in the same word, if one does."""
    if word.startswith("--"):
        # getopt would take the start of a long name too, which may mean another option in the next version
        name, equals, value = word.partition("=")
        yield name, value if equals else None
        return
    for at, letter in enumerate(word[1:], start=2):
        takes_value = bool(options.get(f"-{letter}"))
        yield f"-{letter}", (word[at:] or None) if takes_value else None
        if takes_value:
            return


def _first_unlisted(value: str, takes: str) -> str | None:
    """The first of the parts of a value that is not listed; None when all are."""
    patterns = _patterns(takes)
    return next((part for part in value.split(",") if not any(each.fullmatch(part) for each in patterns)), None)


@cache
def _patterns(takes: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(_pattern(word)) for word in takes.split())


def _pattern(word: str) -> str:
    sign = r"\^?" if word.startswith("[^]") else ""
    name, equals, values = word.removeprefix("[^]").partition("=")
    if not equals:
        return f"{sign}({_values(name)})"
    if name.endswith("["):
        return f"{re.escape(name[:-1])}(=({_values(values[:-1])}))?"
    return f"{re.escape(name)}=({_values(values)})"


def _values(text: str) -> str:
    choices = [[_KINDS.get(part, re.escape(part)) for part in choice.split(":")] for choice in text.split("|")]
    return "|".join(":".join(parts) for parts in choices)


def _listed(takes: str) -> str:
    return ", ".join(sorted(takes.split(), key=lambda word: word.removeprefix("[^]")))
