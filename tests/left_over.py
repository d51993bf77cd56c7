"""What ended processes left changed, put back with the error that a command would end with."""

from __future__ import annotations

from pathlib import Path

from drivelab.state.restore import Restored, put_back, require_none_stuck


def restore_left_over(directory: Path) -> list[Restored]:
    """What was put back; an error where something could not be."""
    done = put_back(directory)
    require_none_stuck(done.stuck)
    return done.restored
