"""The combinations of a run that make a curve over one factor, all others being at their first levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from drivelab.model.level_words import levels_phrase
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.model.saturation import POINTS_MIN

Place = tuple[str, str]


def curves_over(
    answer: RunAnswer, factor: str, place_on_it: Callable[[CombinationResult], int | None]
) -> Mapping[Place, Sequence[CombinationResult]]:
    """Curves over a factor.

    Parameters
    ----------
    answer : RunAnswer
        Combinations with trials that do not describe the drive are left out.
    factor : str
        That has a level for each point.
    place_on_it : callable
        The number of a point; None for what can't be one.

    Returns
    -------
    mapping of (workload, target) to sequence of CombinationResult
        In order; of at least `POINTS_MIN` points, no two at one place; each at the first levels of its target.
    """
    levels = {target: _levels(answer, target) for target in {one.target for one in answer.combinations}}
    found: dict[Place, dict[int, CombinationResult]] = {}
    for one in answer.combinations:
        firsts = levels[one.target]
        is_first = all(level == firsts[name][0] for name, level in one.levels.items() if name != factor)
        place = place_on_it(one) if factor in one.levels and is_first and not one.invalid_trials else None
        if place is not None:
            found.setdefault((one.workload, one.target), {})[place] = one
    return {key: [of[at] for at in sorted(of)] for key, of in found.items() if len(of) >= POINTS_MIN}


def label_of(answer: RunAnswer, factor: str, one: CombinationResult) -> str:
    """A workload with the levels that its curve is at, where there are others: ``reads (write-cache on)``."""
    levels = _levels(answer, one.target)
    others = {name: level for name, level in one.levels.items() if name != factor and len(levels[name]) > 1}
    return f"{one.label}{f' ({levels_phrase(others)})' if others else ''}"


def _levels(answer: RunAnswer, target: str) -> dict[str, list[str]]:
    """The levels of each factor on a target, in the order in which they were listed."""
    found: dict[str, list[str]] = {}
    for one in (each for each in answer.combinations if each.target == target):
        for name, level in one.levels.items():
            if level not in found.setdefault(name, []):
                found[name].append(level)
    return found
