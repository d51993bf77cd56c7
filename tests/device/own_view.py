"""Commands that see files of this machine as others do: other accounts, and what only root may look into."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

USER = "nobody"
_UNSHARE = ("unshare", "--mount", "--propagation", "private", "sh", "-ec")
_STASH = "/mnt"


def as_user(words: list[str]) -> list[str]:
    """A command as the user who is not root starts it."""
    return ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", *words]


def with_shell_of_user(home: Path) -> str:
    """An ``/etc/passwd`` in which the user who is not root can log in."""
    line = rf"\g<1>{home}:/bin/sh"
    return re.sub(rf"(?m)^({USER}:(?:[^:]*:){{4}})[^:]*:[^:]*$", line, Path("/etc/passwd").read_text())


def in_view(words: list[str], opened: Path, files: Mapping[str, Path]) -> list[str]:
    """A command for which files lie in the place of others, and that finds drivelab though only root may look there.

    Parameters
    ----------
    words : list of str
        The command; what it starts has the same view.
    opened : Path
        A directory that others may look into, too.
    files : mapping of str to Path
        The place of a file, and what lies there.
    """
    needed = {Path(path).resolve() for path in (sys.base_prefix, sys.prefix, *sys.path, opened) if os.path.isdir(path)}
    closed = {path: gate for path in needed if (gate := _closed_above(path)) is not None}
    lines = [f"mount -t tmpfs tmpfs {_STASH}"]
    for number, path in enumerate(closed):
        lines += [f"mkdir {_STASH}/{number}", f"mount --bind {shlex.quote(str(path))} {_STASH}/{number}"]
    lines += [f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(gate))}" for gate in sorted(set(closed.values()))]
    for number, path in enumerate(closed):
        place = shlex.quote(str(path))
        lines += [f"mkdir -p {place}", f"mount --bind {_STASH}/{number} {place}"]
    lines += [f"mount --bind {shlex.quote(str(file))} {place}" for place, file in files.items()]
    return [*_UNSHARE, "\n".join([*lines, 'exec "$@"']), "sh", *words]


def _closed_above(path: Path) -> Path | None:
    """The uppermost directory above a path that only its owner may look into."""
    return next((above for above in reversed(path.parents) if not above.stat().st_mode & 0o001), None)
