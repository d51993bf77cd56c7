"""What an experiment came to, in sentences: what matters and what does not, or between which medians it lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.finding import trials_of
from drivelab.model.judged_metric import DURATION, LATENCY, MEAN_LATENCY, RESPONSE
from drivelab.model.level_words import is_quantity
from drivelab.model.metric import REACHED, metric_of
from drivelab.model.operations_apart import plural
from drivelab.model.run_answer import REACHED_WHOLE, CombinationResult, LevelEffect, RunAnswer
from drivelab.report.combination_labels import combination_labels, row_words, shown_metric
from drivelab.report.numerals import THIN_SPACE, value_writer
from drivelab.report.parts_of_text import capitalised, first_in_few_words
from drivelab.report.sentences.ahead import NOT_APART
from drivelab.report.sentences.baseline import with_baseline
from drivelab.report.sentences.bursts import burst_sentences, perhaps_burst_sentences
from drivelab.report.sentences.contests import BLOCK_SIZE
from drivelab.report.sentences.disturbance import disturbance_sentences
from drivelab.report.sentences.durations import duration_sentences
from drivelab.report.sentences.effects_in_short import effects_in_short
from drivelab.report.sentences.interactions import interaction_sentences
from drivelab.report.sentences.memory import memory_sentences, ways_sentences
from drivelab.report.sentences.queue_depth import QUEUE_DEPTH, depth_sentences
from drivelab.report.sentences.rounds import rounds_sentences
from drivelab.report.sentences.sizes import size_sentences
from drivelab.report.sentences.surface_shapes import shape_sentences
from drivelab.report.sentences.targets import target_sentences
from drivelab.report.sentences.told_rates import with_rates
from drivelab.report.sentences.values import curves_beside, value_sentences, values_on_targets

# what is not among them is in the tables
SENTENCES_MAX = 3
# of them about targets beside each other
BESIDE_MAX = 2


def run_sentences(answer: RunAnswer, *, of_tasks: bool = False) -> tuple[str, ...]:
    """The answer of a run of an experiment; empty when it has no combinations.

    What was measured comes first, over the size of an I/O where that was varied, or the best
    queue depth; and what several targets come to beside each other. Then what the levels of its factors do, with the
    largest place where one factor changes what another does; where nothing was varied,
    of each workload on each target the lowest and the highest median. Where sizes of
    files and of records were varied, what stands out of these surfaces instead. At most
    three sentences, but of tasks and surfaces.

    Parameters
    ----------
    of_tasks : bool
        Whether its workloads are tasks as a whole, of which the time is what counts (`asks_total_time`).
    """
    if answer.told:
        return (answer.told,)
    if of_phases := phase_sentences(answer):
        return of_phases[:SENTENCES_MAX]
    if answer.buckets:
        return first_in_few_words(tuple(burst_sentences(answer)))[:SENTENCES_MAX]
    beside = tuple(target_sentences(answer, DURATION if of_tasks else ""))
    if of_tasks:
        return (*beside, *duration_sentences(answer))
    answer = with_rates(answer)
    shapes = shape_sentences(answer)
    if shapes and not answer.effects:
        return (*beside, *shapes)
    depths, sizes = tuple(depth_sentences(answer)), tuple(size_sentences(answer))
    ways = tuple(ways_sentences(answer.combinations))
    memory = tuple(f"{capitalised(sentence)}." for sentence in ways or memory_sentences(answer.combinations))
    first = (*memory, *depths)
    # behind which target is fastest
    leads = first[:BESIDE_MAX] if beside and depths else ()
    if sizes or first:
        values: tuple[str, ...] = ()
    else:
        values = tuple(curves_beside(answer) if beside else value_sentences(answer))
        values = values or (() if beside else tuple(values_on_targets(answer)))
    # how far from the first depth or size to the last is told already
    curves = {factor for factor, told in ((QUEUE_DEPTH, depths), (BLOCK_SIZE, sizes)) if told}
    effects = tuple(
        effect
        for effect in answer.effects or answer.contrasts
        if effect.factor not in curves and not (values and _is_of_one_curve(effect))
    )
    interactions = interaction_sentences(answer)
    in_short = tuple(effects_in_short(effects, answer, is_other=bool(interactions), has_numbers=not values))
    told = (*first[len(leads) :], *(in_short if values or sizes or first else with_baseline(answer, in_short)))
    told = (*told[:1], *interactions, *told[1:]) or (() if values or leads else tuple(_of_combinations(answer)))
    # values and sizes stand beside others only where there are several targets, of which a sentence says which is best
    ahead = beside[:BESIDE_MAX]
    # that no target is ahead answers nothing: what larger sizes cost comes first
    answers = sizes if ahead and NOT_APART in ahead[0] else ()
    every = (*answers, *ahead[:1], *leads, *ahead[1:], *(sizes if not answers else ()), *values, *told)
    # what may not last limits the first of them; what is behind the first that is too long answers less than the others
    split = first_in_few_words(every[:1])
    behind = (*every[1:], *split[1:]) if leads else (*split[1:], *every[1:])
    return (*split[:1], *perhaps_burst_sentences(answer), *behind)[:SENTENCES_MAX]


def phase_sentences(answer: RunAnswer) -> tuple[str, ...]:
    """The answer of an experiment in phases; empty for any other."""
    return (*disturbance_sentences(answer), *rounds_sentences(answer))


def _is_of_one_curve(effect: LevelEffect) -> bool:
    """Whether it is a step of a curve that was measured once, of which the numbers at its ends are told."""
    return len(effect.block_ratios) == 1 and is_quantity(effect.level)


def plain_text(sentence: str) -> str:
    """A sentence for a terminal: plain blanks and units."""
    return sentence.replace("\u00a0", " ").replace(THIN_SPACE, " ").replace("µs", "us")


def _of_combinations(answer: RunAnswer) -> Iterator[str]:
    places: dict[tuple[str, str], list[CombinationResult]] = {}
    for one in answer.combinations:
        if one.judged_metric in one.metrics:
            places.setdefault((one.target, one.workload), []).append(one)
    several_targets = len({target for target, _ in places}) > 1
    for (target, _), members in places.items():
        where = f" on {target}" if several_targets else ""
        rest = f"{_memory(members)}{_invalid(members)}."
        for operation, own in _by_operation(answer, members):
            yield f"{members[0].label}{operation}{where}: {_span(own)}{rest}"


def _by_operation(
    answer: RunAnswer, members: Sequence[CombinationResult]
) -> list[tuple[str, Sequence[CombinationResult]]]:
    """The combinations of a place; by each of their operations where they mix some and are judged by a latency."""
    first = members[0]
    found: dict[str, list[CombinationResult]] = {}
    for one in answer.apart if metric_of(first.judged_metric).quantity == "latency" else ():
        is_here = (one.target, one.workload) == (first.target, first.workload)
        if is_here and one.operation and one.judged_metric in one.metrics:
            found.setdefault(f", {plural(one.operation)}", []).append(one)
    return list(found.items()) or [("", members)]


def _invalid(members: Sequence[CombinationResult]) -> str:
    """How many of the trials do not describe the drive."""
    count = sum(one.invalid_trials for one in members)
    total = sum(one.trial_count for one in members)
    return f"; {trials_of(count, total, 'do not')} describe the drive" if count else ""


def _memory(members: Sequence[CombinationResult]) -> str:
    """How little of it reached the drive, where memory took the rest."""
    reached = [one.metrics[REACHED].median for one in members if REACHED in one.metrics]
    if not reached or min(reached) >= REACHED_WHOLE:
        return ""
    low, high = (f"{100 * share:.0f}" for share in (min(reached), max(reached)))
    share = low if low == high else f"{low} to {high}"
    return f"; {share} % of it reached the drive while it was timed, the rest was memory"


def _kind_of(one: CombinationResult) -> str:
    """What the number of a combination is: one of a single trial is no median unless it is that of its I/Os."""
    if one.trial_count > 1 or one.judged_metric in (LATENCY, RESPONSE):
        return "a median of "
    return "a mean of " if one.judged_metric == MEAN_LATENCY else ""


def _span(members: Sequence[CombinationResult]) -> str:
    """One number, or the least and the most of several: small I/Os that nobody waits for are counted, as in tables."""
    metric = shown_metric(members)
    write = value_writer(metric)
    labels = combination_labels(members)
    medians = [one.metrics[metric].median for one in members]
    if len(members) == 1:
        return f"{_kind_of(members[0])}{write(medians[0])}"
    named = [(median, row_words(labels.names, row)) for median, row in zip(medians, labels.rows, strict=True)]
    (low, lowest), (high, highest) = min(named), max(named)
    return f"medians from {write(low)} ({lowest}) to {write(high)} ({highest})"
