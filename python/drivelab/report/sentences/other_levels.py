"""The rows of a run at the other levels of a factor of which nothing is settled: without them its numbers tell half."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.level_words import is_quantity, level_phrase
from drivelab.model.run_answer import CombinationResult, RunAnswer

# more of them are a table
_LEVELS_MAX = 2


def at_other_levels(
    answer: RunAnswer, members: Sequence[CombinationResult], others: Sequence[str]
) -> Iterator[tuple[str, list[CombinationResult]]]:
    """Rows like those that are told, at another level of a factor that two levels of were measured too seldom to judge.

    Yields
    ------
    str, list of CombinationResult
        The level, ``with write-cache off``, and its rows.
    """
    first = members[0]
    place = (first.target, first.workload)
    here = [one for one in answer.effects or answer.contrasts if (one.target, one.workload) == place]
    for factor in others:
        levels = [one for one in here if one.factor == factor]
        if len(levels) != _LEVELS_MAX - 1 or is_quantity(levels[0].level) or levels[0].p_value is not None:
            continue
        wanted = [{**one.levels, factor: levels[0].level} for one in members]
        rows = [one for one in answer.combinations if (one.target, one.workload) == place and one.levels in wanted]
        if len(rows) == len(members) and not any(one.invalid_trials for one in rows):
            yield f"with {level_phrase(factor, levels[0].level)}", rows
