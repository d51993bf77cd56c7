"""Why a run is not compared with a published page that tells of the same workload."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.result_set import Observation, ResultSet
from drivelab.report.judged_order import JUDGED
from drivelab.report.parts_of_text import capitalised, shortened
from drivelab.report.sentences.observed_number import number_alone


def not_compared_sentence(sets: Sequence[ResultSet]) -> str:
    """Both numbers of the first workload that they have in common, where that of the run does not describe the drive.

    Parameters
    ----------
    sets : sequence of ResultSet
        Of runs and of published pages, none of which could be compared.

    Returns
    -------
    str
        Empty where they have no such workload in common.
    """
    own = [one for each in sets if not each.is_reference for one in each.observations if one.invalid_trials]
    published = {
        _kind(one): one for each in sets if each.is_reference for one in reversed(each.observations) if _is_number(one)
    }
    pair = next(((one, published[_kind(one)]) for one in own if _is_number(one) and _kind(one) in published), None)
    if pair is None:
        return ""
    mine, other = pair
    here, there = number_alone(mine), f"the {number_alone(other)} of {shortened(other.drive)}, as published"
    why = f"{here} does not describe the drive, so it is not compared with {there}"
    return f"{capitalised(shortened(mine.title))}: {why}."


def _is_number(one: Observation) -> bool:
    return one.metric in JUDGED and one.estimate.value is not None


def _kind(one: Observation) -> tuple[object, ...]:
    return one.workload, one.metric, one.block_size_bytes
