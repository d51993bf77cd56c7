"""How a host is started by Slurm: one srun for each node, which ends its node's step alone."""

from __future__ import annotations

from drivelab.fleet.ssh import worker_words
from drivelab.model.fleet_hosts import HostEntry

# a node that others compute on measures them, too
_OPTIONS = ("--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--exclusive", "--job-name=drivelab", "--quiet")


def srun_words(entry: HostEntry, name: str, _connect_s: int) -> list[str]:
    """The command that starts a host: srun hands its standard input, the end of it, and signals on to the one task.

    Parameters
    ----------
    entry : HostEntry
        What of its node is meant; its address, where it has one, is the name of the node.
    name : str
        What it is called.
    """
    return ["srun", f"--nodelist={entry.address or name}", *_OPTIONS, "--", *worker_words(entry)]
