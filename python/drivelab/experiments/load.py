"""Loads experiments: the built-in ones by name, a user's own by path."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from drivelab.experiments.toml_lines import line_of
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment, ExperimentWorkload, Reference
from drivelab.model.factor import (
    ActionFactor,
    FileSystemFactor,
    FileSystemLevel,
    MountFactor,
    MountLevel,
    SettingFactor,
    WorkloadFactor,
)

_MODELS = (
    Experiment,
    ExperimentWorkload,
    Reference,
    FileSystemFactor,
    FileSystemLevel,
    MountFactor,
    MountLevel,
    ActionFactor,
    SettingFactor,
    WorkloadFactor,
)


def built_in_names() -> list[str]:
    """Names of the built-in experiments, sorted."""
    folder = resources.files("drivelab.experiments")
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def load_experiment(name_or_path: str) -> Experiment:
    """The experiment of that name, or in that file.

    Parameters
    ----------
    name_or_path : str
        A built-in name, or the path of a TOML file; what holds a slash or ends
        in ``.toml`` is a path.

    Raises
    ------
    DrivelabError
        P701: neither a built-in name nor a file that can be read. P702: not
        TOML. P703: a key is wrong; the error names file, line and key.
    """
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        try:
            text = Path(name_or_path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
            raise DrivelabError("P701", f"{name_or_path} cannot be read: {reason}") from error
        return parse_experiment(text, name_or_path)
    names = built_in_names()
    if name_or_path not in names:
        raise DrivelabError(
            "P701", f"there is no experiment '{name_or_path}'", do=f"choose one of {', '.join(names)}, or name a file"
        )
    file = resources.files("drivelab.experiments") / f"{name_or_path}.toml"
    return parse_experiment(file.read_text(encoding="utf-8"), file.name)


def parse_experiment(text: str, file: str) -> Experiment:
    """The experiment in a TOML document.

    Parameters
    ----------
    text : str
        The document.
    file : str
        Its name, for errors.

    Raises
    ------
    DrivelabError
        P702: not TOML. P703: a key is wrong.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(error, file) from error
    try:
        experiment = Experiment.model_validate(document)
    except ValidationError as error:
        raise _mistake(error, text, file, ()) from error
    for number, workload in enumerate(experiment.workloads):
        try:
            workload.pattern(quick=True)
        except ValidationError as error:
            raise _mistake(error, text, file, ("workloads", number, "quick")) from error
        _try_levels(experiment, workload, text, file)
    return experiment


def _try_levels(experiment: Experiment, workload: ExperimentWorkload, text: str, file: str) -> None:
    """Refuse a level that the key it varies cannot take."""
    for number, factor in enumerate(experiment.factors):
        for level in factor.levels if isinstance(factor, WorkloadFactor) else ():
            try:
                workload.pattern().changed(**{factor.name: level})
            except ValidationError as error:
                raise _mistake(error, text, file, ("factors", number, "levels")) from error


def _syntax_error(error: tomllib.TOMLDecodeError, file: str) -> DrivelabError:
    message = str(error)
    place = re.search(r"\s*\(at line (\d+), column (\d+)\)$", message)
    where = f"{file}:{place[1]}, column {place[2]}" if place else f"{file}, at its end"
    return DrivelabError("P702", message[: place.start()] if place else message, where=where)


def _mistake(error: ValidationError, text: str, file: str, above: tuple[str | int, ...]) -> DrivelabError:
    """The first mistake, with file, line and key; the number of the others behind it."""
    mistakes = error.errors(include_url=False)
    first = mistakes[0]
    location = above + _without_tag(first["loc"])
    key = ".".join(str(part + 1) if isinstance(part, int) else part for part in location)
    more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    what = f"{key}: {_message(first)}{more}" if key else f"{_message(first)}{more}"
    return DrivelabError("P703", what, where=f"{file}:{line_of(text, location)}", do=_advice(first))


def _without_tag(location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The place in the document; pydantic names the kind of a factor as if it were a key."""
    return location[:2] + location[3:] if location[:1] == ("factors",) else location


def _message(mistake: Any) -> str:
    if mistake["type"] == "extra_forbidden":
        return "there is no such key"
    if mistake["type"] == "union_tag_invalid":
        return f"setting is {mistake['ctx']['expected_tags']}, not '{mistake['ctx']['tag']}'"
    message = str(mistake["msg"]).removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    shown = repr(mistake["input"])
    if mistake["type"] == "missing" or len(shown) > 60 or shown in message:
        return message
    return f"{message}, not {shown}"


def _advice(mistake: Any) -> str:
    if mistake["type"] == "missing":
        return "add the key"
    if mistake["type"] != "extra_forbidden":
        return "correct the value"
    known = sorted({name for model in _MODELS for name in model.model_fields})
    near: Sequence[str] = difflib.get_close_matches(str(mistake["loc"][-1]), known, n=1)
    return f"did you mean {near[0]}?" if near else "remove the key"
