"""Has a block device for oneself while it is emptied."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from drivelab.model.errors import DrivelabError


@contextmanager
def held_alone(node: str) -> Iterator[None]:
    """Keep everybody from mounting or claiming a device while the block runs.

    Raises
    ------
    DrivelabError
        C205: somebody has mounted or claimed it already.
    """
    try:
        descriptor = os.open(node, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        raise DrivelabError("C205", f"{node} cannot be had alone: {error.strerror}", where=node) from error
    try:
        yield
    finally:
        os.close(descriptor)
