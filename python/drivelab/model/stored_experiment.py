"""An experiment as ``run.json`` has it: read leniently, since an older or a newer drivelab may have written it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def factor_levels(experiment: Mapping[str, Any], *, is_quick: bool = False) -> dict[str, tuple[str, ...]]:
    """Names of the levels of every factor, in the order of the experiment's file.

    Parameters
    ----------
    experiment : mapping
        What is stored under ``experiment``.
    is_quick : bool
        Whether the run was scaled down.
    """
    found = {}
    for factor in experiment.get("factors", ()):
        name = factor["key"] if factor["setting"] == "workload" else factor["setting"]
        levels = (factor.get("quick_levels") if is_quick else None) or factor.get("levels", ())
        found[name] = tuple(_name_of(level) for level in levels)
    return found


def _name_of(level: Any) -> str:
    if isinstance(level, Mapping):
        return str(level.get("name"))
    return str(level).lower() if isinstance(level, bool) else str(level)
