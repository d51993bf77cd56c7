"""A place where runs are kept: a run, and a program that was followed after it."""

from __future__ import annotations

import shutil
from pathlib import Path

NAME = "20260103T000000Z-followed-python3"
_GOLDEN = Path(__file__).resolve().parent / "golden"


def keep_program(runs: Path) -> Path:
    """Make it; the directory of the program."""
    shutil.copytree(_GOLDEN / "runs" / "check-directory", runs / "20260101T000000Z-check-etcd")
    shutil.copytree(_GOLDEN / "followed" / "writer", runs / NAME)
    return runs / NAME
