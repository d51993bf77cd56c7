"""Which name a run has in a store: one entry for the digest of its record, so that nobody has to read all others.

Two that put one run there under two names at once both look after they have begun: at most one of them goes on.
"""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol

from drivelab.model.errors import DrivelabError
from drivelab.store.durable import make_directory
from drivelab.store.remote.manifest import MANIFESTS, RECORDS, facts_of, manifest_name, read_manifest
from drivelab.store.remote.objects import Objects

_CLAIMS = f"{MANIFESTS}/records"
_State = Literal["", "begun", "whole"]


class Claims(Protocol):
    """The entries of a store."""

    def make(self, record: str, run: str) -> bool:
        """Make the entry of a record; whether there was none."""

    def replace(self, record: str, run: str) -> None:
        """Make it in the place of another one."""

    def name(self, record: str) -> str:
        """The name that a record has; empty where it has none."""

    def state(self, record: str, run: str) -> _State:
        """What there is of a run of that name, if its record is this one."""


class ClaimsOfObjects:
    """The entries of a bucket: objects with the name in them."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def make(self, record: str, run: str) -> bool:
        """Make an object where there is none."""
        return self._objects.create(f"{_CLAIMS}/{record}", run.encode())

    def replace(self, record: str, run: str) -> None:
        """Make an object."""
        self._objects.put(f"{_CLAIMS}/{record}", run.encode())

    def name(self, record: str) -> str:
        """What the object holds."""
        return (self._objects.content(f"{_CLAIMS}/{record}") or b"").decode("utf-8", "replace")

    def state(self, record: str, run: str) -> _State:
        """What its manifest says, which is made before its first file."""
        content = self._objects.content(manifest_name(run))
        if content is None:
            return ""
        there = read_manifest(content, run, self._objects.address)
        return "" if there.files[there.record_name].sha256 != record else "whole" if there.is_whole else "begun"


class ClaimsOfDirectory:
    """The entries of a directory: directories with one in them that has the name, so that they appear at once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def make(self, record: str, run: str) -> bool:
        """Rename a directory to where none is."""
        make_directory(self._directory / _CLAIMS)
        aside = self._aside(record)
        (aside / run).mkdir(parents=True)
        try:
            os.rename(aside, self._directory / _CLAIMS / record)
        except OSError:
            if not (self._directory / _CLAIMS / record).is_dir():
                raise
            return False
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        return True

    def replace(self, record: str, run: str) -> None:
        """Rename what is there, and make it anew, if nobody else does meanwhile."""
        aside = self._aside(record)
        # somebody else has renamed it
        with suppress(FileNotFoundError):
            os.rename(self._directory / _CLAIMS / record, aside)
        shutil.rmtree(aside, ignore_errors=True)
        self.make(record, run)

    def name(self, record: str) -> str:
        """What the directory holds."""
        try:
            return next(iter(os.listdir(self._directory / _CLAIMS / record)), "")
        except FileNotFoundError:
            return ""

    def state(self, record: str, run: str) -> _State:
        """Whether it has its name, or is being copied under one that begins with a dot."""
        for file in RECORDS:
            with suppress(OSError):
                if facts_of(self._directory / run / file).sha256 == record:
                    return "whole"
        is_begun = any(path.name.startswith(f".{run}.") for path in self._directory.iterdir())
        return "begun" if is_begun else ""

    def _aside(self, record: str) -> Path:
        return self._directory / _CLAIMS / f".{record}.{secrets.token_hex(8)}"


def claim(claims: Claims, record: str, run: str, where: str) -> None:
    """Have a record for a name, before anything else of the run is there.

    Raises
    ------
    DrivelabError
        S519: it has another one.
    """
    if claims.make(record, run) or (other := claims.name(record)) == run:
        return
    state = claims.state(record, other)
    if not state:
        # removed since, or never begun
        claims.replace(record, run)
        # whoever of that name begins now looks at the entry behind that; who had begun before is seen here
        state = claims.state(record, other)
        if not state:
            return
        claims.replace(record, other)
    raise _under_another_name(other, state, where)


def require_claim(claims: Claims, record: str, run: str, where: str) -> None:
    """Return only if a record still has this name, once something of the run is there.

    Raises
    ------
    DrivelabError
        S519: it has another one since.
    """
    if (other := claims.name(record)) != run:
        raise _under_another_name(other, claims.state(record, other), where)


def _under_another_name(name: str, state: _State, where: str) -> DrivelabError:
    if state == "whole":
        return DrivelabError("S519", f"it is there already, as {name}", where=where)
    do = "put it there under that name, or once more when that is done"
    return DrivelabError("S519", f"it is being put there as {name}, or was cut off", where=where, do=do)
