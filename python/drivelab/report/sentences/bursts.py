"""How long it is fast, how fast it is then, and what an idle time gives back: a sentence for each limit."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.model.run_answer import RunAnswer
from drivelab.model.token_bucket import TokenBucket
from drivelab.model.units import format_count, format_decimal_bytes, format_duration_ns

_HOUR_S = 3600.0
# what is over before anybody notices is no burst to plan with
_SHORT_S = 1.0


def burst_sentences(answer: RunAnswer) -> Iterator[str]:
    """What each trial that watched for the end of a burst came to, I/Os first; of the credit a sentence more."""
    several = len({target for target, _ in answer.buckets}) > 1
    order = sorted(answer.buckets, key=lambda one: (one[1].verdict == "no end", one[1].token == "bytes"))
    for target, bucket in order:
        where = f"{target}: " if several else ""
        for sentence in _told(bucket):
            yield f"{where}{sentence[:1].lower() if where else sentence[:1]}{sentence[1:]}"


def _told(bucket: TokenBucket) -> Iterator[str]:
    burst = bucket.rate_text(bucket.burst_per_s)
    if bucket.verdict == "no end":
        flat = ", as constant as a limit" if bucket.is_flat else ""
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
    return f"{format_count(bucket.moved)} I/Os" if bucket.token == "I/Os" else format_decimal_bytes(bucket.moved)


def _size(bucket: TokenBucket) -> str:
    size = bucket.size or 0.0
    return f"{format_count(size)} I/Os" if bucket.token == "I/Os" else format_decimal_bytes(size)
