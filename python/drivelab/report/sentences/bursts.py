"""How long it is fast, how fast it is then, and what an idle time gives back: a sentence for each limit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from drivelab.model.apart import are_apart
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import RATE, THROUGHPUT, is_counted
from drivelab.model.names import names_in_words
from drivelab.model.published_burst import published_burst_s
from drivelab.model.run_answer import RunAnswer
from drivelab.model.token_bucket import TokenBucket
from drivelab.model.units import format_decimal_bytes, format_duration_ns
from drivelab.report.numerals import number_text
from drivelab.report.parts_of_text import FIRST_WORDS_MAX, capitalised, shortened
from drivelab.report.sentences.contest import DIFFERS_FROM, times_apart

_HOUR_S = 3600.0
READS = {"I/Os": "random", "bytes": "large"}
Pair = Sequence[tuple[str, TokenBucket]]
# what is over before anybody notices is no burst to plan with
_SHORT_S = 1.0
# what another trial of the same drive would give is not known from one
_WITHIN = "; measured once"
# of the time that was watched: less of it was spent reading where there were rests
_READING_SHARE = 0.99


def burst_sentences(answer: RunAnswer) -> Iterator[str]:
    """How several targets compare; then what each trial that watched for the end of a burst came to, I/Os first.

    Of the credit that was seen there is a sentence more; where nothing ended on several targets there is one of all.
    """
    several = len({target for target, _ in answer.buckets}) > 1
    order = sorted(answer.buckets, key=lambda one: (one[1].verdict == "no end", one[1].token == "bytes"))
    if several and all(bucket.verdict == "no end" for _, bucket in order):
        # which is faster comes first, unless that may be a burst
        is_open = any(_credit_s(bucket) is not None for _, bucket in order)
        first, then = tuple(_beside(answer)), tuple(_none_ended(order))
        yield from (*then, *first) if is_open else (*first, *then)
        begun = [f"{_size(bucket)} of {_reads(target, bucket)}" for target, bucket in order if bucket.at_once]
        if begun:
            yield f"At the start {names_in_words(begun)} came at once."
        return
    if several:
        yield from _beside(answer)
    for target, bucket in order:
        where = f"{target}: " if several else ""
        for sentence in _told(bucket, "It" if several else shortened(target)):
            yield f"{where}{sentence[:1].lower()}{sentence[1:]}" if where else capitalised(sentence)


def perhaps_burst_sentences(answer: RunAnswer) -> Iterator[str]:
    """That the numbers of a target may not last, where a run that asks for something else could not know."""
    told = [f"the {number_text(rate)} IOPS of {shortened(target)}" for target, rate in answer.perhaps_bursts.items()]
    if told:
        command = f"drivelab run burst {' '.join(answer.perhaps_bursts)}"
        yield f"{capitalised(names_in_words(told))} may be a burst: {command} tells what lasts."


def _none_ended(order: Pair) -> Iterator[str]:
    """``No burst ended within 20 s``, and which rates may be one that was not watched for long enough."""
    # what came at once at the start had an end, too
    lasting = "lasting " * any(bucket.at_once for _, bucket in order)
    ended = f"No {lasting}burst ended within {time_text(min(bucket.watched_s for _, bucket in order))}"
    open_ones = [(target, bucket, least_s) for target, bucket in order if (least_s := _credit_s(bucket))]
    if not open_ones:
        yield f"{ended}."
        return
    told = [f"{bucket.rate_text(bucket.burst_per_s)} of {shortened(target)}" for target, bucket, _ in open_ones]
    least_s = min(least_s for *_, least_s in open_ones)
    yield (
        f"{ended}; the {names_in_words(told)} may still be one: such volumes keep it up for {time_text(least_s)} "
        "or longer."
    )


def _beside(answer: RunAnswer) -> Iterator[str]:
    """Which target reads fastest once bursts are over, and how much faster than the next one: a sentence, or two."""
    ranked = []
    for token in ("I/Os", "bytes"):
        of_token = [(target, bucket) for target, bucket in answer.buckets if bucket.token == token]
        if len(of_token) > 1:
            ranked.append(sorted(of_token, key=lambda one: -_lasting(one[1]))[:2])
    is_one_order = len({tuple(target for target, _ in pair) for pair in ranked}) == 1
    if is_one_order and all(_times(pair) >= DIFFERS_FROM for pair in ranked):
        noise = {_noise(pair, answer) for pair in ranked}
        together = f"{_faster(ranked)}{_when(ranked)}{noise.pop() if len(noise) == 1 else ''}."
        if not noise and len(together.split()) <= FIRST_WORDS_MAX:
            yield together
            return
    for pair in ranked:
        first, second = (shortened(target) for target, _ in pair)
        is_alike = _times(pair) < DIFFERS_FROM
        told = f"{first} and {second} are alike at {_how(pair)}" if is_alike else _faster([pair])
        yield f"{told}{_when([pair])}{'' if is_alike else _noise(pair, answer)}."


def _reads(target: str, bucket: TokenBucket) -> str:
    """``large reads on gp2``."""
    return f"{READS[bucket.token]} reads on {shortened(target)}"


def _noise(pair: Pair, answer: RunAnswer) -> str:
    """That the two rates may differ by chance, or that each was measured once; empty where nothing tells."""
    if all(bucket.verdict == "no end" and bucket.is_flat for _, bucket in pair):
        # the interval of the whole trial would be that of its rests
        return _WITHIN
    one, other = (_scatter(target, bucket, answer) for target, bucket in pair)
    is_apart = are_apart(one, other, (1, 1)) if one and other else None
    return "" if is_apart is None else _WITHIN if is_apart else ", perhaps noise"


def _scatter(target: str, bucket: TokenBucket, answer: RunAnswer) -> Estimate | None:
    """The rate between the lowest and the highest without credit; where none ran out, the throughput's interval."""
    if bucket.base_range_per_s:
        low, high = bucket.base_range_per_s
        return Estimate(_lasting(bucket), low, high, "1/s", 1, 1.0, "")
    metric = RATE if bucket.token == "I/Os" else THROUGHPUT
    rows = [one for one in answer.combinations if one.target == target and metric in one.metrics]
    small = [is_counted(THROUGHPUT, one.block_size_bytes) for one in rows]
    found = (one for one, is_small in zip(rows, small, strict=True) if is_small == (bucket.token == "I/Os"))
    return next((one.metrics[metric].estimate for one in found), None)


