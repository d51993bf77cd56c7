"""A trial that is ready to be measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from drivelab.model.target import TargetFacts
from drivelab.model.workload import Workload


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
