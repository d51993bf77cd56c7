"""Refuses targets that cannot be measured side by side, or that cannot answer what an experiment asks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.target import DEVICE_KINDS, BlockLayer, TargetFacts


def refuse_unanswerable(experiment: Experiment, targets: Sequence[TargetFacts]) -> None:
    """Return only if every target is of a kind that the experiment's question is about.

    Raises
    ------
    DrivelabError
        P711: it is about block devices, and a target is none.
    """
    if experiment.requires != "device":
        return
    for facts in targets:
        if facts.kind not in DEVICE_KINDS:
            kind = facts.kind.replace("_", " ")
            what = f"{experiment.name} asks about a drive, and {facts.text} is a {kind}: no answer would follow from it"
            raise DrivelabError("P711", what, where=facts.text)


def refuse_overlaps(targets: Sequence[TargetFacts], *, erased: Sequence[bool]) -> None:
    """Return only if no target lies on another one in a way that one would spoil the other.

    Parameters
    ----------
    erased : sequence of bool
        Whether the run erases each of them, in the same order.

    Raises
    ------
    DrivelabError
        P710: two are the same device, one is a part of the other, or one is
        a directory or file on a device that is erased.
    """
    pairs = zip(targets, erased, strict=True)
    for (one, is_one_erased), (other, is_other_erased) in itertools.combinations(pairs, 2):
        for upper, lower, is_lower_erased in ((one, other, is_other_erased), (other, one, is_one_erased)):
            parts = itertools.product(_parts(upper), _parts(lower))
            whys = (_overlap(*part, is_lower_erased=is_lower_erased) for part in parts)
            why = next(filter(None, whys), "")
            if why:
                where = f"{one.text} and {other.text}"
                raise DrivelabError("P710", why, where=where)


def _parts(target: TargetFacts) -> tuple[TargetFacts, ...]:
    """The members of a RAID set that is not made yet; anything else is one part."""
    return target.raid.members if target.raid is not None else (target,)


def _overlap(upper: TargetFacts, lower: TargetFacts, *, is_lower_erased: bool) -> str:
    """Why two targets overlap, when the first lies on the second or is the same; empty when it does not."""
    if lower.kind != "block_device" or not lower.devices:
        return ""
    device = lower.devices[-1]
    if upper.kind != "block_device":
        if is_lower_erased and _lies_on(upper.devices, device):
            return f"{upper.text} lies on {device.path}, which the run would erase"
        return ""
    if not upper.devices:
        return ""
    if _is_same(upper, lower):
        return f"{upper.text} and {lower.text} are the same device, {device.path}"
    if _lies_on(upper.devices, device):
        return f"{upper.text} is a part of {device.path}, or lies on it"
    return ""


def _is_same(one: TargetFacts, other: TargetFacts) -> bool:
    if one.devices[-1].name == other.devices[-1].name:
        return True
    # one drive by two ways; serials alone do not tell, since some adapters give all drives the same
    wwns = [facts.identity.wwn if facts.identity else None for facts in (one, other)]
    are_whole = all(facts.devices[-1].kind == "disk" for facts in (one, other))
    return are_whole and wwns[0] is not None and wwns[0] == wwns[1]


def _lies_on(layers: Sequence[BlockLayer], device: BlockLayer) -> bool:
    return any(layer.name == device.name for layer in layers)
