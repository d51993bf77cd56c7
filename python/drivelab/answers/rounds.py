"""Reads from a stored run what its rounds came to."""

from __future__ import annotations

from collections.abc import Mapping

from drivelab.analyse.rounds import NEEDED, RoundsOfPlan
from drivelab.model.plan import Plan
from drivelab.store.read import StoredRun
from drivelab.store.selection import trial_columns


def rounds_of_run(run: StoredRun) -> RoundsOfPlan | None:
    """The rounds of a stored run; None where its experiment had no phases, or no plan can be read."""
    if not run.record.plan.get("phases"):
        return None
    try:
        return RoundsOfPlan(Plan.from_json(run.record.plan))
    except (LookupError, TypeError, ValueError):
        # another drivelab wrote it: its trials can be read all the same
        return None


def stored_values(run: StoredRun) -> dict[str, Mapping[str, float]]:
    """What rounds are judged by, of each stored trial.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    table = trial_columns(run, lambda field: field.name in NEEDED)
    return {
        row["trial"]: {name: float(row[name]) for name in NEEDED if row.get(name) is not None}
        for row in table.to_pylist()
    }
