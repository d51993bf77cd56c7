"""Several files of each job, which take turns."""

from __future__ import annotations

from typing import Literal

from drivelab.model.frozen import FrozenModel
from drivelab.model.told import key

FileOrder = Literal["round_robin", "random", "sequential"]


class JobFiles(FrozenModel):
    """The files of each job: all are alike, and one after the other they are its range.

    A file that is through with its order of addresses has no turn until all are.
    """

    # fmt: off
    count: int = key(1, "files of each job, of `file_size` each", takes="a number", ge=1, le=1024)
    order: FileOrder = key(
        "round_robin", "which has the next turn: the one that follows, any, or the same until it is through")
    ios_per_turn: int = key(1, "I/Os of a turn", takes="a number", ge=1, lt=2**31)
    open_max: int = key(
        0, "so many take turns, and another one when one of them is through; 0: all", takes="a number", ge=0, le=1024)
    # fmt: on
