"""What ``drivelab io`` works on, held open while it does: whatever its name leads to meanwhile is left alone."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from drivelab.held_directory import HeldDirectory, HeldFile, held_target
from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Workload
from drivelab.run.engine import remove_tree
from drivelab.state.data_directory import exchanged
from drivelab.state.made_file import FileInPlace, mark_as_made
from drivelab.state.signals import signals_held, signals_obeyed
from drivelab.state.working_files import tree_in_journal

# as the engine would say it
_CODES = {
    errno.ENOENT: "E302",
    errno.ENOTDIR: "E302",
    errno.EACCES: "E303",
    errno.EPERM: "E303",
    errno.EROFS: "E305",
    errno.ENOSPC: "E306",
    errno.EDQUOT: "E306",
    errno.ETXTBSY: "E307",
}


@contextmanager
def held_place(target: TargetFacts, workload: Workload, *, may_overwrite_file: bool) -> Iterator[Workload]:
    """The workload on a file or directory that is held open as long as the context lasts; a device is held elsewhere.

    A missing file is made; it stays when the context ends well, and is gone
    otherwise. The files of a tree are removed in any case.
    """
    with signals_held(), _place(target, workload, may_overwrite_file=may_overwrite_file) as held, signals_obeyed():
        yield held


@contextmanager
def _place(target: TargetFacts, workload: Workload, *, may_overwrite_file: bool) -> Iterator[Workload]:
    if workload.backend == "null" or target.kind not in ("file", "missing_file", "directory"):
        yield workload
    elif workload.tree is not None:
        command = shlex.join(["drivelab", *sys.argv[1:]])
        with _opened_directory(target.path) as directory, tree_in_journal(target.path, command):
            try:
                yield workload.held_by(held_target(directory.descriptor))
            finally:
                remove_tree(str(directory.reopened))
    else:
        path = Path(target.path)
        with _opened_directory(str(path.parent)) as parent:
            holding = _new(parent, path.name, workload) if workload.target.create else None
            yield from holding or _present(parent, path.name, workload, may_overwrite_file=may_overwrite_file)


def _new(parent: HeldDirectory, name: str, workload: Workload) -> Iterator[Workload]:
    try:
        file = HeldFile(parent, name, 0o644)
    except FileExistsError:
        what = f"{parent.path / name} was made by another program meanwhile"
        raise DrivelabError("C220", what, where="drivelab io") from None
    except OSError as error:
        raise _refused(parent.path / name, error) from error
    try:
        mark_as_made(file.descriptor)
        yield workload.held_by(file.target)
        if not file.is_in_place:
            raise exchanged(file.path)
        mark_as_made(file.descriptor)
    except BaseException:
        # half a file is of no use to anybody
        with suppress(OSError):
            file.remove()
        raise
    finally:
        file.close()


def _present(parent: HeldDirectory, name: str, workload: Workload, *, may_overwrite_file: bool) -> Iterator[Workload]:
    try:
        file = FileInPlace(parent, name, os.O_RDWR if workload.writes else os.O_RDONLY)
    except OSError as error:
        raise _refused(parent.path / name, error) from error
    with closing(file):
        if workload.writes:
            # it was looked at before, and may be another file by now
            file.require_given_up(may_overwrite=may_overwrite_file)
        yield workload.held_by(file.target)
        if workload.writes and not parent.leads_to(name, file.descriptor):
            raise exchanged(file.path)


def _opened_directory(path: str) -> HeldDirectory:
    try:
        return HeldDirectory.open(Path(path))
    except OSError as error:
        raise _refused(Path(path), error) from error


def _refused(path: Path, error: OSError) -> DrivelabError:
    if error.errno in (errno.ELOOP, errno.EINVAL):
        return exchanged(path)
    return DrivelabError(_CODES.get(error.errno or 0, "E314"), f"cannot open {path}: {error.strerror}", where=str(path))
