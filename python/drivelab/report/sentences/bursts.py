"""How long it is fast, how fast it is then, and what an idle time gives back: a sentence for each limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.run_answer import RunAnswer
from drivelab.model.token_bucket import TokenBucket
from drivelab.model.units import format_count, format_decimal_bytes, format_duration_ns
from drivelab.report.numerals import number_text
from drivelab.report.parts_of_text import FIRST_WORDS_MAX
from drivelab.report.sentences.contest import DIFFERS_FROM, times_apart
from drivelab.report.sentences.several_drives import shortened

_HOUR_S = 3600.0
Pair = Sequence[tuple[str, TokenBucket]]
# what is over before anybody notices is no burst to plan with
_SHORT_S = 1.0


def burst_sentences(answer: RunAnswer) -> Iterator[str]:
    """How several targets compare; then what each trial that watched for the end of a burst came to, I/Os first.

    Of the credit that was seen there is a sentence more; where nothing ended on several targets there is one of all.
    """
    several = len({target for target, _ in answer.buckets}) > 1
    order = sorted(answer.buckets, key=lambda one: (one[1].verdict == "no end", one[1].token == "bytes"))
    if several:
        yield from _beside(answer.buckets)
    if several and all(bucket.verdict == "no end" for _, bucket in order):
        yield f"No burst ended on any of them within {_time(min(bucket.watched_s for _, bucket in order))}."
        return
    for target, bucket in order:
        where = f"{target}: " if several else ""
        for sentence in _told(bucket):
            yield f"{where}{sentence[:1].lower() if where else sentence[:1]}{sentence[1:]}"


def _beside(buckets: Sequence[tuple[str, TokenBucket]]) -> Iterator[str]:
    """Which target reads fastest once bursts are over, and how much faster than the next one: a sentence, or two."""
    ranked = []
    for token in ("I/Os", "bytes"):
        of_token = [(shortened(target), bucket) for target, bucket in buckets if bucket.token == token]
        if len(of_token) > 1:
            ranked.append(sorted(of_token, key=lambda one: -_lasting(one[1]))[:2])
    is_one_order = len({tuple(target for target, _ in pair) for pair in ranked}) == 1
    if is_one_order and all(_times(pair) >= DIFFERS_FROM for pair in ranked):
        together = f"{_faster(ranked)}{_when(ranked)}."
        if len(together.split()) <= FIRST_WORDS_MAX:
            yield together
            return
    for pair in ranked:
        (first, _), (second, _) = pair
        is_alike = _times(pair) < DIFFERS_FROM
        told = f"{first} and {second} are alike at {_how(pair)}" if is_alike else _faster([pair])
        yield f"{told}{_when([pair])}."


def _faster(pairs: Sequence[Pair]) -> str:
    """``A is 100 times as fast as B at random reads, 666 000 against 6 660 IOPS``, and at large ones."""
    (first, _), (second, _) = pairs[0]
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
    return f"{'random' if one.token == 'I/Os' else 'large'} reads, {mine.removesuffix(' IOPS')} against {its}"


def _times(pair: Pair) -> float:
    (_, one), (_, other) = pair
    return times_apart(_lasting(one), _lasting(other))


def _lasting(bucket: TokenBucket) -> float:
    """The rate without credit; where none ran out, what was seen."""
    return (bucket.burst_per_s if bucket.verdict == "no end" else bucket.base_per_s) or 0.0


def _told(bucket: TokenBucket) -> Iterator[str]:
    burst = bucket.rate_text(bucket.burst_per_s)
    if bucket.verdict == "no end":
        flat = ", so steady that a limit seems to set it" if bucket.is_flat else ""
        yield f"No end of a burst within {_time(bucket.watched_s)}: at least {_amount(bucket)} at {burst}{flat}."
    elif bucket.verdict == "fell":
        base = bucket.rate_text(bucket.base_per_s)
        yield (
            f"It fell from {burst} to {base}, but idle time did not give back what a bucket of credit would: a cache, "
            "heat or others' work, no burst credit."
        )
    elif bucket.verdict == "empty":
        base = bucket.rate_text(bucket.base_per_s)
        yield f"It runs at {base}, its burst credit is used up; an idle hour gives back {_hour(bucket)} at {burst}."
        yield "How much credit it can hold is not known: run it again after a day without I/O."
    elif (bucket.lasts_s or 0.0) < _SHORT_S:
        base = bucket.rate_text(bucket.base_per_s)
        rest = _time(bucket.full_after_s)
        yield f"{_place(bucket)} at {base}; {_size(bucket)} more come at once after {rest} of rest."
    else:
        burst_s = _time(bucket.lasts_s)
        base = bucket.rate_text(bucket.base_per_s)
        told = f"{burst} for {burst_s} with the credit that it had, then at {base}"
        yield f"{_place(bucket)} at {told}; an idle hour gives back {_hour(bucket)}."
        yield (
            f"That was a credit of {_size(bucket)}, which {_time(bucket.full_after_s)} of idle time give back: "
            "the bucket was full if the volume had rested for that long."
        )


def _hour(bucket: TokenBucket) -> str:
    """What an idle hour gives back, as time at the burst rate."""
    given_s = (bucket.burst_for_each_idle_s or 0.0) * _HOUR_S
    return "all of it" if bucket.lasts_s is not None and given_s >= bucket.lasts_s else _time(given_s)


def _place(bucket: TokenBucket) -> str:
    return "It runs" if bucket.token == "I/Os" else "Large reads run"


def _time(seconds: float | None) -> str:
    """A time as people say it: 2.4 s, 33 min, 5 h."""
    given = seconds or 0.0
    for unit, length_s in (("h", 3600.0), ("min", 60.0)):
        if given >= 2 * length_s:
            return f"{given / length_s:.2g} {unit}"
    return format_duration_ns(round(given * 1e9))


def _amount(bucket: TokenBucket) -> str:
    moved = bucket.moved
    return f"{format_count(moved)} reads" if bucket.token == "I/Os" else f"{format_decimal_bytes(moved)} of reads"


def _size(bucket: TokenBucket) -> str:
    size = bucket.size or 0.0
    return f"{format_count(size)} I/Os" if bucket.token == "I/Os" else format_decimal_bytes(size)
