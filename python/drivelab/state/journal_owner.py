"""Whether a journal is this user's own: what root obeys nobody else may have written."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

from drivelab.model.errors import DrivelabError

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_DO = (
    "become root by 'sudo -i' or 'su -', so that XDG_STATE_HOME is not another user's; "
    "or let XDG_STATE_HOME name a directory that is root's alone"
)


def make_own_directory(directory: Path) -> None:
    """Have a directory of journals that only this user can look into.

    Raises
    ------
    DrivelabError
        R409: this is root, and somebody else could exchange what lies there.
    OSError
        It cannot be made.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.stat()
    if status.st_uid == os.getuid() and status.st_mode & 0o077:
        directory.chmod(0o700)
    reason = why_not_own(directory)
    if reason:
        what = f"{reason}: they could have root put back what they like"
        raise DrivelabError("R409", what, where=str(directory), do=_DO)


def require_own(path: Path, status: os.stat_result) -> None:
    """Return only if nobody but this user, who is root, can have written a journal.

    Raises
    ------
    DrivelabError
        R412: somebody else can.
    """
    reason = _why_not(path, status) or why_not_own(path.parent)
    if reason:
        do = "look at it; if it may be obeyed: drivelab restore --trust; if not, delete it"
        raise DrivelabError("R412", f"{reason}, and is not obeyed", where=str(path), do=do)


def why_not_own(directory: Path) -> str:
    """Why what lies in a directory may be somebody else's; empty when it cannot, or this is not root.

    Others can write nowhere on the way to it either; where they can add to a
    directory, as in /tmp, they cannot exchange what is not theirs.
    """
    if os.getuid() != 0:
        return ""
    place = Path(os.path.realpath(directory))
    reasons = (_why_not(one, one.stat()) for one in (place, *place.parents))
    return next(filter(None, reasons), "")


def _why_not(path: Path, status: os.stat_result) -> str:
    if os.getuid() != 0:
        return ""
    if status.st_uid != 0:
        return f"{path} belongs to {_user(status.st_uid)}"
    is_kept = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    return f"{path} can be written by others" if status.st_mode & _WRITABLE_BY_OTHERS and not is_kept else ""


def _user(number: int) -> str:
    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user {number}"
