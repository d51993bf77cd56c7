"""Holds data that came as JSON to the types of what once wrote them.

The types are those of the code itself: dataclasses, as `dataclasses.asdict`
writes them, and typed dictionaries for what has no class. So whoever has opened
a document meets no number where a text should be, however the file was damaged.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from drivelab.model.target import TargetFacts

# where a value stands, and what is wrong there; None when nothing is
_Flaw = tuple[tuple[str | int, ...], str]
_Check = Callable[[Any], _Flaw | None]
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}
# integers beyond fit no column, no descriptor and no counter of the kernel
_INTEGER_MAX = 2**64
_SHOWN_MAX = 40
# what an import or an older drivelab wrote has fewer keys: ``Annotated[HostFacts, PARTIAL]``
PARTIAL = "partial"
# a RAID set has targets as members and is a target: its module knows of them only while types are checked
_KNOWN_LATE = {"TargetFacts": TargetFacts}


@dataclass(frozen=True, slots=True)
class Rule:
    """What else is asked of a value: ``Annotated[str, Rule(is_moment, "moment")]``."""

    is_kept_by: Callable[[Any], bool]
    words: str


@dataclass(frozen=True, slots=True)
class Held:
    """What plain data are held to: ``Annotated[Mapping[str, Any], Held(HostFacts)]``."""

    kind: Any


class JsonTypeError(ValueError):
    """A value that is not of its type; the message names its place."""


def require_type(value: Any, kind: Any) -> None:
    """Return only if JSON data are what a type says.

    Parameters
    ----------
    value : Any
        As `json.loads` made it.
    kind : type
        A dataclass, a typed dictionary, or any type made of them. Of a
        dataclass that is annotated with `PARTIAL`, and of those in it, keys may
        be missing or null.

    Raises
    ------
    JsonTypeError
        It is something else.

    Notes
    -----
    Keys that a type does not know are let through: a newer drivelab may write more.
    """
    flaw = _check_of(kind, False)(value)
    if flaw is not None:
        place, what = flaw
        raise JsonTypeError(f"{_place_text(place) or 'it'} {what}")


@cache
def _check_of(kind: Any, are_partial: bool) -> _Check:
    """What looks at a value of that type."""
    if kind is Any or kind is object:
        return lambda _value: None
    if kind in _WORDS:
        return _plain(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _any_of([_check_of(argument, are_partial) for argument in arguments])
    if origin is Literal:
        return _one_of(arguments)
    if origin in (Required, NotRequired):
        return _check_of(arguments[0], are_partial)
    if origin is typing.Annotated:
        held_to = next((one.kind for one in kind.__metadata__ if isinstance(one, Held)), None)
        if held_to is not None:
            return _check_of(held_to, are_partial)
        rules = [rule for rule in kind.__metadata__ if isinstance(rule, Rule)]
        return _also(_check_of(arguments[0], are_partial or PARTIAL in kind.__metadata__), rules)
    if typing.is_typeddict(kind):
        hints = get_type_hints(kind, include_extras=True)
        # the class itself does not know its annotations by now
        required = {name for name, hint in hints.items() if get_origin(hint) is Required}
        return _object(hints, frozenset(required), are_partial)
    if is_dataclass(kind):
        required = {one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}
        known = get_type_hints(kind, localns=_KNOWN_LATE, include_extras=True)
        # an import tells with null what its source does not tell
        hints = {one.name: known[one.name] | None if are_partial else known[one.name] for one in fields(kind)}
        return _object(hints, frozenset() if are_partial else frozenset(required), are_partial)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        # its own rules are not looked at: whoever needs them makes one
        return _object({name: one.annotation for name, one in kind.model_fields.items()}, frozenset(), are_partial)
    if isinstance(origin or kind, type) and issubclass(origin or kind, Mapping):
        return _mapping(_check_of(arguments[1], are_partial) if len(arguments) == 2 else None)
    if isinstance(origin or kind, type) and issubclass(origin or kind, Sequence | frozenset | set):
        held = [argument for argument in arguments if argument is not Ellipsis]
        # of pairs and the like each place has a type of its own
        return _list(_check_of(held[0] if len(held) == 1 else Any, are_partial), len(held) if len(held) > 1 else None)
    raise AssertionError(f"{kind} is no type of JSON")


def _plain(kind: type) -> _Check:
    accepted = (int, float) if kind is float else (kind,)
    what = f"is not {_WORDS[kind]}"

    def check(value: Any) -> _Flaw | None:
        # a bool is an int to Python
        if type(value) not in accepted:
            return (), f"is {_shown(value)}, which {what}"
        if type(value) is int and abs(value) > _INTEGER_MAX:
            return (), f"is {_shown(value)}, which is too large"
        return None

    return check


def _one_of(allowed: tuple[Any, ...]) -> _Check:
    def check(value: Any) -> _Flaw | None:
        if any(type(value) is type(one) and value == one for one in allowed):
            return None
        return (), f"is {_shown(value)}, and not one of {', '.join(map(str, allowed))}"

    return check


def _any_of(checks: Sequence[_Check]) -> _Check:
    def check(value: Any) -> _Flaw | None:
        flaws = []
        for one in checks:
            flaw = one(value)
            if flaw is None:
                return None
            flaws.append(flaw)
        # the one that got furthest was meant
        return max(flaws, key=lambda flaw: len(flaw[0]))

    return check


def _also(check: _Check, rules: Sequence[Rule]) -> _Check:
    def checked(value: Any) -> _Flaw | None:
        flaw = check(value)
        for rule in rules:
            flaw = flaw or (None if rule.is_kept_by(value) else ((), f"is {_shown(value)}, which is no {rule.words}"))
        return flaw

    return checked


def _mapping(check: _Check | None) -> _Check:
    def checked(value: Any) -> _Flaw | None:
        if type(value) is not dict:
            return (), f"is {_shown(value)}, which is no object"
        if check is not None:
            for key, held in value.items():
                flaw = check(held)
                if flaw is not None:
                    return (key, *flaw[0]), flaw[1]
        return None

    return checked


def _list(check: _Check, length: int | None) -> _Check:
    def checked(value: Any) -> _Flaw | None:
        if type(value) not in (list, tuple) or (length is not None and len(value) != length):
            return (), f"is {_shown(value)}, which is no list" + (f" of {length}" if length else "")
        for place, held in enumerate(value):
            flaw = check(held)
            if flaw is not None:
                return (place, *flaw[0]), flaw[1]
        return None

    return checked


def _object(hints: Mapping[str, Any], required: frozenset[str], are_partial: bool) -> _Check:
    checks: dict[str, _Check] = {}

    def checked(value: Any) -> _Flaw | None:
        nonlocal checks
        if type(value) is not dict:
            return (), f"is {_shown(value)}, which is no object"
        if not checks:
            # only now: a type may hold itself; as a whole: other threads may look at values of it
            checks = {name: _check_of(hint, are_partial) for name, hint in hints.items()}
        for name in required - value.keys():
            return (name,), "is missing"
        for name, check in checks.items():
            if name in value:
                flaw = check(value[name])
                if flaw is not None:
                    return (name, *flaw[0]), flaw[1]
        return None

    return checked


def _shown(value: Any) -> str:
    """A value in a few characters; of lists and objects only what they are."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and abs(value) > _INTEGER_MAX:
        return "a number of many digits"
    text = ascii(value) if isinstance(value, str) else {None: "null", True: "true", False: "false"}.get(value, value)
    return text if len(text := str(text)) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 3]}..."


def _place_text(place: Sequence[str | int]) -> str:
    """``plan.steps[3].seed``; keys are told without what a terminal would obey."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{ascii(part)[1:-1][:_SHOWN_MAX]}" for part in place]
    return "".join(parts).lstrip(".")
