"""Which run directory is meant by what was typed."""

from __future__ import annotations

import shlex
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.store.layout import FOLLOWED_JSON, RUN_JSON, default_parent, slug

# stands for the newest run of those that are kept
LAST = "LAST"
_LIST = "list them: drivelab runs"
_MAKE = "name a directory of a run, or make one: drivelab check ."


def kept_runs() -> list[Path]:
    """The directories of the runs where runs are kept, the oldest first: their names begin with the time."""
    return _kept(RUN_JSON)


def kept_runs_of(experiment: str) -> list[Path]:
    """Those of one experiment, by their names."""
    return [one for one in kept_runs() if f"-{experiment}-" in one.name]


def kept_followed() -> list[Path]:
    """The directories of the programs that were followed, in the same place and order."""
    return _kept(FOLLOWED_JSON)


def all_kept() -> list[Path]:
    """The directories of both, the newest first: their places from 1 are the numbers that mean them."""
    return sorted([*kept_runs(), *kept_followed()], reverse=True)


def name_to_type(directory: Path) -> str:
    """What means a run in few letters: ``LAST``, or when it began; its path where it is not among those that are kept.

    Its number would mean another run as soon as one more is kept.
    """
    kept = all_kept()
    if directory.resolve() not in [one.resolve() for one in kept]:
        return str(directory)
    if kept[0].resolve() == directory.resolve():
        return LAST
    began = directory.name.partition("-")[0]
    return began if _begun(began) else directory.name


def stored_in(name: str) -> Path | None:
    """The directory of the run or the followed program that is meant; None where it is something else."""
    path = Path(name)
    if known := _numbered(name, path) or (None if path.exists() else _begun(name)):
        return known
    kept = [default_parent() / name] if name and "/" not in name and not path.exists() else []
    return next((one for one in (path, *kept) for file in (RUN_JSON, FOLLOWED_JSON) if (one / file).is_file()), None)


def _kept(file: str) -> list[Path]:
    parent = default_parent()
    return sorted(path.parent for path in parent.glob(f"*/{file}")) if parent.is_dir() else []


def find_run(name: str) -> Path:
    """The directory of a run: the path as given, else the run of that name, time or number where runs are kept.

    The time is the first part of its name, where no other run has the same.
    ``LAST`` is the newest, and so is 1; 2 is the one before it, as ``drivelab runs`` counts them.

    Raises
    ------
    DrivelabError
        S504: there is neither.
    """
    path = Path(name)
    if numbered := _numbered(name, path):
        return numbered
    kept = default_parent() / name
    # nothing typed is not the directory one happens to be in
    if name and path.exists():
        return path
    if name and "/" not in name and kept.is_dir():
        return kept
    if begun := _begun(name):
        return begun
    where = f"a directory, or the name or the number of a run in {default_parent()}"
    raise DrivelabError("S504", f"there is no run {name or repr(name)}", where=where, do=_of_target(name) or _LIST)


def _of_target(name: str) -> str:
    """Which runs there are of a target, where its name was given for one; empty where there are none."""
    of_it = [one for one in all_kept() if slug(name) and one.name.endswith(f"-{slug(name)}")]
    return f"name its newest one, {of_it[0].name}, or list all: drivelab runs {shlex.quote(name)}" if of_it else ""


def _begun(name: str) -> Path | None:
    """The only run that began then, as the names of runs tell the time; None where there is none, or several."""
    begun = [one for one in all_kept() if one.name.partition("-")[0] == name]
    return begun[0] if len(begun) == 1 else None


def _numbered(name: str, path: Path) -> Path | None:
    """The run that a number or ``LAST`` means; None where it is a path or a name, or there are not so many."""
    if path.exists() or not (name == LAST or (name.isascii() and name.isdecimal())):
        return None
    runs = all_kept()
    if not runs and name == LAST:
        raise DrivelabError("S504", "no run is kept, so there is no LAST", where=str(default_parent()), do=_MAKE)
    number = 1 if name == LAST else int(name)
    return runs[number - 1] if 0 < number <= len(runs) else None
