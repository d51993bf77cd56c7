"""Says what is wrong in the file of an experiment or a need: where, which key, and what was probably meant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from drivelab.experiments.toml_lines import Place, line_of
from drivelab.model.contents import Contents
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment, ExperimentWorkload, Reference, Scale
from drivelab.model.factor import (
    ActionFactor,
    FileSystemFactor,
    FileSystemLevel,
    MountFactor,
    MountLevel,
    WorkloadFactor,
)
from drivelab.model.job_files import JobFiles
from drivelab.model.names import did_you_mean
from drivelab.model.view import View
from drivelab.model.workload import Access, Pacing
from drivelab.model.workload_keys import SizeShare
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.model.zoned_drive import ZonedDrive

_SHOWN_CHARACTERS_MAX = 60
# the keys of every table that a file can have, by the path to it without numbers
Tables = Mapping[Place, type[BaseModel]]
_TABLES: Tables = {
    (): Experiment,
    ("repeats",): Scale,
    ("reference",): Reference,
    ("views",): View,
    ("workloads",): ExperimentWorkload,
    ("workloads", "quick"): WorkloadPattern,
    ("workloads", "block_sizes"): SizeShare,
    ("workloads", "quick", "block_sizes"): SizeShare,
    ("workloads", "access"): Access,
    ("workloads", "contents"): Contents,
    ("workloads", "pacing"): Pacing,
    ("workloads", "job_files"): JobFiles,
    ("workloads", "zoned_drive"): ZonedDrive,
}
_FACTORS: dict[str, type[BaseModel]] = {
    "filesystem": FileSystemFactor,
    "mount": MountFactor,
    "workload": WorkloadFactor,
}
_LEVELS: dict[str, type[BaseModel]] = {"filesystem": FileSystemLevel, "mount": MountLevel}


def mistake_in(
    document: Mapping[str, Any],
    error: ValidationError,
    *,
    text: str,
    file: str,
    above: Place = (),
    names_keys: bool = True,
    tables: Tables = _TABLES,
) -> DrivelabError:
    """P703, or the mistake's own code, for the first one, with file, line and key; the number of the others behind it.

    Parameters
    ----------
    above : tuple of str or int
        Where in the document that lies which was validated.
    names_keys : bool
        Whether the places in `error` are places in the document, below `above`.
    tables : mapping of Place to model
        What the tables of the file may hold, by the path to them without numbers.
    """
    by_place: dict[Place, list[Any]] = {}
    for one in error.errors(include_url=False):
        if one["type"] == "too_short" and one["input"]:
            # nothing was left of a list because its elements are wrong, which is told already
            continue
        context = one.get("ctx", {})
        location = (*context.get("place", one["loc"]), *context.get("below", ())) if names_keys else ()
        place = _in_document(document, (*above, *location), one["type"])
        by_place.setdefault(place, []).append(one)
    # a key with a typo is often also one that is missing
    place, same = min(by_place.items(), key=lambda item: item[1][0]["type"] != "extra_forbidden")
    more = f" (and {len(by_place) - 1} more)" if len(by_place) > 1 else ""
    key = ".".join(str(part + 1) if isinstance(part, int) else part for part in place)
    what = f"{key}: {_message(same)}{more}" if key else f"{_message(same)}{more}"
    own = same[0].get("ctx", {})
    do = own.get("do") or _advice(document, same[0], place, tables)
    return DrivelabError(own.get("code") or "P703", what, where=f"{file}:{line_of(text, place)}", do=do)


def _in_document(document: Mapping[str, Any], location: Place, kind: str) -> Place:
    """A place that pydantic names, without its own names for the kinds that a value may be of."""
    inside: Any = document
    found: list[str | int] = []
    for part in location:
        is_key = isinstance(inside, dict) and part in inside
        is_index = isinstance(inside, list) and isinstance(part, int) and part < len(inside)
        if is_key or is_index:
            inside = inside[part]
            found.append(part)
    if kind == "missing":
        found.append(location[-1])
    return tuple(found)


def _message(mistakes: Sequence[Any]) -> str:
    """What is wrong at one place; a value that may be of several kinds fails as each of them."""
    first = mistakes[0]
    if first["type"] == "extra_forbidden":
        return "there is no such key"
    if first["type"] == "union_tag_invalid":
        known, written = first["ctx"]["expected_tags"], first["ctx"]["tag"]
        is_guessed = did_you_mean(written, re.findall(r"'([^']+)'", known))
        return f"there is no setting '{written}'" if is_guessed else f"setting is {known}, not '{written}'"
    if first["type"] in ("list_type", "tuple_type") and isinstance(first["input"], dict):
        return f"write [[{first['loc'][-1]}]], with two brackets: there can be several"
    if first["type"] == "union_tag_not_found":
        return "a factor needs the key setting"
    messages = [str(one["msg"]).removeprefix("Value error, ").partition(", unable to")[0] for one in mistakes]
    others = [message.removeprefix("Input should be ") for message in messages[1:]]
    message = " or ".join([messages[0], *others]).replace("valid tuple", "list")
    message = message[:1].lower() + message[1:]
    return message if _shows_what_it_got(first, message) else f"{message}, not {first['input']!r}"


def _shows_what_it_got(mistake: Any, message: str) -> bool:
    shown = repr(mistake["input"])
    is_of_many = isinstance(mistake["input"], list | dict) and mistake["type"] in ("value_error", "rule")
    return mistake["type"] == "missing" or is_of_many or len(shown) > _SHOWN_CHARACTERS_MAX or shown in message


def _advice(document: Mapping[str, Any], mistake: Any, place: Place, tables: Tables) -> str:
    kind = mistake["type"]
    if kind == "missing":
        return "add the key"
    if kind == "union_tag_not_found":
        return 'add the key: setting = "filesystem", "workload", "write-cache" ...'
    if kind == "extra_forbidden":
        return did_you_mean(str(place[-1]), _known_keys(document, place[:-1], tables)) or "remove the key"
    expected = mistake.get("ctx", {}).get("expected_tags") or mistake.get("ctx", {}).get("expected") or ""
    written = mistake.get("ctx", {}).get("tag") or mistake["input"]
    return did_you_mean(str(written), re.findall(r"'([^']+)'", str(expected))) or "correct the value"


def _known_keys(document: Mapping[str, Any], table: Place, tables: Tables) -> list[str]:
    """The keys that a table of the document can have."""
    path = tuple(part for part in table if isinstance(part, str))
    if path[:1] == ("factors",):
        setting = document["factors"][table[1]].get("setting", "")
        of_levels = _LEVELS.get(setting)
        model = of_levels if len(path) > 1 and of_levels else _FACTORS.get(setting, ActionFactor)
    else:
        model = tables.get(path, tables[()])
    return sorted(model.model_fields)