def _faster(pairs: Sequence[Pair]) -> str:
    """``A is 100 times as fast as B at random reads, 666 000 against 6 660 IOPS``, and at large ones."""
    first, second = (shortened(target) for target, _ in pairs[0])
    told = [f"{number_text(_times(pair), 2)} times{{}} at {_how(pair)}" for pair in pairs]
    return f"{first} is {', and '.join(told).format(f' as fast as {second}', *[''] * len(pairs))}"


def _when(pairs: Sequence[Pair]) -> str:
    """That it is the rate without credit, where some target was seen to lose it."""
    has_fallen = any(bucket.verdict != "no end" for pair in pairs for _, bucket in pair)
    return " once bursts are over" if has_fallen else ""


def _how(pair: Pair) -> str:
    """``random reads, 666 000 against 6 660 IOPS``."""
    (_, one), (_, other) = pair
    mine, its = (bucket.rate_text(_lasting(bucket)) for bucket in (one, other))
    # the unit stands once
    return f"{READS[one.token]} reads, {mine.removesuffix(' IOPS')} against {its}"


def _times(pair: Pair) -> float:
    (_, one), (_, other) = pair
    return times_apart(_lasting(one), _lasting(other))


def _lasting(bucket: TokenBucket) -> float:
    """The rate without credit; where none ran out, what was seen."""
    return (bucket.burst_per_s if bucket.verdict == "no end" else bucket.base_per_s) or 0.0


