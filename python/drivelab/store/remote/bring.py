"""Brings runs of stores elsewhere here: what they are at once, and a table when it is first asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from drivelab.held_directory import aside_name
from drivelab.model.errors import DrivelabError
from drivelab.store.regular_file import read_regular
from drivelab.store.remote.address import parent_and_name, plain_address
from drivelab.store.remote.cache import (
    ADDRESS,
    MANIFEST,
    cache_error,
    cache_root,
    is_cached,
    store_folder,
    used,
    version_folder,
)
from drivelab.store.remote.manifest import (
    BYTES_MAX,
    MANIFESTS,
    SUFFIX,
    FileFacts,
    Manifest,
    digest_of,
    facts_of,
    manifest_name,
    read_manifest,
)
from drivelab.store.remote.objects import Objects, each_at_once

# a larger file is not held in memory
LARGE_BYTES = 32 * 1024**2
# how long a list of a store is believed: one command asks for it several times
_LIST_FOR_S = 60
# manifests that are held in memory at once
_PORTION = 500
# why the manifest of a run that is in a list cannot be had, by the directory that it would have
_DAMAGED: dict[Path, DrivelabError] = {}
# what stores call the digest of an object, and when it was made
_TAGS, _TIMES = ("ETag", "etag", "e_tag", "md5Hash"), ("LastModified", "last_modified", "mtime", "created")
_Listed = tuple[str, Path]


def runs_in_store(address: str) -> list[Path]:
    """The directories of the runs at an address: those of a store, the only one that is meant, or those of its folders.

    Folders are looked into where the address itself is no store, as `push --to` an address below it makes them.

    They hold what a run is (``run.json``), and the rest as soon as `bring` is asked for it.

    Raises
    ------
    DrivelabError
        S504: there is no run. S510 to S513: the store. S501 to S503: nothing can be kept here.
    """
    address = plain_address(address)
    if found := _listed(address, int(time.monotonic() // _LIST_FOR_S)):
        return list(found)
    parent, name = parent_and_name(address)
    if parent and name[0] != "." and (run := _named(parent, name)):
        return [run]
    folders = [f"{address}/{folder}" for folder in _objects(address).folders()]
    if below := [run for one in folders for run in _listed(one, int(time.monotonic() // _LIST_FOR_S))]:
        return below
    do = "put runs into it: drivelab push RUN --to s3://BUCKET/PREFIX"
    raise DrivelabError("S504", f"there is no whole run at {address}", where=address, do=do)


def bring(directories: Iterable[Path], *names: str) -> None:
    """Have here what runs have of files or folders; of runs that were not brought here nothing is done.

    Of several runs those that are damaged are left to be told when they are read; of one it is told at once.

    Raises
    ------
    DrivelabError
        S515: it is damaged there. S510 to S513: the store. S501 to S503: it cannot be kept here.
    """
    wanted = [directory for directory in directories if is_cached(directory)]
    is_alone = len(wanted) == 1
    if is_alone and wanted[0] in _DAMAGED:
        raise _DAMAGED[wanted[0]]
    wanted = [directory for directory in wanted if directory not in _DAMAGED]

    def fetch(one: tuple[Path, str, FileFacts]) -> None:
        try:
            _fetch(*one)
        except DrivelabError as error:
            if is_alone or error.code != "S515":
                raise

    each_at_once(fetch, [(run, file, facts) for run in wanted for file, facts in _missing(run, names)])


def place_of(path: Path) -> str:
    """Where a run is, or a file of it, for people: its address in its store, or its path."""
    if not is_cached(path):
        return str(path)
    store, _version, *names = path.relative_to(cache_root()).parts
    return "/".join([(cache_root() / store / ADDRESS).read_text(encoding="utf-8"), *names])


def host_of(directory: Path) -> str:
    """What the fleet that measured a run calls its host, as far as the store of the run knows."""
    try:
        is_here = is_cached(directory)
        file = directory.parent / (MANIFEST if is_here else manifest_name(directory.resolve().name))
        return read_manifest(read_regular(file, bytes_max=BYTES_MAX)[0], directory.resolve().name, str(file)).host
    except (OSError, DrivelabError):
        return ""


@lru_cache(maxsize=8)
def _listed(address: str, _when: int) -> tuple[Path, ...]:
    """The whole runs of a store, as one list of its manifests tells; empty where it is none."""
    objects = _objects(address)
    names = objects.names(MANIFESTS)
    folder = store_folder(objects.address) if names else Path()
    listed = [
        (run, version_folder(folder, _version(run, facts)) / run)
        for name, facts in sorted(names.items())
        # a dot is at the beginning of what is no run, here as in directories
        if (run := name.removesuffix(SUFFIX)) != name and name[0] != "."
    ]
    new = []
    for run, directory in listed:
        if (directory.parent / MANIFEST).is_file():
            used(directory.parent)
        else:
            new.append((run, directory))
    cut_off: set[Path] = set()
    for start in range(0, len(new), _PORTION):
        cut_off |= _begin(objects, new[start : start + _PORTION])
    return tuple(directory for _, directory in listed if directory not in cut_off)


def _named(parent: str, name: str) -> Path | None:
    """The directory of a run by its name; None where its store has no such whole run."""
    objects = _objects(parent)
    facts = objects.facts(manifest_name(name))
    if facts is None:
        return None
    directory = version_folder(store_folder(objects.address), _version(name, facts)) / name
    if not (directory.parent / MANIFEST).is_file() and _begin(objects, [(name, directory)]):
        return None
    if directory in _DAMAGED:
        raise _DAMAGED[directory]
    used(directory.parent)
    return directory


def _version(run: str, facts: Mapping[str, Any]) -> str:
    """What tells one version of a run from the next: its manifest's ETag, or size and time where there are none."""
    tag = next((facts[key] for key in _TAGS if facts.get(key)), None)
    return f"{run} {tag or [str(facts.get(key)) for key in ('size', *_TIMES)]}"


