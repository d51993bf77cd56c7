"""A trial that is ready to be measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from drivelab.model.target import TargetFacts
from drivelab.model.workload import Workload
from drivelab.model.workload_pattern import WorkloadPattern


class StoppedError(Exception):
    """The user asked for the end while something was being made."""


@dataclass(frozen=True, slots=True)
class PreparedTrial:
    """Where a trial's I/O goes.

    Attributes
    ----------
    workload : Workload
        What is issued.
    facts : TargetFacts
        What it is issued to.
    achieved : dict of str to str
        Level of every setting, as read back.
    context : dict
        What was done before it, and what each layer says of each setting.
    drops_page_cache : bool
        Whether the page cache is to be emptied of its data before it is measured.
    """

    workload: Workload
    facts: TargetFacts
    achieved: dict[str, str]
    context: dict[str, Any] = field(default_factory=dict)
    drops_page_cache: bool = False


def used_bytes(pattern: WorkloadPattern, size_bytes: int, logical_block_size_bytes: int) -> int:
    """Bytes of a target or file of `size_bytes` that a workload uses: its begin, in whole blocks."""
    if pattern.fill_level == 1:
        return size_bytes
    unit = max(pattern.block_size, logical_block_size_bytes)
    return max(unit, int(size_bytes * pattern.fill_level) // unit * unit)
