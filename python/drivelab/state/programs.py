"""Runs the system's programs that change something: mkfs, mount, losetup."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence

from drivelab.inventory.tools import find_tool, tool_environment
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal

# mkfs of a large drive with a discard of all of it may take minutes
TIMEOUT_S = 600.0
_DEBIAN_PACKAGES = {
    "losetup": "mount",
    "mdadm": "mdadm",
    "mount": "mount",
    "umount": "mount",
    "wipefs": "util-linux",
    "blkid": "util-linux",
    "mkfs.ext2": "e2fsprogs",
    "mkfs.ext3": "e2fsprogs",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "mkfs.f2fs": "f2fs-tools",
    "blkdiscard": "util-linux",
    "fstrim": "util-linux",
    "nvme": "nvme-cli",
}


def require_program(name: str) -> str:
    """Path of an installed program.

    Raises
    ------
    DrivelabError
        R402: it is not installed.
    """
    missing = missing_program(name)
    if missing is not None:
        raise missing
    return find_tool(name) or name


def missing_program(name: str) -> DrivelabError | None:
    """R402 of a program that is not installed; None of one that is."""
    if find_tool(name) is not None:
        return None
    return DrivelabError("R402", f"{name} is not installed", do=f"apt-get install {_DEBIAN_PACKAGES.get(name, name)}")


def require_root(why: str) -> None:
    """Refuse to go on without root.

    Raises
    ------
    DrivelabError
        R401: this process is not root's.
    """
    if os.geteuid() != 0:
        raise DrivelabError("R401", f"{why} needs root")


def run_program(command: Sequence[str], journal: Journal | None = None, *, timeout_s: float = TIMEOUT_S) -> str:
    """What a program prints on standard output.

    Parameters
    ----------
    command : sequence of str
        Program and arguments; no shell is involved.
    journal : Journal, optional
        Kept alive by the program: when drivelab is killed while the program
        runs on, nobody puts things back under its hands.

    Raises
    ------
    DrivelabError
        R402: it is not installed. R403: it failed, or took longer than `timeout_s`.
    """
    program = require_program(command[0])
    where = shlex.join(command)
    try:
        done = subprocess.run(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            env=tool_environment(),
            # Ctrl-C reaches drivelab only, which then puts things back in order
            start_new_session=True,
            pass_fds=() if journal is None else (journal.descriptor,),
        )
    except subprocess.TimeoutExpired as error:
        raise DrivelabError("R403", f"{command[0]} did not end within {timeout_s:g} s", where=where) from error
    if done.returncode:
        complaint = " ".join(done.stderr.decode(errors="replace").split())
        raise DrivelabError("R403", f"{command[0]} failed: {complaint or done.returncode}", where=where)
    return done.stdout.decode(errors="replace")
