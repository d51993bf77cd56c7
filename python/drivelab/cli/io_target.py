"""What ``drivelab io`` is sent to, and whether it may be written to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from drivelab.cli.io_tree import require_directory
from drivelab.inventory.consent import require_erase_consent
from drivelab.inventory.target import require_writable, resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.target import MADE_KINDS, TargetFacts
from drivelab.model.workload import Workload
from drivelab.state.made_file import require_overwritable

NULL_TARGET = "null:"


def find_target(text: str, *, is_null: bool, for_tree: bool = False, makes_file: bool = False) -> TargetFacts:
    """Facts about the target of one workload; one that makes its file itself takes a directory."""
    if is_null:
        return TargetFacts(text, "missing_file", "", False, None, (), (), 0, 1, False)
    target = resolve_target(text)
    if for_tree:
        require_directory(target)
        return target
    if target.kind == "directory" and not makes_file:
        do = f"name a file in it, make files in it (--operation create --files 1000), or run: drivelab check {text}"
        raise DrivelabError("T105", f"{text} is a directory", where="drivelab io", do=do)
    if target.kind in MADE_KINDS:
        do = "name a file or a block device"
        made = "scratch drives" if target.kind == "scratch" else "RAID sets"
        raise DrivelabError("T105", f"one workload uses what is there: no {made} are made for it", where=text, do=do)
    return target


def require_consent(target: TargetFacts, workload: Workload, *, erase: Sequence[str], may_overwrite_file: bool) -> None:
    """Return only if the workload may do to the target what it is going to do."""
    if workload.backend == "null" or target.simulated is not None:
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
        try:
            descriptor = os.open(target.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:
            # gone or exchanged meanwhile, or not to be read: what opens it for writing will say so
            return
        try:
            require_overwritable(Path(target.path), descriptor, may_overwrite_file=may_overwrite_file)
        finally:
            os.close(descriptor)
