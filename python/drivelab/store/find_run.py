"""Which run directory is meant by what was typed."""

from __future__ import annotations

from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.store.layout import FOLLOWED_JSON, RUN_JSON, default_parent

# stands for the newest run of those that are kept
LAST = "LAST"
_LIST = "list them: drivelab runs"
_MAKE = "name a directory of a run, or make one: drivelab check ."


def kept_runs() -> list[Path]:
    """The directories of the runs where runs are kept, the oldest first: their names begin with the time."""
    return _kept(RUN_JSON)


def kept_followed() -> list[Path]:
    """The directories of the programs that were followed, in the same place and order."""
    return _kept(FOLLOWED_JSON)


def stored_in(name: str) -> Path | None:
    """The directory of the run or the followed program that is meant; None where it is something else."""
    path = Path(name)
    if name == LAST and not path.exists():
        return _newest()
    kept = [default_parent() / name] if name and "/" not in name and not path.exists() else []
    return next((one for one in (path, *kept) for file in (RUN_JSON, FOLLOWED_JSON) if (one / file).is_file()), None)


def _kept(file: str) -> list[Path]:
    parent = default_parent()
    return sorted(path.parent for path in parent.glob(f"*/{file}")) if parent.is_dir() else []


def find_run(name: str) -> Path:
    """The directory of a run: the path as given, else the run of that name where runs are kept; ``LAST`` is the newest.

    Raises
    ------
    DrivelabError
        S504: there is neither.
    """
    path = Path(name)
    if name == LAST and not path.exists():
        return _newest()
    kept = default_parent() / name
    # nothing typed is not the directory one happens to be in
    if name and path.exists():
        return path
    if name and "/" not in name and kept.is_dir():
        return kept
    where = f"a directory, or the name of a run in {default_parent()}"
    raise DrivelabError("S504", f"there is no run {name or repr(name)}", where=where, do=_LIST)


def _newest() -> Path:
    runs = sorted([*kept_runs(), *kept_followed()])
    if not runs:
        raise DrivelabError("S504", "no run is kept, so there is no LAST", where=str(default_parent()), do=_MAKE)
    return runs[-1]
