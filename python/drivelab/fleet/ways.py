"""The ways in which this machine can have hosts started: over ssh, by srun of Slurm, by kubectl of Kubernetes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from drivelab.fleet.kubernetes import pod_starter
from drivelab.fleet.slurm import slurm_starter
from drivelab.fleet.ssh import ssh_starter
from drivelab.fleet.starter import Starter
from drivelab.model.fleet_hosts import HostEntry


def starter_of(*, slurm: bool, image: str | None) -> Callable[[HostEntry, str, int], Starter]:
    """What makes the starter of a host, of its entry, its name, and how long it may take, in seconds.

    Parameters
    ----------
    slurm : bool
        Whether srun starts them.
    image : str or None
        Of the pods as which kubectl starts them.
    """
    if image is not None:
        return partial(pod_starter, image)
    return slurm_starter if slurm else ssh_starter
