"""Which run directory is meant by what was typed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.store.layout import FOLLOWED_JSON, RUN_JSON, default_parent, kept_address, slug
from drivelab.store.remote.address import is_address, typed_path
from drivelab.store.remote.bring import place_of, runs_in_store

# stands for the newest run of those that are kept
LAST = "LAST"
_LIST = "list them: drivelab runs"
# directories of runs may be sorted into others, by host or by fleet for instance
_DEPTH = 2
_NAMED_MAX = 3
_MAKE = "name a directory of a run, or make one: drivelab check ."


def kept_runs(store: str = "") -> list[Path]:
    """The directories of the runs where runs are kept, the oldest first: their names begin with the time.

    Those of fleets are among them, as they are where that directory is named to `runs_at`. Another place may be named,
    by its path or its address; so it may for those below.
    """
    return _kept(RUN_JSON, store)


def kept_runs_of(experiment: str) -> list[Path]:
    """Those of one experiment, by their names."""
    return [one for one in kept_runs() if f"-{experiment}-" in one.name]


def kept_followed(store: str = "") -> list[Path]:
    """The directories of the programs that were followed, in the same place and order."""
    return _kept(FOLLOWED_JSON, store)


def all_kept(store: str = "") -> list[Path]:
    """The directories of both, the newest first: their places from 1 are the numbers that mean them."""
    return sorted([*kept_runs(store), *kept_followed(store)], key=lambda one: one.name, reverse=True)


def name_to_type(directory: Path) -> str:
    """What means a run in few letters: ``LAST``, or when it began; its path where it is not among those that are kept.

    Its number would mean another run as soon as one more is kept.
    """
    kept = all_kept()
    if directory.resolve() not in [one.resolve() for one in kept]:
        return place_of(directory)
    if kept[0].resolve() == directory.resolve():
        return LAST
    began = directory.name.partition("-")[0]
    return began if _begun(began) else directory.name


def stored_in(name: str) -> Path | None:
    """The directory of the run or the followed program that is meant; None where it is something else."""
    if is_address(name):
        return find_run(name)
    path = typed_path(name)
    if known := _numbered(name, path) or (None if path.exists() else _begun(name)):
        return known
    kept = [_by_name(name)] if name and "/" not in name and not path.exists() else []
    return next(
        (one for one in (path, *filter(None, kept)) for file in (RUN_JSON, FOLLOWED_JSON) if (one / file).is_file()),
        None,
    )


def _kept(file: str, store: str) -> list[Path]:
    address = store or kept_address()
    if is_address(address):
        return [one for one in _kept_in_store(address) if (one / FOLLOWED_JSON).is_file() == (file == FOLLOWED_JSON)]
    parent = typed_path(address) if address else default_parent()
    return sorted(_at_or_below(parent, file), key=lambda one: (one.name, one))


def _at_or_below(path: Path, file: str, depth: int = _DEPTH) -> Iterator[Path]:
    """The directories that hold such a file; neither within a run nor in what is being brought here."""
    held = [name for name in (RUN_JSON, FOLLOWED_JSON) if (path / name).is_file()]
    if file in held:
        yield path
    elif not held and depth and path.is_dir():
        for inner in path.iterdir():
            if not inner.name.startswith("."):
                yield from _at_or_below(inner, file, depth - 1)


def find_run(name: str) -> Path:
    """The directory of a run: the path as given, else the run of that name, time or number where runs are kept.

    The time is the first part of its name, where no other run has the same; so is the name of its experiment, or that
    which was given to an imported result.
    ``LAST`` is the newest, and so is 1; 2 is the one before it, as ``drivelab runs`` counts them.

    Raises
    ------
    DrivelabError
        S504: there is neither.
    """
    if is_address(name):
        return _only(runs_in_store(name), name)
    path = typed_path(name)
    if numbered := _numbered(name, path):
        return numbered
    # nothing typed is not the directory one happens to be in
    if name and path.exists():
        return path
    if name and "/" not in name and (kept := _by_name(name)):
        return kept
    if found := _begun(name) or _named(name):
        return found
    where = f"a directory, or the name or the number of a run in {kept_place()}"
    raise DrivelabError("S504", f"there is no run {name or repr(name)}", where=where, do=_of_target(name) or _LIST)


def runs_at(name: str) -> list[Path]:
    """The directories of the runs that are meant: the one of that name, or all in the directory or store of that name.

    Raises
    ------
    DrivelabError
        S504: there is none. S510 to S513, S515: a store elsewhere.
    """
    if is_address(name):
        return runs_in_store(name)
    path = find_run(name)
    return sorted(_at_or_below(path, RUN_JSON)) or [path]


def _only(runs: list[Path], name: str) -> Path:
    if len(runs) == 1:
        return runs[0]
    parent = name.rstrip("/")
    do = f"name one of them: {', '.join(f'{parent}/{one.name}' for one in runs[-_NAMED_MAX:])}"
    raise DrivelabError("S504", f"there are {len(runs)} runs at {name}", where=name, do=do)


def _by_name(name: str) -> Path | None:
    """The directory of that name where runs are kept; None where there is none."""
    if not kept_address() and (kept := default_parent() / name).is_dir():
        return kept
    return next((one for one in all_kept() if one.name == name), None)


def kept_place() -> str:
    """Where runs are kept, for people."""
    return kept_address() or str(default_parent())


def _kept_in_store(address: str) -> list[Path]:
    """The runs of a store; none where it is empty yet."""
    try:
        return runs_in_store(address)
    except DrivelabError as error:
        if error.code == "S504":
            return []
        raise


def _of_target(name: str) -> str:
    """Which runs there are of a target, where its name was given for one; empty where there are none."""
    of_it = [one for one in all_kept() if slug(name) and one.name.endswith(f"-{slug(name)}")]
    return f"name its newest one, {of_it[0].name}, or list all: drivelab runs {shlex.quote(name)}" if of_it else ""


def _begun(name: str) -> Path | None:
    """The only run that began then, as the names of runs tell the time; None where there is none, or several."""
    begun = [one for one in all_kept() if one.name.partition("-")[0] == name]
    return begun[0] if len(begun) == 1 else None


def _named(name: str) -> Path | None:
    """The only run of an experiment, or imported result, of that name; None where there is none, or several."""
    begins = f"{slug(name)}-"
    named = [one for one in all_kept() if slug(name) and one.name.partition("-")[2].startswith(begins)]
    return named[0] if len(named) == 1 else None


def _numbered(name: str, path: Path) -> Path | None:
    """The run that a number or ``LAST`` means; None where it is a path or a name, or there are not so many."""
    if path.exists() or not (name == LAST or (name.isascii() and name.isdecimal())):
        return None
    runs = all_kept()
    if not runs and name == LAST:
        raise DrivelabError("S504", "no run is kept, so there is no LAST", where=kept_place(), do=_MAKE)
    number = 1 if name == LAST else int(name)
    return runs[number - 1] if 0 < number <= len(runs) else None
