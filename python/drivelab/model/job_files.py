"""Several files of each job, which take turns."""

from __future__ import annotations

import re
from typing import Literal

from drivelab.model.frozen import FrozenModel
from drivelab.model.told import key

FileOrder = Literal["round_robin", "random", "sequential"]
_OF_FIRST_JOB = re.compile(r"(.*)\.0\.(\d+)")


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


def name_of_file(name: str, number: int, file_count: int = 1) -> str:
    """What a file is called.

    Parameters
    ----------
    name : str
        With ``$jobnum`` and ``$filenum``, as in fio's formats; without them that of the first file of the first job,
        whose end is counted on.
    number : int
        Which file, from 0, by jobs.
    file_count : int
        Files of each job.
    """
    job, file = divmod(number, file_count)
    if "$jobnum" in name or "$filenum" in name:
        return name.replace("$jobnum", str(job)).replace("$filenum", str(file))
    if not number:
        return name
    if match := _OF_FIRST_JOB.fullmatch(name):
        return f"{match[1]}.{job}.{int(match[2]) + file}"
    stem = name.removesuffix(".0") if file_count > 1 else name
    return f"{stem}.{number}"
