"""How long tasks took as a whole, and how much longer out of order than in order."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.model.judged_metric import DURATION
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.report.combination_labels import combination_labels, row_words
from drivelab.report.numerals import latency_text, number_text, span_between
from drivelab.report.parts_of_text import capitalised

# ends the name of a workload that is another one put into order
IN_ORDER = "-in-order"


def duration_sentences(answer: RunAnswer) -> Iterator[str]:
    """The whole time of each workload on each target, beside that of the same in order where it was measured.

    Parameters
    ----------
    answer : RunAnswer
        Of a run whose workloads are tasks that somebody waits for.
    """
    several_targets = len({one.target for one in answer.combinations}) > 1
    places: dict[tuple[str, str], list[CombinationResult]] = {}
    for one in answer.combinations:
        if DURATION in one.metrics:
            places.setdefault((one.target, one.workload), []).append(one)
    for (target, workload), members in places.items():
        if workload.endswith(IN_ORDER) and (target, workload.removesuffix(IN_ORDER)) in places:
            continue
        labels = combination_labels(members)
        in_order = places.get((target, f"{workload}{IN_ORDER}"), [])
        for one, row in zip(members, labels.rows, strict=True):
            words = [_named(one.label), *([f"on {target}"] if several_targets else []), row_words(labels.names, row)]
            twin = next((each for each in in_order if each.levels == one.levels), None)
            yield f"{capitalised(' '.join(filter(None, words)))}: {_time(one)}{_beside(one, twin)}."


def _named(label: str) -> str:
    """``boot (1920 scattered reads)``: what a task does behind its name."""
    name, _, does = label.partition(": ")
    return f"{name} ({does})" if does else name


def _time(one: CombinationResult) -> str:
    found = one.metrics[DURATION]
    ends = span_between(latency_text(found.lowest), latency_text(found.highest))
    span = f" ({ends})" if found.repeat_count > 1 else ""
    return f"{latency_text(found.median)}{span}"


def _beside(one: CombinationResult, twin: CombinationResult | None) -> str:
    if twin is None:
        return ""
    mine, other = one.metrics[DURATION], twin.metrics[DURATION]
    if mine.lowest <= other.highest and other.lowest <= mine.highest:
        return f", not told apart from {twin.label} ({latency_text(other.median)})"
    ratio = mine.median / other.median
    return f", {number_text(ratio)} times as long as {twin.label} ({latency_text(other.median)})"
