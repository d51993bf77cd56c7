"""Whether all that a run or a followed program consists of can be read."""

from __future__ import annotations

from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.followed import holds_followed, open_followed
from drivelab.store.parquet_read import BoundedParquet
from drivelab.store.read import StoredRun, open_run
from drivelab.store.selection import reduced_rows


def require_whole(directory: Path) -> None:
    """Return only if a run, or a followed program, has ended and its tables can be read.

    Of files with the I/Os, operations or events of one trial it is looked whether they end as they should.

    Raises
    ------
    DrivelabError
        S504: it is no run. S505: written by a newer drivelab. S506: a table is missing or damaged. S517: it goes on.
    """
    if holds_followed(directory):
        program = open_followed(directory)
        _ = program.calls, program.events
        return
    run = open_run(directory)
    if run.record.status == "running":
        raise DrivelabError("S517", f"{directory.name} goes on, or was killed", where=str(directory))
    for table in layout.TABLES:
        reduced_rows(run, table, lambda _rows: None)
    for folder in (layout.IOS, layout.OPERATIONS, layout.EVENTS):
        _require_files(run, folder)


def _require_files(run: StoredRun, folder: str) -> None:
    for file in sorted(run.folder(folder).glob("[!.]*.parquet")):
        BoundedParquet(file, folder).close()
