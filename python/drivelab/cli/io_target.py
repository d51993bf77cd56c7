"""What ``drivelab io`` is sent to, and whether it may be written to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from drivelab.cli.io_tree import require_directory
from drivelab.inventory.consent import require_erase_consent
from drivelab.inventory.loop_extent import loops_over_file
from drivelab.inventory.target import require_writable, resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.target import MADE_KINDS, TargetFacts
from drivelab.model.workload import Workload

NULL_TARGET = "null:"
# marks a file as made by drivelab, so that writing to it again destroys nothing of anybody else's
_MARK = "user.drivelab.made"


def find_target(text: str, *, is_null: bool, for_tree: bool = False) -> TargetFacts:
    """Facts about the target of one workload.

    Raises
    ------
    DrivelabError
        T101 to T108: nothing that I/O could be sent to. E316: operations on files need a directory.
    """
    if is_null:
        return TargetFacts(text, "missing_file", "", False, None, (), (), 0, 1, False)
    target = resolve_target(text)
    if for_tree:
        require_directory(target)
        return target
    if target.kind == "directory":
        do = f"name a file in it, work on files of its own (--files), or run: drivelab check {text}"
        raise DrivelabError("T105", f"{text} is a directory", where="drivelab io", do=do)
    if target.kind in MADE_KINDS:
        do = "name a file or a block device"
        made = "scratch drives" if target.kind == "scratch" else "RAID sets"
        raise DrivelabError("T105", f"drivelab io uses what is there, and makes no {made}", where=text, do=do)
    return target


def require_consent(target: TargetFacts, workload: Workload, *, erase: Sequence[str], may_overwrite_file: bool) -> None:
    """Return only if the workload may do to the target what it is going to do.

    Raises
    ------
    DrivelabError
        T101: nothing is there to be read. T102, T103: it cannot be written.
        C201 to C209: its owner did not consent to erase the device, or the file is that of a loop device.
        C220: it would overwrite a file that drivelab did not make.
    """
    if workload.backend == "null":
        return
    if workload.tree is not None:
        # it works on files of its own
        return
    if not workload.writes:
        if not target.exists:
            do = f"write it first: drivelab io {target.text} --operation write --size 1GiB"
            raise DrivelabError("T101", f"{target.path} does not exist", where="drivelab io", do=do)
        return
    require_writable(target)
    require_erase_consent(target, erase)
    if target.kind == "file":
        _refuse_backing_file(target)
    if target.kind == "file" and target.size_bytes and not may_overwrite_file and not was_made_here(target.path):
        raise DrivelabError("C220", f"{target.path} exists, and its contents would be destroyed", where="drivelab io")


def _refuse_backing_file(target: TargetFacts) -> None:
    """Whoever uses the loop device would find other data under their hands."""
    try:
        loops = loops_over_file(os.stat(target.path))
    except OSError:
        # gone meanwhile: the engine will say so
        return
    if loops:
        what = f"{target.path} is the file beneath {', '.join(loops)}"
        do = f"name another file, or if nothing uses it: losetup --detach /dev/{loops[0]}"
        raise DrivelabError("C204", what, where=f"{target.text}; nothing was written", do=do)


@contextmanager
def file_to_make(target: TargetFacts, workload: Workload) -> Iterator[None]:
    """While the context lasts the missing file exists; it stays when the context ends well, and is gone otherwise.

    Raises
    ------
    DrivelabError
        C220: somebody else has made the file meanwhile.
    """
    made = workload.target.create and _make(target)
    try:
        yield
    except BaseException:
        if made:
            # half a file is of no use to anybody
            with suppress(OSError):
                os.unlink(target.path)
        raise


def _make(target: TargetFacts) -> bool:
    """Whether the file was made; where it cannot be, the engine will say why."""
    try:
        os.close(os.open(target.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    except FileExistsError:
        what = f"{target.path} was made by another program meanwhile"
        raise DrivelabError("C220", what, where="drivelab io") from None
    except OSError:
        return False
    # where a file system keeps no such notes, writing to the file again needs consent
    with suppress(OSError):
        os.setxattr(target.path, _MARK, b"1")
    return True


def was_made_here(path: str) -> bool:
    """Whether drivelab made the file."""
    try:
        return os.getxattr(path, _MARK) == b"1"
    except OSError:
        return False
