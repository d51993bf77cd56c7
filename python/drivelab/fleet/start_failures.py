"""Why a host could not be started, in words of who should have started it, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drivelab.fleet.local_commands import failure_in_words

_ERROR = re.compile(r"[A-Z]\d{3}: ")
# that a host has ended, and what srun does then, or kubectl: why it has was said before
_ENDINGS = re.compile(
    r"srun: (error: \S+: task \d+: |Force Terminated |Job step aborted|forcing job termination)"
    r"|pod \S+ terminated \((Error|Completed)\)|error: pod \S+ failed with unknown exit code"
)
# what ssh, sudo, srun, kubectl and shells say: the first that is found counts
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
    (r'nodes "\S+" not found', "name nodes as kubectl get nodes does"),
    (r'namespaces "\S+" not found', "name one that there is: kubectl config set-context --current --namespace NAME"),
    (
        r"violates PodSecurity",
        "allow privileged pods there: kubectl label namespace NAME pod-security.kubernetes.io/enforce=privileged",
    ),
    (r"is forbidden", "have an administrator allow it: docs/how-to/measure-many-hosts.md, Kubernetes"),
    (r"You must be logged in to the server", "log in, and try: kubectl get pods"),
    (
        r"connection to the server .* was refused|Unable to connect to the server",
        "have kubectl reach its cluster (KUBECONFIG), and try: kubectl get pods",
    ),
    (r"Invalid image name|InvalidImageName", "name an image, as in --kubernetes registry/drivelab:1.0"),
    (r"ErrImagePull|ImagePullBackOff|ErrImageNeverPull", "name an image that the node can pull: --kubernetes IMAGE"),
    (r"executable file not found in \$PATH", "name an image with drivelab in it: packaging/Dockerfile makes one"),
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
    return advised(failure_in_words(code, [line for line in said if not _ENDINGS.match(line)] or said))


def advised(reason: str, otherwise: str = "") -> str:
    """A reason, and what to do about it, if that is known; else what else there is to do."""
    # an error of ours has said it
    told = () if _ERROR.match(reason) else _WHAT_TO_DO
    do = next((do for pattern, do in told if re.search(pattern, reason)), otherwise)
    return f"{reason}; {do}" if do else reason
