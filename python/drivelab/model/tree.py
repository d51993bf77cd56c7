"""Files that operations on a tree work on."""

from __future__ import annotations

from pydantic import Field

from drivelab.model.frozen import FrozenModel


class Tree(FrozenModel):
    """Files that operations on a tree work on, below the directory that is the target's path.

    ``directory_count`` directories, ``depth`` levels deep, hold equally many files each; 0 is the target's directory
    itself. Sizes are evenly distributed between the two bounds. Each job has its own part of the files, in directories
    of its own unless the workload's ``share_range`` is set.
    """

    file_count: int = Field(ge=1, lt=2**31)
    directory_count: int = Field(default=0, ge=0, lt=2**24)
    depth: int = Field(default=1, ge=1, le=64)
    file_bytes_min: int = Field(default=0, ge=0, le=2**30)
    file_bytes_max: int = Field(default=0, ge=0, le=2**30)
