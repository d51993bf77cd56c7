"""Whether a drive is faster between pauses than without one: whether it recovers while it is idle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from drivelab.model.judged_metric import RATE
from drivelab.model.run_answer import RepeatedMetric, RunAnswer
from drivelab.model.units import format_duration_ns
from drivelab.report.numerals import number_text
from drivelab.report.sentences.contest import DIFFERS_FROM, times_apart
from drivelab.report.sentences.effect_words import change_between, than_words

_NS = 1e9


@dataclass(frozen=True, slots=True)
class PausedRates:
    """I/Os a second of one target while it is at work between its longest pauses, and without any.

    Attributes
    ----------
    target : str
        Its label.
    after_ns, pause_ns : int
        For how long it works, and how long it rests then.
    between_per_s : float
        Without the time of the pauses, nor what is outstanding when one begins, which ends in it.
    without : RepeatedMetric
        Of the last workload that makes no pauses, as in the file.
    """

    target: str
    after_ns: int
    pause_ns: int
    between_per_s: float
    without: RepeatedMetric


def paused_rates(answer: RunAnswer) -> Iterator[PausedRates]:
    """How fast each target is between its longest pauses, beside what it is without any."""
    known = [one for one in answer.combinations if RATE in one.metrics and not one.invalid_trials]
    for target in dict.fromkeys(one.target for one in known):
        own = [one for one in known if one.target == target]
        paused = [one for one in own if one.workload in answer.pauses]
        plain = [one for one in own if one.workload not in answer.pauses]
        if paused and plain:
            longest = max(paused, key=lambda one: answer.pauses[one.workload][1])
            after_ns, pause_ns, outstanding = answer.pauses[longest.workload]
            counted = longest.metrics[RATE].value * (after_ns + pause_ns) / after_ns
            between = counted - outstanding * _NS / after_ns
            yield PausedRates(target, after_ns, pause_ns, between, plain[-1].metrics[RATE])


def pause_sentences(answer: RunAnswer) -> Iterator[str]:
    """What pauses bring, at most a sentence for each target."""
    rates = list(paused_rates(answer))
    for one in rates:
        yield f"{f'{one.target}: ' if len(rates) > 1 else ''}{_beside(answer, one)}."


def _beside(answer: RunAnswer, one: PausedRates) -> str:
    """``Between pauses of 50 s, 10 times as long as the writes, it is 2.1 times as fast as without a pause, ...``."""
    mine, its = one.between_per_s, one.without.value
    numbers = f"{number_text(mine)} against {number_text(its)} IOPS"
    times = number_text(one.pause_ns / one.after_ns, 2)
    # so short a run has a pause or two
    verb = "looked" if any(each.is_scaled_down for each in answer.rounds) else "is"
    lead = f"Between pauses of {format_duration_ns(one.pause_ns)}, {times} times as long as the writes, it"
    low, high = one.without.ends
    # the interval of a trial with pauses is that of working and waiting: the other says how far a rate is known
    is_within = low is not None and high is not None and low <= mine <= high
    if times_apart(mine, its) < DIFFERS_FROM:
        told = f"{lead} {verb} as fast as without a pause, {numbers}"
    elif is_within:
        told = f"{lead} is not told apart from what it is without a pause, {numbers}"
    else:
        change = change_between(mine, its, is_more_slower=False)
        told = f"{lead} {verb} {change} {than_words(change)} without a pause, {numbers}"
    own = [each for each in answer.rounds if each.target == one.target]
    lasting = [series.lasting_per_s for each in own for series in each.tracked]
    known = [rate for rate in lasting if rate is not None]
    return f"{told}; both from its cache, {number_text(min(known), 2)} last" if known else told
