"""Why a run is not compared with a published page that tells of the same workload."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.result_set import Observation, ResultSet
from drivelab.report.judged_order import JUDGED
from drivelab.report.parts_of_text import capitalised, shortened
from drivelab.report.sentences.observed_number import ends_of, number_alone


def not_compared_sentence(sets: Sequence[ResultSet]) -> str:
    """Both numbers of the first workload that they have in common, and why they are not compared.

    The number of the run does not describe the drive, or the page does not tell how many were outstanding.

    Parameters
    ----------
    sets : sequence of ResultSet
        Of runs and of published pages, none of which could be compared.

    Returns
    -------
    str
        Empty where they have no such workload in common.
    """
    own = [one for each in sets if not each.is_reference for one in each.observations]
    published = {
        _kind(one): one for each in sets if each.is_reference for one in reversed(each.observations) if _is_number(one)
    }
    pairs = ((one, published[_kind(one)]) for one in own if _is_number(one) and _kind(one) in published)
    pair = next((pair for pair in pairs if pair[0].invalid_trials or pair[1].queue_depth is None), None)
    if pair is None:
        return ""
    mine, other = pair
    number = number_alone(other)
    # a page that has one number for several drives
    alike = {
        one.drive
        for each in sets
        if each.is_reference
        for one in each.observations
        if _kind(one) == _kind(other) and number_alone(one) == number
    }
    others = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
    here, drives = number_alone(mine), f"{shortened(other.drive)}{others}"
    why = f"{here} does not describe the drive, so it is not compared with the {number} of {drives}, as published"
    if not mine.invalid_trials:
        why = f"{here} with {mine.queue_depth or 1} outstanding; published without a depth: {number} ({drives})"
    return f"{capitalised(shortened(mine.title))}: {why}."


def _is_number(one: Observation) -> bool:
    return one.metric in JUDGED and (one.estimate.value is not None or ends_of(one) is not None)


def _kind(one: Observation) -> tuple[object, ...]:
    return one.workload, one.metric, one.block_size_bytes