def _begin(objects: Objects, runs: Sequence[_Listed]) -> set[Path]:
    """Have here what some runs are; the directories of those that are not whole yet."""
    contents = each_at_once(objects.content, [manifest_name(run) for run, _ in runs])
    cut_off = set()
    for (run, directory), content in zip(runs, contents, strict=True):
        if content is None:
            # removed since it was listed
            cut_off.add(directory)
            continue
        try:
            manifest = read_manifest(content, run, f"{objects.address}/{run}")
        except DrivelabError as error:
            _DAMAGED[directory] = error
            continue
        if not manifest.is_whole:
            cut_off.add(directory)
            continue
        record = manifest.record.encode()
        _keep(directory / manifest.record_name, record)
        _keep(directory.parent / MANIFEST, content)
    return cut_off


def _missing(directory: Path, names: Sequence[str]) -> list[tuple[str, FileFacts]]:
    """The files of these names, or in folders of these names, that are not here yet."""
    try:
        files = _manifest(directory).files
    except OSError as error:
        raise cache_error(error, directory) from error
    wanted = [file for file in files for name in names if file == name or file.startswith(f"{name}/")]
    return [(file, files[file]) for file in wanted if not _is_here(directory / file, files[file])]


@lru_cache(maxsize=20_000)
def _manifest(directory: Path) -> Manifest:
    content, _ = read_regular(directory.parent / MANIFEST, bytes_max=BYTES_MAX)
    return read_manifest(content, directory.name, str(directory))


def _is_here(path: Path, facts: FileFacts) -> bool:
    try:
        return path.stat().st_size == facts.bytes
    except FileNotFoundError:
        return False


def _fetch(directory: Path, name: str, facts: FileFacts) -> None:
    """Have one file here, once it is known to be the one that its manifest means."""
    objects = _objects((directory.parent.parent / ADDRESS).read_text(encoding="utf-8"))
    place = f"{directory.name}/{name}"
    if facts.bytes <= LARGE_BYTES:
        content = objects.content(place)
        _require(objects, place, facts, None if content is None else digest_of(content))
        _keep(directory / name, content or b"")
        return
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(aside_name(path.name))
    try:
        found = facts_of(aside) if objects.fetch(place, aside) else None
        _require(objects, place, facts, found)
        os.replace(aside, path)
    except OSError as error:
        raise cache_error(error, path) from error
    finally:
        aside.unlink(missing_ok=True)


def _require(objects: Objects, place: str, facts: FileFacts, found: FileFacts | None) -> None:
    if found == facts:
        return
    what = "is missing" if found is None else "is not what was put there"
    raise DrivelabError("S515", f"{place} {what}", where=objects.address)


def _keep(path: Path, content: bytes) -> None:
    """Put a file in its place here, whole: another process may do the same at the same moment."""
    aside = path.with_name(aside_name(path.name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(content)
        os.replace(aside, path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise cache_error(error, path) from error


@cache
def _objects(address: str) -> Objects:
    return Objects(address)


def forget() -> None:
    """Ask stores anew: what was listed a moment ago is not believed any more."""
    _listed.cache_clear()
    _objects.cache_clear()
    _DAMAGED.clear()
