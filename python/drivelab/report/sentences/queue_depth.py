"""How many I/Os at a time are best, and what each of them pays, in a sentence for each workload and target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.judged_metric import LATENCY, RATE
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.report.numerals import latency_text, number_text
from drivelab.report.parts_of_text import capitalised
from drivelab.report.sentences.one_curve import curves_over, label_of

QUEUE_DEPTH = "queue_depth"
# of the highest rate: what lies above it nobody would wait longer for
_ENOUGH = 1 / 1.1


def depth_sentences(answer: RunAnswer) -> Iterator[str]:
    """The lowest depth that gives as good as the highest rate, beside the first; nothing where depths were not varied.

    Parameters
    ----------
    answer : RunAnswer
        Where other factors were varied too the curves are at their first levels.
    """
    curves = curves_over(answer, QUEUE_DEPTH, _rated_depth)
    labels = {key: label_of(answer, QUEUE_DEPTH, members[0]) for key, members in curves.items()}
    is_varied = any(label != curves[key][0].label for key, label in labels.items())
    several_workloads = is_varied or len({workload for workload, _ in curves}) > 1
    several_targets = len({target for _, target in curves}) > 1
    for key, members in curves.items():
        parts = [labels[key]] if several_workloads else []
        parts += [f"on {key[1]}"] if several_targets else []
        place = " ".join(parts)
        yield f"{capitalised(place)}: {_best(members)}" if place else _best(members)


def _rated_depth(one: CombinationResult) -> int | None:
    is_rated = RATE in one.metrics and one.levels[QUEUE_DEPTH].isdecimal()
    return _depth(one) if is_rated else None


def _depth(one: CombinationResult) -> int:
    return int(one.levels[QUEUE_DEPTH])


def _best(members: Sequence[CombinationResult]) -> str:
    first, last = members[0], members[-1]
    most = max(one.metrics[RATE].median for one in members)
    enough = next(one for one in members if one.metrics[RATE].median >= _ENOUGH * most)
    if enough is first:
        told = f"{_depth(first)} at a time is enough, {_rate(first)}: {_depth(last)} bring less than 10\u00a0% more"
        return f"{told}{_waits(last, first)}."
    times = number_text(enough.metrics[RATE].median / first.metrics[RATE].median, 2)
    told = f"{_depth(enough)} at a time give {_rate(enough)}, {times} times those of {_depth(first)}"
    rest = "the rate still grows there" if enough is last else "more bring less than 10\u00a0% more"
    return f"{told}{_waits(enough, first)}; {rest}."


def _rate(one: CombinationResult) -> str:
    return f"{number_text(one.metrics[RATE].median)} IOPS"


def _waits(one: CombinationResult, first: CombinationResult) -> str:
    """What an I/O waits at a depth, and at the lowest."""
    if not all(LATENCY in each.metrics for each in (one, first)):
        return ""
    mine, lowest = (latency_text(each.metrics[LATENCY].median) for each in (one, first))
    return f"; each then takes {mine} instead of {lowest}"
