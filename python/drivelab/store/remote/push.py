"""Puts runs into a store: whole or not at all, once, and never in the place of another one."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock

from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.durable import make_directory, storage_error, sync_directory, written_aside
from drivelab.store.regular_file import read_regular
from drivelab.store.remote.address import is_address, typed_path
from drivelab.store.remote.bring import LARGE_BYTES, bring, forget
from drivelab.store.remote.claims import Claims, ClaimsOfDirectory, ClaimsOfObjects, claim, require_claim
from drivelab.store.remote.manifest import (
    BYTES_MAX,
    MANIFESTS,
    FileFacts,
    Manifest,
    digest_of,
    facts_of,
    manifest_name,
    manifest_of,
    read_manifest,
)
from drivelab.store.remote.objects import Objects, each_at_once
from drivelab.store.whole import require_whole

# raises where the run has another name there
_Asked = Callable[[], None]


class Store:
    """A store that takes runs.

    Parameters
    ----------
    typed : str
        An address, or a directory, which is made if it is missing.

    Raises
    ------
    DrivelabError
        U054, S510: no address, or nothing to reach it with. S511 to S513: the store.
    """

    def __init__(self, typed: str) -> None:
        self._objects = Objects(typed) if is_address(typed) else None
        self._directory, self._place = typed_path(typed), typed
        self._claims: Claims = (
            ClaimsOfDirectory(self._directory) if self._objects is None else ClaimsOfObjects(self._objects)
        )
        self._locks: dict[str, Lock] = {}

    def require_apart(self, run: Path) -> None:
        """Return only if a run does not lie in this store already, at whatever depth.

        Raises
        ------
        DrivelabError
            S520: it does.
        """
        if self._objects is None and run.resolve().is_relative_to(self._directory.resolve()):
            raise DrivelabError("S520", f"{run} lies in {self._directory} already", where=str(self._directory))

    def push(self, run: Path, host: str = "") -> bool:
        """Put a run into the store; whether it was not there yet.

        Parameters
        ----------
        run : Path
            Its directory, which ends with its name.
        host : str
            What the fleet that measured it calls its host.

        Raises
        ------
        DrivelabError
            S504 to S506: it is no run, or damaged. S516: another one has its name there. S517: it has not ended, or
            changed meanwhile. S519: it is there under another name. S511 to S514: the store. S501 to S503: the
            directory cannot be written.
        """
        manifest = _manifest(run, host)
        record = manifest.files[manifest.record_name].sha256
        # several are put there at once: the second of the same waits for what becomes of the first
        with self._locks.setdefault(record, Lock()):
            return self._put(run, manifest, record)

    def _put(self, run: Path, manifest: Manifest, record: str) -> bool:
        # a run under two names would count twice
        of_it = self._claims, record, manifest.run, self._place
        begin, go_on = partial(claim, *of_it), partial(require_claim, *of_it)
        if self._objects is not None:
            is_new = _push_objects(self._objects, run, manifest, begin, go_on)
            forget()
            return is_new
        make_directory(self._directory / MANIFESTS)
        try:
            return _push_files(self._directory, run, manifest, begin, go_on)
        except OSError as error:
            raise storage_error(error, self._directory / manifest.run) from error


def _manifest(run: Path, host: str) -> Manifest:
    """The manifest of a run that has ended.

    Raises
    ------
    DrivelabError
        S504 to S506: it is no run, or damaged. S517: it has not ended.
    """
    # it may itself be in a store
    bring([run], *layout.OF_A_RUN)
    require_whole(run)
    try:
        return manifest_of(run, host)
    except OSError as error:
        raise DrivelabError("S506", f"{run.name} cannot be read: {error.strerror}", where=str(run)) from error


def _push_objects(objects: Objects, run: Path, manifest: Manifest, begin: _Asked, go_on: _Asked) -> bool:
    """Put a run into a store of objects; it may begin, and once its manifest is there go on."""
    place = manifest_name(manifest.run)
    there = objects.content(place)
    if there is not None and _is_there(there, manifest, objects.address):
        return False
    begin()
    if there is None and not objects.create(place, replace(manifest, is_whole=False).content()):
        # somebody claimed the name since
        there = objects.content(place)
        if there is not None and _is_there(there, manifest, objects.address):
            return False
    go_on()
    # of a name that was free until now nothing is there
    sizes = {} if there is None else objects.sizes(manifest.run)
    missing = [name for name, facts in manifest.files.items() if sizes.get(name) != facts.bytes]
    *others, last = missing or [""]
    each_at_once(partial(_put, objects, run, manifest), others)
    if last:
        _put(objects, run, manifest, last)
    sizes = objects.sizes(manifest.run)
    if lost := [name for name, facts in manifest.files.items() if sizes.get(name) != facts.bytes]:
        what = f"{lost[0]} of {manifest.run} did not arrive whole"
        raise DrivelabError("S511", what, where=objects.address)
    objects.put(place, manifest.content())
    return True


def _put(objects: Objects, run: Path, manifest: Manifest, name: str) -> None:
    """Put a file of a run into the store, as its manifest tells it."""
    facts, place = manifest.files[name], f"{manifest.run}/{name}"
    try:
        if facts.bytes > LARGE_BYTES:
            objects.put_file(place, run / name)
            _require_same(run, name, facts, facts_of(run / name))
            return
        content, _ = read_regular(run / name, bytes_max=LARGE_BYTES)
    except OSError as error:
        raise DrivelabError("S517", f"{name} of {run.name} went away: {error.strerror}", where=str(run)) from error
    _require_same(run, name, facts, digest_of(content))
    objects.put(place, content)


def _require_same(run: Path, name: str, facts: FileFacts, found: FileFacts) -> None:
    if found != facts:
        raise DrivelabError("S517", f"{name} of {run.name} changed meanwhile", where=str(run))


def _is_there(content: bytes, manifest: Manifest, where: str) -> bool:
    """Whether the manifest in a store says that this very run is whole there; the upload may have been cut off.

    Raises
    ------
    DrivelabError
        S516: another run has its name. S505, S515: its manifest cannot be read.
    """
    there = read_manifest(content, manifest.run, where)
    _require_equal(there.files, manifest, where)
    return there.is_whole


def _require_equal(files: Mapping[str, FileFacts], manifest: Manifest, where: str) -> None:
    if files != manifest.files:
        raise DrivelabError("S516", f"another run is called {manifest.run} there", where=where)


def _push_files(store: Path, run: Path, manifest: Manifest, begin: _Asked, go_on: _Asked) -> bool:
    """Put a run into a directory, which may be one of NFS: nothing there is locked, names appear all at once."""
    place, whole = store / manifest_name(manifest.run), store / manifest.run
    if place.exists():
        there, _ = read_regular(place, bytes_max=BYTES_MAX)
        if _is_there(there, manifest, str(store)) and whole.is_dir():
            return False
    begin()
    is_new = not whole.is_dir() and _copied(store, run, manifest, go_on)
    if not is_new:
        # whoever was cut off between the two names, or was quicker
        _require_equal(manifest_of(whole).files if _is_run(whole) else {}, manifest, str(store))
    with written_aside(place) as aside:
        aside.write_bytes(manifest.content())
    return is_new


def _is_run(directory: Path) -> bool:
    return any((directory / name).is_file() for name in (layout.RUN_JSON, layout.FOLLOWED_JSON))


def _copied(store: Path, run: Path, manifest: Manifest, go_on: _Asked) -> bool:
    """Copy a run durably under a name that nobody looks at, and give it its own; whether that was free."""
    partial_copy = store / f".{manifest.run}.{secrets.token_hex(8)}"
    try:
        partial_copy.mkdir()
        go_on()
        for name, facts in manifest.files.items():
            file = partial_copy / name
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(run / name, file, follow_symlinks=False)
            with open(file, "rb") as copied:
                os.fsync(copied.fileno())
            _require_same(run, name, facts, facts_of(file))
        for directory in (partial_copy, *(path for path in partial_copy.rglob("*") if path.is_dir())):
            sync_directory(directory)
        # fails where the name leads to a directory with something in it
        os.rename(partial_copy, store / manifest.run)
    except FileExistsError:
        return False
    except OSError:
        if (store / manifest.run).is_dir():
            return False
        raise
    finally:
        shutil.rmtree(partial_copy, ignore_errors=True)
    sync_directory(store)
    return True
