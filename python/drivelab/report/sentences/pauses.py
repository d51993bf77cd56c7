"""Whether a drive is faster between pauses than without one: whether it recovers while it is idle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from drivelab.model.judged_metric import RATE
from drivelab.model.rounds import PhaseRounds, TrackedSeries
from drivelab.model.run_answer import RepeatedMetric, RunAnswer
from drivelab.model.units import format_duration_ns
from drivelab.report.numerals import number_text
from drivelab.report.sentences.contest import DIFFERS_FROM, times_apart
from drivelab.report.sentences.effect_words import change_between, than_words

PERHAPS_BURST = ", perhaps a burst"
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
    rounds : tuple of PhaseRounds
        What led there.
    """

    target: str
    after_ns: int
    pause_ns: int
    between_per_s: float
    without: RepeatedMetric
    rounds: tuple[PhaseRounds, ...] = ()

    @property
    def is_perhaps_burst(self) -> bool:
        """Whether the rate without pauses may be the burst of a volume."""
        return any(series.is_perhaps_burst for series in self._tracked)

    @property
    def has_slowed(self) -> bool:
        """Whether the drive was slower than at first when it was measured; taken for granted where nothing tells."""
        falls = [series.has_fallen for series in self._tracked if series.window is not None]
        return any(falls) or not falls

    @property
    def lasting_per_s(self) -> float | None:
        """What is left of rates that a cache gave."""
        known = (series.lasting_per_s for series in self._tracked)
        return min((rate for rate in known if rate is not None), default=None)

    @property
    def _tracked(self) -> list[TrackedSeries]:
        return [series for one in self.rounds for series in one.tracked if series.metric == RATE]


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
            rounds = tuple(each for each in answer.rounds if each.target == target)
            yield PausedRates(target, after_ns, pause_ns, between, plain[-1].metrics[RATE], rounds)


def pause_sentences(answer: RunAnswer) -> Iterator[str]:
    """What pauses bring, at most a sentence for each target."""
    rates = list(paused_rates(answer))
    for one in rates:
        yield f"{f'{one.target}: ' if len(rates) > 1 else ''}{_beside(answer, one)}."


def _beside(answer: RunAnswer, one: PausedRates) -> str:
    """``Between pauses of 50 s, 10 times as long as the writes, it is 2.1 times as fast as without a pause, ...``."""
    mine, its = one.between_per_s, one.without.value
    caveat = PERHAPS_BURST if one.is_perhaps_burst else ""
    numbers = f"{number_text(mine)} against {number_text(its)} IOPS{caveat}"
    times = f", {number_text(one.pause_ns / one.after_ns, 2)} times as long as the writes,"
    # so short a run has a pause or two
    verb = "looked" if any(each.is_scaled_down for each in answer.rounds) else "is"
    is_alike = times_apart(mine, its) < DIFFERS_FROM
    had_nothing = is_alike and not one.has_slowed
    lead = f"Between pauses of {format_duration_ns(one.pause_ns)}{'' if had_nothing else times} it"
    low, high = one.without.ends
    # the interval of a trial with pauses is that of working and waiting: the other says how far a rate is known
    is_within = low is not None and high is not None and low <= mine <= high
    if is_alike:
        told = f"{lead} {verb} as fast as without a pause, {numbers}"
    elif is_within:
        told = f"{lead} is not told apart from what it is without a pause, {numbers}"
    else:
        change = change_between(mine, its, is_more_slower=False)
        told = f"{lead} {verb} {change} {than_words(change)} without a pause, {numbers}"
    if one.lasting_per_s is not None:
        return f"{told}; both from its cache, {number_text(one.lasting_per_s, 2)} last"
    return f"{told}; it had not slowed down before" if had_nothing else told
