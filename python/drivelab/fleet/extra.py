"""What a fleet needs beside the core, and says where it is missing."""

from __future__ import annotations

from importlib.util import find_spec

from drivelab.model.errors import DrivelabError

_MODULES = ("distributed", "cryptography")


def require_fleet_extra() -> None:
    """Return only if what carries the messages of a fleet is installed.

    Raises
    ------
    DrivelabError
        F905: it is not.
    """
    if missing := [name for name in _MODULES if find_spec(name) is None]:
        raise DrivelabError("F905", f"{' and '.join(missing)} cannot be imported")
