"""Reads from a stored run what its rounds came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from drivelab.analyse.rounds import LASTING, NEEDED, PERHAPS_BURST, RoundsOfPlan
from drivelab.answers.trial_notes import TrialNotes
from drivelab.model.plan import Plan
from drivelab.model.rounds import PhaseRounds
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


def stored_values(run: StoredRun, notes: Mapping[str, TrialNotes] | None = None) -> dict[str, Mapping[str, float]]:
    """What rounds are judged by, of each stored trial; with notes also what findings say of its rate.

    Raises
    ------
    DrivelabError
        S506: a table of the run cannot be read.
    """
    table = trial_columns(run, lambda field: field.name in NEEDED)
    said = notes or {}
    return {
        row["trial"]: {name: float(row[name]) for name in NEEDED if row.get(name) is not None}
        | _said(said.get(row["trial"], TrialNotes()))
        for row in table.to_pylist()
    }


def _said(note: TrialNotes) -> dict[str, float]:
    """What findings say of the rate of a trial."""
    said = {LASTING: note.lasting_per_s, PERHAPS_BURST: note.perhaps_burst_per_s}
    return {name: value for name, value in said.items() if value is not None}


def with_titles(rounds: Iterable[PhaseRounds], titles: Mapping[str, str]) -> tuple[PhaseRounds, ...]:
    """Rounds whose series are called what their workloads are."""
    return tuple(
        replace(one, tracked=tuple(replace(each, title=titles.get(each.workload, "")) for each in one.tracked))
        for one in rounds
    )
