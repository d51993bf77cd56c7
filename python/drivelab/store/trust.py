"""Whether a run directory may be obeyed: a run that is resumed does what its files say, as the user who resumes it."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.store import layout
from drivelab.store.read import StoredRun

_FOLDERS = (layout.PARTS, layout.IOS, layout.OPERATIONS, layout.EVENTS, layout.RECORDINGS)
_FILES = (layout.RUN_JSON, layout.JOURNAL, *layout.TABLES)
_WRITABLE_BY_ALL, _WRITABLE_BY_GROUP = stat.S_IWOTH, stat.S_IWGRP


def require_own(run: StoredRun, *, is_trusted: bool = False) -> None:
    """Return only if nobody but the user who calls can have said what a run directory says.

    Parameters
    ----------
    run : StoredRun
        The run; the file that its ``run.json`` was read from is looked at, too.
    is_trusted : bool
        Whether the user typed that its files may be obeyed whoever wrote them.

    Raises
    ------
    DrivelabError
        R423: root is to obey files that another user owns or can write. S506: a
        file of the run is a link, or no regular file.

    Notes
    -----
    Only root is protected: anybody else can do no more by it than with their own hands.
    """
    directory = run.directory
    with _opened(directory, os.O_DIRECTORY) as root:
        looked_at = [(directory, os.fstat(root.number)), *_files_below(directory, root.number, "", _FILES)]
        for name in _FOLDERS:
            looked_at += _folder(directory, root.number, name)
    if run.read_from is not None:
        looked_at.append((directory / layout.RUN_JSON, run.read_from))
    if os.geteuid() != 0 or is_trusted:
        return
    for path, status in looked_at:
        whose = _whose(status)
        if whose:
            what = f"{path} {whose}, and root would do what it says"
            do = "if you trust them with this computer: add --trust; else run the experiment again"
            raise DrivelabError("R423", what, where=str(directory), do=do)


class _Descriptor:
    """A descriptor that is closed at the end of a block; links are not followed to what it stands for."""

    def __init__(self, path: Path, shown: Path, flags: int, below: int | None) -> None:
        try:
            self.number = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=below)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise DrivelabError(
                "S506", f"{shown.name} cannot be looked at: {error.strerror}", where=str(shown)
            ) from error

    def __enter__(self) -> _Descriptor:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.number)


def _opened(path: Path, flags: int = 0) -> _Descriptor:
    # the directory itself may be named through a link: what it leads to is what is looked at
    return _Descriptor(Path(os.path.realpath(path)), path, flags, None)


def _folder(directory: Path, root: int, name: str) -> Iterator[tuple[Path, os.stat_result]]:
    with suppress(FileNotFoundError), _Descriptor(Path(name), directory / name, os.O_DIRECTORY, root) as folder:
        yield directory / name, os.fstat(folder.number)
        yield from _files_below(directory / name, folder.number, name, os.listdir(f"/proc/self/fd/{folder.number}"))


def _files_below(
    folder: Path, descriptor: int, name: str, files: Sequence[str]
) -> Iterator[tuple[Path, os.stat_result]]:
    """Status of those of the files that are there."""
    for file in files:
        with suppress(FileNotFoundError), _Descriptor(Path(file), folder / file, 0, descriptor) as opened:
            status = os.fstat(opened.number)
            # of a recording each trial has a directory
            if not stat.S_ISREG(status.st_mode) and not (name == layout.RECORDINGS and stat.S_ISDIR(status.st_mode)):
                kind = "a link" if stat.S_ISLNK(status.st_mode) else "no regular file"
                raise DrivelabError("S506", f"{folder / file} is {kind}", where=str(folder))
            yield folder / file, status


def _whose(status: os.stat_result) -> str:
    """Who else can write it, in words; empty when nobody can."""
    if status.st_uid != 0:
        return f"belongs to {_user(status.st_uid)}"
    if status.st_mode & _WRITABLE_BY_ALL:
        return "can be written by everybody"
    if status.st_mode & _WRITABLE_BY_GROUP and status.st_gid != 0:
        return f"can be written by the group {status.st_gid}"
    return ""


def _user(number: int) -> str:
    try:
        return f"{pwd.getpwuid(number).pw_name} (user {number})"
    except KeyError:
        return f"user {number}"
