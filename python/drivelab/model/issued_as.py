"""What the rows of I/Os do not tell of how they were issued."""

from __future__ import annotations

from typing import Literal, get_args

from drivelab.model.frozen import FrozenModel
from drivelab.model.recording import DurableFlag
from drivelab.model.workload import Workload

_FLAGS: dict[str, DurableFlag] = {flag: flag for flag in get_args(DurableFlag)}


class IssuedAs(FrozenModel):
    """How the I/Os of a workload were issued, in the words of `drivelab.model.recording.Recording`."""

    direct: bool
    durability: DurableFlag
    sync: Literal["fsync", "fdatasync"]
    made_room: bool

    @staticmethod
    def of(workload: Workload) -> IssuedAs:
        """How those of this one are."""
        method = workload.durability.method
        return IssuedAs(
            direct=workload.direct,
            durability=_FLAGS.get(method, "none"),
            sync=workload.recording.sync if workload.recording else "fsync" if method == "fsync" else "fdatasync",
            made_room=workload.file_state != "overwrite",
        )
