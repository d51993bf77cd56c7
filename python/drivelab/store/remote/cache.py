"""What was brought here of runs in stores elsewhere: ``$XDG_CACHE_HOME/drivelab/stores``.

``STORE/VERSION/RUN`` is a run directory with as many of its files as were needed, each of which is
whole and has the digest that its manifest tells; ``STORE/VERSION/manifest.json`` lies beside it. A run that was put
into its store anew has another version, so nothing here ever changes: it is only removed, when no
command uses it. All of it may be removed by hand at any time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.store.durable import make_directory, storage_error

ADDRESS = "address"
MANIFEST = "manifest.json"
# what has not been used for so long is removed, and of the rest the longest unused beyond so many bytes
UNUSED_S_MAX = 30 * 86400
BYTES_MAX = 4 * 1024**3
_TIDIED_EVERY_S = 86400
_LOCK, _TIDIED = "lock", "tidied"


def cache_root() -> Path:
    """Where everything is."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "drivelab" / "stores"


def is_cached(directory: Path) -> bool:
    """Whether a run directory is one that was brought here."""
    # asked for every table of ten thousand runs
    return str(directory).startswith(f"{cache_root()}{os.sep}")


def store_folder(address: str) -> Path:
    """Where the runs of a store are, made and held so that nobody removes them while this process lives.

    Raises
    ------
    DrivelabError
        S501 to S503: it cannot be made, or not be written to.
    """
    root = cache_root()
    name = re.sub(r"[^A-Za-z0-9.]+", "-", address)[-60:].strip("-.")
    folder = root / f"{name}-{hashlib.sha256(address.encode()).hexdigest()[:12]}"
    try:
        make_directory(folder)
        os.chmod(root, 0o700)
        (folder / ADDRESS).write_text(address, encoding="utf-8")
        _hold(root)
    except (OSError, DrivelabError) as error:
        raise cache_error(error, folder) from error
    return folder


def cache_error(error: OSError | DrivelabError, path: Path) -> DrivelabError:
    """The error that something cannot be kept here."""
    told = storage_error(error, path) if isinstance(error, OSError) else error
    do = "set XDG_CACHE_HOME to a directory that can be written, with room"
    return DrivelabError(told.code, told.what, where=told.where, do=do)


def version_folder(folder: Path, version: str) -> Path:
    """Where one version of a run is."""
    return folder / hashlib.sha256(version.encode()).hexdigest()[:20]


def used(version: Path) -> None:
    """Note that a version is used: at most once a day it is written down."""
    with suppress(OSError):
        if time.time() - version.stat().st_mtime > _TIDIED_EVERY_S:
            os.utime(version)


@cache
def _hold(root: Path) -> int:
    """The descriptor of a lock that others may have, too; before that what is unused is removed, if nobody has it."""
    descriptor = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    # a file system without locks removes nothing, and whoever reads there needs none
    with suppress(OSError):
        if _is_due(root):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_unused(root, UNUSED_S_MAX, BYTES_MAX)
            (root / _TIDIED).touch()
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def _is_due(root: Path) -> bool:
    try:
        return time.time() - (root / _TIDIED).stat().st_mtime > _TIDIED_EVERY_S
    except FileNotFoundError:
        return True


def remove_unused(root: Path, unused_s_max: float, bytes_max: int) -> None:
    """Remove what has not been used for so many seconds, and then the longest unused beyond so many bytes."""
    versions = sorted((one for one in root.glob("*/*") if one.is_dir()), key=lambda one: one.stat().st_mtime)
    sizes = {one: sum(file.stat().st_size for file in one.rglob("*") if file.is_file()) for one in versions}
    kept = sum(sizes.values())
    for version in versions:
        if kept <= bytes_max and time.time() - version.stat().st_mtime < unused_s_max:
            return
        # what tells that it is there goes first: a part of it is no version
        (version / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(version, ignore_errors=True)
        kept -= sizes[version]
