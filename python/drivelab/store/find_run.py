"""Which run directory is meant by what was typed."""

from __future__ import annotations

from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.store.layout import default_parent


def find_run(name: str) -> Path:
    """The directory of a run: the path as given, else the run of that name where runs are kept.

    Raises
    ------
    DrivelabError
        S504: there is neither.
    """
    path = Path(name)
    kept = default_parent() / name
    # nothing typed is not the directory one happens to be in
    if name and path.exists():
        return path
    if name and "/" not in name and kept.is_dir():
        return kept
    where = f"a directory, or the name of a run in {default_parent()}"
    do = 'list them: drivelab sql "select run, status from runs"'
    raise DrivelabError("S504", f"there is no run {name or repr(name)}", where=where, do=do)
