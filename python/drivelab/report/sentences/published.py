"""What a published page found where no two of its drives were measured alike: its numbers, and what limits them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from drivelab.model.level_words import level_text
from drivelab.model.result_set import Observation, ResultSet

SENTENCES_MAX = 3


def published_sentences(sets: Sequence[ResultSet], number_of: Callable[[Observation], str]) -> Iterator[str]:
    """The best and the worst number of each workload of published pages.

    Parameters
    ----------
    sets : sequence of ResultSet
        Those of runs are passed over: they tell more themselves.
    number_of : callable
        A number for people.
    """
    workloads: dict[tuple[str, str], list[Observation]] = {}
    for one in (one for each in sets if each.is_reference for one in each.observations):
        if one.estimate.value is not None:
            workloads.setdefault((one.title or one.workload, one.metric), []).append(one)
    for (title, _), members in list(workloads.items())[:SENTENCES_MAX]:
        ordered = sorted(members, key=lambda one: one.estimate.value or 0.0, reverse=not members[0].is_better_when_low)
        ends = ordered if len(ordered) == 1 else [ordered[0], ordered[-1]]
        told = " and ".join(f"{number_of(one)} ({_where(one)})" for one in ends)
        notes = "; ".join(dict.fromkeys(one.note for one in ends if one.note))
        between = "" if len(ordered) < 3 else f", {len(ordered) - 2} more numbers between them"
        yield f"{title[:1].upper()}{title[1:]}: {told}{between}; published{f': {notes}' if notes else ', no interval'}."


def _where(one: Observation) -> str:
    levels = [f"{name} {level_text(name, level)}" for name, level in one.levels.items()]
    return ", ".join([one.drive, *levels])