def _told(bucket: TokenBucket, who: str) -> Iterator[str]:
    burst = bucket.rate_text(bucket.burst_per_s)
    if bucket.verdict == "no end":
        constant = "a constant " if bucket.is_flat else ""
        if bucket.at_once:
            large = " of large reads" if bucket.token == "bytes" else ""
            begun = f"{_size(bucket)}{large} came at once, then {_amount(bucket)} at {constant}{burst}"
            yield f"{begun}: no other end of a burst within {_watched(bucket)}."
        else:
            reads = f"{READS[bucket.token].capitalize()} reads came"
            yield f"{reads} at {constant}{burst} for {_watched(bucket)}: no burst ended."
        yield from _perhaps(bucket)
    elif bucket.verdict == "fell":
        base = bucket.rate_text(bucket.base_per_s)
        yield (
            f"{who} fell from {burst} to {base}, but idle time did not give back what a bucket of credit would: a "
            "cache, heat or others' work, no burst credit."
        )
    elif bucket.verdict == "empty":
        base = bucket.rate_text(bucket.base_per_s)
        yield f"{who} runs at {base}, its burst credit is used up; an idle hour gives back {_hour(bucket)} at {burst}."
        yield "How much credit it can hold is not known: run it again after a day without I/O."
    elif (bucket.lasts_s or 0.0) < _SHORT_S:
        base = bucket.rate_text(bucket.base_per_s)
        rest = time_text(bucket.full_after_s)
        yield f"{_place(bucket, who)} at {base}; {_size(bucket)} more come at once after {rest} of rest."
    else:
        burst_s = time_text(bucket.lasts_s)
        base = bucket.rate_text(bucket.base_per_s)
        told = f"{burst} for {burst_s} on its credit, then at {base}"
        yield f"{_place(bucket, who)} at {told}; an idle hour gives back {_hour(bucket)}."
        yield (
            f"That was a credit of {_size(bucket)}, which {time_text(bucket.full_after_s)} of idle time give back: "
            "all that it can hold, if the volume had rested for that long before."
        )


def _credit_s(bucket: TokenBucket) -> float | None:
    """How long a published credit keeps up a constant rate that nobody watched for that long; None of any other."""
    least_s = published_burst_s(bucket.burst_per_s or 0.0) if bucket.is_flat and bucket.token == "I/Os" else None
    return least_s if least_s is not None and bucket.watched_s < least_s else None


def _perhaps(bucket: TokenBucket) -> Iterator[str]:
    """That a constant rate is one that volumes give from credit, which nobody watched for long enough."""
    if (least_s := _credit_s(bucket)) is not None:
        yield (
            f"{bucket.rate_text(bucket.burst_per_s)} may be a burst, which a published credit keeps up for "
            f"{time_text(least_s)} or longer: {time_text(bucket.watched_s)} are too short to tell."
        )


def _watched(bucket: TokenBucket) -> str:
    """For how long it was looked at, and whether it rested meanwhile."""
    read_s = (bucket.moved - bucket.at_once) / (bucket.burst_per_s or math.inf)
    return f"{time_text(bucket.watched_s)}{', rests included' * (read_s < _READING_SHARE * bucket.watched_s)}"


def _hour(bucket: TokenBucket) -> str:
    """What an idle hour gives back, as time at the burst rate."""
    given_s = (bucket.burst_for_each_idle_s or 0.0) * _HOUR_S
    return "all of it" if bucket.lasts_s is not None and given_s >= bucket.lasts_s else time_text(given_s)


def _place(bucket: TokenBucket, who: str) -> str:
    return f"{who} runs" if bucket.token == "I/Os" else "Large reads run"


def time_text(seconds: float | None) -> str:
    """A time as people say it: 2.4 s, 33 min, 5 h."""
    given = seconds or 0.0
    for unit, length_s in (("h", 3600.0), ("min", 60.0)):
        if given >= 2 * length_s:
            return f"{given / length_s:.2g} {unit}"
    return format_duration_ns(round(given * 1e9))


def _amount(bucket: TokenBucket) -> str:
    """What was read beside what came at once."""
    moved = bucket.moved - bucket.at_once
    return f"{number_text(moved)} reads" if bucket.token == "I/Os" else f"{format_decimal_bytes(moved)} of reads"


def _size(bucket: TokenBucket) -> str:
    size = bucket.size or bucket.at_once
    return f"{number_text(size)} I/Os" if bucket.token == "I/Os" else format_decimal_bytes(size)
