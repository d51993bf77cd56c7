"""What an experiment came to, in sentences: what matters and what does not, or between which medians it lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from drivelab.model.level_words import level_text
from drivelab.model.operations_apart import plural
from drivelab.model.run_answer import REACHED_WHOLE, CombinationResult, LevelEffect, RunAnswer
from drivelab.report.combination_labels import combination_labels, row_words
from drivelab.report.numerals import THIN_SPACE, number_text, value_writer
from drivelab.report.sentences.contrasts import contrast_sentences, memory_sentences
from drivelab.report.sentences.durations import duration_sentences
from drivelab.report.sentences.effect_words import change_size, change_words
from drivelab.report.sentences.interactions import interaction_sentences
from drivelab.report.sentences.surface_shapes import shape_sentences

# of a kind of verdict; the table has all
LEVELS_NAMED = 6
TOTAL_TIME = "total-time"
_THROUGHPUT = "throughput_bytes_per_s"


def run_sentences(answer: RunAnswer, *, of_tasks: bool = False) -> tuple[str, ...]:
    """The answer of a run of an experiment; empty when it has no combinations.

    Where the experiment asks for effects, the levels by what was found out about
    them; otherwise of each workload on each target the lowest and the highest
    median. Then where one factor changes what another does. Where sizes of files
    and of records were varied, what stands out of these surfaces instead.

    Parameters
    ----------
    answer : RunAnswer
        What the run came to.
    of_tasks : bool
        Whether its workloads are tasks as a whole, of which the time is what counts (`asks_total_time`).
    """
    if of_tasks:
        return tuple(duration_sentences(answer))
    shapes = shape_sentences(answer)
    if shapes and not answer.effects:
        return shapes
    told = _of_effects(answer.effects) if answer.effects else _of_combinations(answer)
    return (*told, *interaction_sentences(answer))


def asks_total_time(experiment: Mapping[str, Any]) -> bool:
    """Whether an experiment, as ``run.json`` has it, asks how long whole tasks take."""
    return TOTAL_TIME in experiment.get("figures", ())


def plain_text(sentence: str) -> str:
    """A sentence for a terminal: plain blanks and units."""
    return sentence.replace("\u00a0", " ").replace(THIN_SPACE, " ").replace("µs", "us")


def _of_effects(effects: Sequence[LevelEffect]) -> Iterator[str]:
    has_several = len({(effect.target, effect.workload) for effect in effects}) > 1
    matters = [effect for effect in effects if effect.verdict == "matters"]
    # the largest change first
    matters.sort(key=lambda effect: -abs(change_size(effect) - 1))
    differ = [effect for effect in effects if effect.verdict == "differs"]
    none = [effect for effect in effects if effect.verdict == "no effect"]
    open_ones = [effect for effect in effects if effect.verdict == "not settled"]
    if matters:
        yield f"Matters: {_named(matters, has_several, with_ratio=True)}."
    bound = f"{100 * effects[0].bound:.0f} %"
    if differ:
        yield f"Differs, perhaps by less than {bound}: {_named(differ, has_several, with_ratio=True)}."
    if none:
        yield f"No effect of {bound} or more: {_named(none, has_several)}."
    if open_ones and len(open_ones) == len(effects):
        largest = max(open_ones, key=change_size)
        where = f" for {largest.workload} on {largest.target}" if has_several else ""
        name = f"{largest.factor} {level_text(largest.factor, largest.level)}{where}"
        yield f"Nothing is settled; the largest change seen: {name} ({change_words(largest)}{_interval(largest)})."
    elif open_ones:
        yield f"Not settled: {_named(open_ones, has_several)}."
    refused = [effect for effect in effects if effect.refused_for]
    if refused:
        yield f"Not taken by the drive, so not judged: {_named(refused, has_several)}."
    unjudged = [effect for effect in effects if effect.verdict == "not judged" and not effect.refused_for]
    if unjudged:
        named = _named(unjudged, has_several)
        yield f"Not judged, because some of the trials do not describe the drive: {named}."


def _interval(effect: LevelEffect) -> str:
    ratio = effect.ratio
    if ratio.low is None or ratio.high is None:
        return ""
    value, low, high = (number_text(number) for number in (ratio.value or 1.0, ratio.low, ratio.high))
    return f"; ratio {value}, 95 % interval {low} to {high}"


def _named(effects: Sequence[LevelEffect], has_several: bool, *, with_ratio: bool = False) -> str:
    names = []
    for effect in effects[:LEVELS_NAMED]:
        where = f" for {effect.workload} on {effect.target}" if has_several else ""
        ratio = f" ({change_words(effect)})" if with_ratio else ""
        names.append(f"{effect.factor} {level_text(effect.factor, effect.level)}{where}{ratio}")
    more = len(effects) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _of_combinations(answer: RunAnswer) -> Iterator[str]:
    places: dict[tuple[str, str], list[CombinationResult]] = {}
    for one in answer.combinations:
        if one.judged_metric in one.metrics:
            places.setdefault((one.target, one.workload), []).append(one)
    several_targets = len({target for target, _ in places}) > 1
    for (target, workload), members in places.items():
        where = f" on {target}" if several_targets else ""
        contrasts = list(contrast_sentences(answer, target, workload))
        rest = f"{_memory(members)}{_invalid(members)}."
        told = [("", contrast) for contrast in contrasts] or [
            (name, _span(own)) for name, own in _by_operation(answer, members)
        ]
        for operation, words in told:
            yield f"{members[0].label}{operation}{where}: {words}{rest}"
    for sentence in memory_sentences(answer.combinations):
        yield f"{sentence}."


def _by_operation(
    answer: RunAnswer, members: Sequence[CombinationResult]
) -> list[tuple[str, Sequence[CombinationResult]]]:
    """The combinations of a place; by each of their operations where they mix some and are judged by a latency."""
    first = members[0]
    found: dict[str, list[CombinationResult]] = {}
    for one in answer.apart if "latency" in first.judged_metric else ():
        is_here = (one.target, one.workload) == (first.target, first.workload)
        if is_here and one.operation and one.judged_metric in one.metrics:
            found.setdefault(f", {plural(one.operation)}", []).append(one)
    return list(found.items()) or [("", members)]


def _invalid(members: Sequence[CombinationResult]) -> str:
    """How many of the trials do not describe the drive."""
    count = sum(one.invalid_trials for one in members)
    return f"; {count} of {sum(one.trial_count for one in members)} trials do not describe the drive" if count else ""


def _memory(members: Sequence[CombinationResult]) -> str:
    """How little of it reached the drive, where memory took the rest."""
    reached = [one.metrics["reached_device_share"].median for one in members if "reached_device_share" in one.metrics]
    if not reached or min(reached) >= REACHED_WHOLE:
        return ""
    low, high = (f"{100 * share:.0f}" for share in (min(reached), max(reached)))
    share = low if low == high else f"{low} to {high}"
    return f"; {share} % of it reached the drive while it was timed, the rest was memory"


def _kind_of(one: CombinationResult) -> str:
    """What the number of a combination is: one of a single trial is no median unless it is that of its I/Os."""
    if one.trial_count > 1 or one.judged_metric.endswith("_p50"):
        return "a median of "
    return "a mean of " if one.judged_metric.endswith("_mean") else ""


def _span(members: Sequence[CombinationResult]) -> str:
    metric = members[0].judged_metric
    write = value_writer(metric)
    labels = combination_labels(members)
    medians = [one.metrics[metric].median for one in members]
    if len(members) == 1:
        return f"{_kind_of(members[0])}{write(medians[0])}"
    named = [(median, row_words(labels.names, row)) for median, row in zip(medians, labels.rows, strict=True)]
    (low, lowest), (high, highest) = min(named), max(named)
    return f"medians from {write(low)} ({lowest}) to {write(high)} ({highest})"
