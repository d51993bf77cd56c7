"""The names of targets: lists with colons, and those that fio makes of a job's name."""

from __future__ import annotations

import itertools
import re

_NAMES_MAX = 1024
_LENGTH_MAX = 4096


def names_of(text: str) -> tuple[str, ...]:
    r"""The names in a list with colons; ``\:`` is a colon within a name."""
    parts = re.split(r"(?<!\\):", text)
    names = (part.replace("\\:", ":").strip() for part in parts)
    # fio stops at the first that is empty
    return tuple(itertools.takewhile(bool, names))[:_NAMES_MAX]


def default_name(layout: str, job_name: str, *, job_number: int | str, file_number: int | str = 0) -> str:
    """The name of a file that fio makes of the job's name and numbers, or of what stands for these."""
    values = {"$jobname": job_name, "$jobnum": str(job_number), "$filenum": str(file_number), "$clientuid": ""}
    pattern = re.compile("|".join(re.escape(key) for key in values), re.IGNORECASE)
    return pattern.sub(lambda match: values[match[0].lower()], layout)[:_LENGTH_MAX]


def is_device(path: str) -> bool:
    """Whether a path names a device, as far as its name tells."""
    return path.startswith("/dev/") and not path.startswith(("/dev/shm/", "/dev/mqueue/"))
