"""The look at a drive right before a workload writes to it."""

from __future__ import annotations

from drivelab.model.errors import DrivelabError
from drivelab.model.workload import Workload
from drivelab.run.engine import StopRequest, prepare_target
from drivelab.state.held_device import look_before_writing, require_given_up


def look_before(*workloads: Workload) -> None:
    """Return only if workloads may write to their targets right now; whoever has them issued asks here first.

    It reads from the drive, so it comes before counters are read and traces begin.

    Raises
    ------
    DrivelabError
        C201: the target is a block device that nobody gave up. C202 to C209: it may not be written to any more.
    """
    for workload in workloads:
        if workload.writes and workload.backend != "null":
            require_given_up(workload.target.path)
            look_before_writing(workload.target.path)


def prepare_own_target(workload: Workload, *, stop: StopRequest | None = None) -> None:
    """Bring the target into the state that a workload expects; where somebody else has the drive, say who.

    Raises
    ------
    DrivelabError
        C201 to C209: as `look_before`. E301 to E315: what would keep the run from starting.
    """
    try:
        prepare_target(workload, stop=stop)
    except DrivelabError as error:
        if error.code == "E307":
            look_before(workload)
        raise
