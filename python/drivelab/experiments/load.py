"""Loads experiments: the built-in ones by name, a user's own by path."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib import resources
from typing import Any

from pydantic import ValidationError

from drivelab.experiments.mistakes import mistake_in
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment, ExperimentWorkload
from drivelab.model.factor import WorkloadFactor
from drivelab.model.names import did_you_mean
from drivelab.store.regular_file import read_regular

# the largest built-in file has 5 KiB
FILE_BYTES_MAX = 256 * 1024
# the time that TOML takes grows with the square of a key's parts; experiments have keys of two
_KEY_PARTS_MAX = 32
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
# what tomllib says of a key, and of a table, that is there already
_TWICE, _DECLARED = ("Cannot overwrite a value", "Cannot mutate immutable namespace"), "Cannot declare "
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_KEY_PARTS_MAX}}}")


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
    if looks_like_path(name_or_path):
        return parse_experiment(text_of(name_or_path, code="P701"), name_or_path)
    return parse_experiment(built_in_text(name_or_path), f"{name_or_path}.toml")


def text_of(path: str, *, code: str) -> str:
    """The text of a file that a user wrote.

    Raises
    ------
    DrivelabError
        `code`: it cannot be read.
    """
    try:
        return read_regular(path, bytes_max=FILE_BYTES_MAX)[0].decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
        raise DrivelabError(
            code, f"{path} cannot be read: {reason}", do="check its name and who may read it"
        ) from error


def looks_like_path(name_or_path: str) -> bool:
    """Whether a file is meant: it holds a slash or ends in ``.toml``."""
    return "/" in name_or_path or name_or_path.endswith(".toml")


def built_in_text(name: str) -> str:
    """The file of a built-in experiment.

    Raises
    ------
    DrivelabError
        P701: there is none of that name.
    """
    names = built_in_names()
    if name not in names:
        do = f"{did_you_mean(name, names)} choose one of {', '.join(names)}, or name a file".lstrip()
        raise DrivelabError("P701", f"there is no experiment '{name}'", do=do)
    return (resources.files("drivelab.experiments") / f"{name}.toml").read_text(encoding="utf-8")


def parse_experiment(text: str, file: str) -> Experiment:
    """The experiment in a TOML document.

    Raises
    ------
    DrivelabError
        P702: not TOML. P703: a key is wrong.
    """
    document = document_of(text, file)
    try:
        experiment = Experiment.model_validate(document)
    except ValidationError as error:
        raise mistake_in(document, error, text=text, file=file) from error
    for number, workload in enumerate(experiment.workloads):
        try:
            workload.pattern(quick=True)
        except ValidationError as error:
            raise mistake_in(document, error, text=text, file=file, above=("workloads", number, "quick")) from error
        for place, level in _levels_for(experiment, workload):
            try:
                for quick in (False, True):
                    workload.pattern(quick=quick).changed(**level)
            except ValidationError as error:
                raise mistake_in(document, error, text=text, file=file, above=place, names_keys=False) from error
    return experiment


def document_of(text: str, file: str) -> dict[str, Any]:
    """A TOML document as plain data.

    Raises
    ------
    DrivelabError
        P702: not TOML.
    """
    if _LONG_KEY.search(text):
        raise DrivelabError("P702", f"a key has more than {_KEY_PARTS_MAX} parts", where=file)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(error, text, file) from error
    except RecursionError as error:
        raise DrivelabError("P702", "its lists or tables are nested too deep", where=file) from error


def _levels_for(
    experiment: Experiment, workload: ExperimentWorkload
) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Every level of a key that is varied for a workload: its place in the file, and the key with the level."""
    for number, factor in enumerate(experiment.factors):
        if not isinstance(factor, WorkloadFactor) or (factor.workloads and workload.name not in factor.workloads):
            continue
        for key in ("levels", "quick_levels"):
            for index, level in enumerate(getattr(factor, key)):
                yield ("factors", number, key, index), {factor.name: level}


def _syntax_error(error: tomllib.TOMLDecodeError, text: str, file: str) -> DrivelabError:
    message = str(error)
    place = re.search(r"\s*\(at line (\d+), column (\d+)\)$", message)
    where = f"{file}:{place[1]}, column {place[2]}" if place else f"{file}, at its end"
    what = message[: place.start()] if place else message
    if what.startswith("Illegal character '\\n'"):
        return DrivelabError("P702", "a text has no closing quote in this line", where=where, do='add a " at its end')
    if what in _TWICE or what.startswith(_DECLARED):
        # behind the second value; of a long one it is not the line of the key
        line = text.splitlines()[int(place[1]) - 1] if place else ""
        key = line.strip(" \t[]").partition("=")[0].strip() if "=" in line or what not in _TWICE else ""
        return DrivelabError("P702", f"{key or 'a key'} stands there twice", where=where, do="remove one of the two")
    return DrivelabError("P702", what, where=where)
