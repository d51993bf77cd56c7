"""Which code this is: two hosts that measure for one fleet have to measure alike."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from drivelab import __version__

_PACKAGE = Path(__file__).resolve().parent.parent
_SUFFIXES = (".py", ".toml", ".so")


@cache
def fingerprint() -> dict[str, str]:
    """What has to be the same on both sides: versions, and a digest of everything that drivelab is made of."""
    digest = hashlib.sha256()
    for path in sorted(path for path in _PACKAGE.rglob("*") if path.suffix in _SUFFIXES):
        digest.update(f"{path.relative_to(_PACKAGE)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return {
        "drivelab": __version__,
        "files of drivelab": digest.hexdigest()[:16],
        "distributed": metadata.version("distributed"),
        "Python": ".".join(map(str, sys.version_info[:2])),
    }


def difference(theirs: dict[str, str]) -> str:
    """What differs from here, in words; empty where nothing does."""
    ours = fingerprint()
    return ", ".join(
        f"{name} {theirs.get(name, 'missing')} there and {value} here"
        for name, value in ours.items()
        if theirs.get(name) != value
    )
