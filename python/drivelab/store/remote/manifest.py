"""What says that a run in a store is whole: ``manifests/RUN.json``, beside the directories of runs.

It is written twice. Before the first file of a run it claims the name, so that two different runs
cannot mix their files; once all files are there it says so. So a run that was cut off on the way is
none, and its upload can be gone on with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from pydantic import TypeAdapter, ValidationError

from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.regular_file import opened_regular, read_regular

SCHEMA = 1
MANIFESTS = "manifests"
SUFFIX = ".json"
# a run has at most ten thousand trials, each with a few files
BYTES_MAX = 64 * 1024**2
RECORDS = (layout.RUN_JSON, layout.FOLLOWED_JSON)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What tells a file of a run: its size in bytes, and its SHA-256 in hexadecimal."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of a run in a store.

    Attributes
    ----------
    schema : int
        Of this format.
    run : str
        Name of the run.
    is_whole : bool
        Whether all files are there.
    files : mapping of str to FileFacts
        By their names, which begin below the directory of the run.
    record : str
        Content of its ``run.json`` (or ``followed.json``), so that a list of runs needs one request for each.
    host : str
        What the fleet that measured it calls its host; empty without one.
    """

    schema: int
    run: str
    is_whole: bool
    files: Mapping[str, FileFacts]
    record: str
    host: str = ""

    @property
    def record_name(self) -> str:
        """Which file `record` is."""
        return next(name for name in RECORDS if name in self.files)

    def content(self) -> bytes:
        """As it is stored."""
        return (json.dumps(asdict(self), indent=1) + "\n").encode()


_MANIFEST = TypeAdapter(Manifest)


def manifest_name(run: str) -> str:
    """Where in a store the manifest of a run is."""
    return f"{MANIFESTS}/{run}{SUFFIX}"


def read_manifest(content: bytes, run: str, where: str) -> Manifest:
    """The manifest of a run.

    Raises
    ------
    DrivelabError
        S505: written by a newer drivelab. S515: it is damaged.
    """
    try:
        document = json.loads(content)
        if document["schema"] > SCHEMA:
            what = f"its manifest has schema {document['schema']}, and this drivelab reads schemas up to {SCHEMA}"
            raise DrivelabError("S505", what, where=where)
        found = _MANIFEST.validate_python(document)
        record = found.files[found.record_name]
        if found.run != run or not all(map(_is_below, found.files)) or digest_of(found.record.encode()) != record:
            raise ValueError(run)
    except (ValidationError, ValueError, KeyError, TypeError, StopIteration, RecursionError) as error:
        raise DrivelabError("S515", f"the manifest of {run} cannot be understood", where=where) from error
    return found


def manifest_of(directory: Path, host: str = "") -> Manifest:
    """The manifest that a run directory here would have in a store.

    Raises
    ------
    OSError
        A file cannot be read.
    StopIteration
        It is no run.
    """
    files = {name: facts_of(directory / name) for name in _names(directory)}
    record = next(name for name in RECORDS if name in files)
    content, _ = read_regular(directory / record, bytes_max=BYTES_MAX)
    return Manifest(SCHEMA, directory.resolve().name, True, files, content.decode("utf-8"), host)


def facts_of(path: Path) -> FileFacts:
    """Size and digest of a file here."""
    with opened_regular(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        return FileFacts(file.tell(), digest)


def digest_of(content: bytes) -> FileFacts:
    """Size and digest of what is in memory."""
    return FileFacts(len(content), hashlib.sha256(content).hexdigest())


def _names(directory: Path) -> list[str]:
    """The files of a run, what makes it one last: who copies a part of them has no run."""
    parts = [directory / name for name in layout.OF_A_RUN]
    paths = [path for part in parts for path in (part, *part.rglob("*")) if path.is_file() and not path.is_symlink()]
    names = [path.relative_to(directory).as_posix() for path in paths if path.name[0] != "."]
    return sorted(names, key=lambda name: (name in RECORDS, name))


def _is_below(name: str) -> bool:
    """Whether a name from elsewhere leads below the directory that it is for."""
    path = PurePosixPath(name)
    is_plain = not path.is_absolute() and str(path) == name and "\0" not in name and "\\" not in name
    return is_plain and bool(path.parts) and ".." not in path.parts
