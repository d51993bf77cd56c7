"""Why a host could not be started, in words of who should have started it, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drivelab.fleet.local_commands import failure_in_words
from drivelab.fleet.slurm import without_endings

_ERROR = re.compile(r"[A-Z]\d{3}: ")
# what ssh, sudo, srun and shells say: the first that is found counts
_WHAT_TO_DO = (
    (
        r"sudo: (.*a password is required|a terminal is required)",
        "let sudo ask for none there: a line with NOPASSWD in its /etc/sudoers.d",
    ),
    (r"is not in the sudoers file|not allowed to execute|may not run sudo", "let sudo allow it there: visudo"),
    (
        r"sudo: (command )?not found|execve\(\): sudo: No such file",
        'install sudo there, or leave out sudo = true and log in as root: user = "root"',
    ),
    (r"Host key verification failed", "log in once by hand, and look at its key"),
    (r"Permission denied \(", "have ssh log in there without a password: ssh-copy-id"),
    (r"not found|No such file or directory", 'say where drivelab is there: drivelab = "/PATH/drivelab"'),
    (r"Invalid node name", "name nodes as sinfo -N does"),
    (r"Invalid partition", "name a partition of sinfo: SLURM_PARTITION"),
    (r"Permission denied", 'let its user read and start that, or name another: user = "root"'),
)


def start_failure(code: int, said: Sequence[str]) -> str:
    """Why a host has ended that was to join, and what to do about it.

    Parameters
    ----------
    code : int
        Status of what started it; below 0 the signal that killed it.
    said : sequence of str
        The last lines that it and the host have said.
    """
    reason = failure_in_words(code, without_endings(said))
    # an error of ours has said it
    told = () if _ERROR.match(reason) else _WHAT_TO_DO
    do = next((do for pattern, do in told if re.search(pattern, reason)), "")
    return f"{reason}; {do}" if do else reason
