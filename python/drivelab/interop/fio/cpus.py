"""Processors that a job is pinned to."""

from __future__ import annotations

import re

from drivelab.interop.fio.job_options import JobOptions

_CPUS_MAX = 4096


def pinned(options: JobOptions) -> list[int]:
    """Numbers of the processors that cpus_allowed or cpumask name; empty if neither is set.

    Raises
    ------
    DrivelabError
        U032: not a list of processors.
    """
    if options.has("cpus_allowed"):
        return _of_list(options, options.text("cpus_allowed"))
    mask = options.number("cpumask")
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


def _of_list(options: JobOptions, text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", part, re.ASCII)
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
        if not numbers or len(found) + len(numbers) > _CPUS_MAX:
            what = f"cpus_allowed: '{part[:40]}' names no processors"
            raise options.refuse("cpus_allowed", what, code="U032", do="write numbers and ranges: 0,2-5")
        found += numbers
    return found
