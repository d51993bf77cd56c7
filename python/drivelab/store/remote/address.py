"""What is typed for a store elsewhere: ``s3://bucket/prefix``."""

from __future__ import annotations

import re
from pathlib import Path

from drivelab.model.errors import DrivelabError

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://(.*)", re.DOTALL)
_FILE = "file"


def is_address(text: str) -> bool:
    """Whether a text means a place that is reached by a protocol, and is no path."""
    found = _ADDRESS.fullmatch(text)
    return found is not None and found[1] != _FILE


def typed_path(text: str) -> Path:
    """The path that is meant by a path, or by ``file:///path``."""
    found = _ADDRESS.fullmatch(text)
    return Path(found[2] if found is not None and found[1] == _FILE else text)


def plain_address(address: str) -> str:
    """The address as it is compared: without a slash at its end.

    Raises
    ------
    DrivelabError
        U054: it names no bucket.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None or not found[2].strip("/") or (found[1].startswith("s3") and found[2].startswith("/")):
        raise DrivelabError("U054", f"'{address}' names no bucket", where=address)
    return address.rstrip("/")


def parent_and_name(address: str) -> tuple[str, str]:
    """The store that a run would be in, and the name of the run; no store where there is nothing above."""
    above, _, name = address.rpartition("/")
    return ("", "") if above.endswith(("/", ":")) else (above, name)
