"""A file of a report: written whole or not at all, and a report's error where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drivelab.held_directory import HeldDirectory
from drivelab.model.errors import DrivelabError
from drivelab.store.durable import written_aside


@contextmanager
def report_file(path: Path, *, inside: HeldDirectory | None = None) -> Iterator[Path]:
    """Where to write what becomes `path` when all went well; below `inside` no link is followed.

    Raises
    ------
    DrivelabError
        O802: it cannot be written.
    """
    try:
        with written_aside(path, inside=inside) as aside:
            yield aside
    except DrivelabError as error:
        raise DrivelabError("O802", error.what, where=str(path)) from error
