"""Whether a drive is faster between pauses than without one: whether it recovers while it is idle."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.model.judged_metric import RATE
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.model.units import format_duration_ns
from drivelab.report.numerals import number_text
from drivelab.report.sentences.contest import DIFFERS_FROM, times_apart
from drivelab.report.sentences.effect_words import change_between, than_words

_NS = 1e9


def pause_sentences(answer: RunAnswer) -> Iterator[str]:
    """How fast each target is between its longest pauses, beside what it is without any; at most a sentence each.

    Parameters
    ----------
    answer : RunAnswer
        Whose rates count pauses in; without a pause is the last workload that makes none, as in the file.
    """
    known = [one for one in answer.combinations if RATE in one.metrics and not one.invalid_trials]
    several = len({one.target for one in known}) > 1
    for target in dict.fromkeys(one.target for one in known):
        own = [one for one in known if one.target == target]
        paused = [one for one in own if one.workload in answer.pauses]
        plain = [one for one in own if one.workload not in answer.pauses]
        if paused and plain:
            longest = max(paused, key=lambda one: answer.pauses[one.workload][1])
            yield f"{f'{target}: ' if several else ''}{_beside(answer, longest, plain[-1])}."


def _beside(answer: RunAnswer, paused: CombinationResult, plain: CombinationResult) -> str:
    """``Between pauses of 50 s, 10 times as long as the writes, it is 2.1 times as fast as without a pause, ...``."""
    after_ns, pause_ns, outstanding = answer.pauses[paused.workload]
    one, other = paused.metrics[RATE], plain.metrics[RATE]
    # what it does while it is at work; what is outstanding then ends in the pause
    mine = one.value * (after_ns + pause_ns) / after_ns - outstanding * _NS / after_ns
    its = other.value
    numbers = f"{number_text(mine)} against {number_text(its)} IOPS"
    times = number_text(pause_ns / after_ns, 2)
    # so short a run has a pause or two
    verb = "looked" if any(one.is_scaled_down for one in answer.rounds) else "is"
    lead = f"Between pauses of {format_duration_ns(pause_ns)}, {times} times as long as the writes, it {verb}"
    low, high = other.ends
    # the interval of a trial with pauses is that of working and waiting: the other says how far a rate is known
    is_within = low is not None and high is not None and low <= mine <= high
    if times_apart(mine, its) < DIFFERS_FROM:
        told = f"{lead} as fast as without a pause, {numbers}"
    elif is_within:
        told = f"{lead.removesuffix(verb)}is not told apart from what it is without a pause, {numbers}"
    else:
        change = change_between(mine, its, is_more_slower=False)
        told = f"{lead} {change} {than_words(change)} without a pause, {numbers}"
    lasting = [one.lasting_per_s for each in answer.rounds for one in each.tracked if each.target == paused.target]
    known = [rate for rate in lasting if rate is not None]
    return f"{told}; both from its cache, {number_text(min(known), 2)} last" if known else told
