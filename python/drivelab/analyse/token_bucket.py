"""Burst credit told from the I/Os that were done: a bucket of tokens empties, and fills while nothing is asked.

What tells a bucket from all else that becomes slower is that tokens are conserved: from one moment at which it is empty
to the next, so many I/Os are done as the base rate gives in that time, idle times included. A cache that was filled, a
drive that was hot or has to collect garbage give back something else. So nothing is called a bucket before two idle
times of different lengths have given back what they should.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivelab.model.token_bucket import BucketVerdict, Token, TokenBucket

Floats = NDArray[np.float64]

# of I/Os from here on the bytes are what is limited
LARGE_BYTES = 2**17
# what is idle for longer begins a new stretch; between two calls of the engine lies less
GAP_S = 0.8
# a fall is one from here on
FALL_RATIO = 1.25
# how far the I/Os done may lie off a straight line at a constant rate: so much time, or so many of them
FLAT_S, FLAT_COUNT = 0.05, 4.0
# ... or such a share of those that always end together, with nothing in a tenth of the spans: network block devices
# answer 16 at a time; what is outstanding bounds it
_BATCH_SHARE, _EMPTY_SHARE_MIN, _BATCH_MAX = 0.4, 0.1, 32.0
# so many spans are summed, of so many sums at least, to tell a limit from chance, whose sums have a share of 1 of it
_SPANS, _SUMS_MIN, _MADE_UP_MAX = 8, 5, 0.4
# what scatters by no more than that is as constant as anybody's limit
_EVEN_SHARE = 0.02
EXCESS_MIN = 2.5
# what is fast for less than this is fast at the start, and not for a while
START_S = 0.5
# I/Os that tell a rate to a percent, and the time in which it must hold
TAIL_COUNT, TAIL_S, TAIL_SHARE = 150.0, 5.0, 0.1
TAIL_S_MAX = 60.0
_TAIL_INTERVALS = 10
_SPENT_SHARE = 0.95
# what idle times give back lies so close to the base rate
REFILL_TOLERANCE = 0.06
TESTS = 2


@dataclass(frozen=True, slots=True)
class Done:
    """What was done in each of n spans of time, in order; between them nothing was asked.

    Attributes
    ----------
    begin_s, end_s : ndarray of float64, shape (n,)
        The spans.
    count : ndarray of float64, shape (n,)
        I/Os that ended in each.
    """

    begin_s: Floats
    end_s: Floats
    count: Floats

    def stretches(self) -> list[Done]:
        """The same, cut where it was idle."""
        if not self.count.size:
            return []
        cuts = 1 + np.flatnonzero(self.begin_s[1:] - self.end_s[:-1] > GAP_S)
        parts = (np.split(each, cuts) for each in (self.begin_s, self.end_s, self.count))
        return [Done(*part) for part in zip(*parts, strict=True)]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time of I/O without a pause: at a rate, or at one and then at a lower one.

    Attributes
    ----------
    begin_s, end_s : float
        From its first span to its last.
    count : float
        I/Os.
    rate_per_s : float
        Over all of it.
    high_per_s, low_per_s : float or None
        Before and after the fall; None where there is none.
    excess : float
        I/Os beyond those of the lower rate; 0 without a fall.
    tail_s : float
        How long the lower rate has held.
    is_flat : bool
        Whether the rate is constant: that after the fall, or that of all.
    is_burst_flat : bool
        Whether the rate before the fall is.
    """

    begin_s: float
    end_s: float
    count: float
    rate_per_s: float
    high_per_s: float | None
    low_per_s: float | None
    excess: float
    tail_s: float
    is_flat: bool
    is_burst_flat: bool

    @property
    def length_s(self) -> float:
        """How long it is."""
        return self.end_s - self.begin_s

    @property
    def is_start(self) -> bool:
        """Whether the higher rate is over at once: no rate can be told of so few I/Os."""
        if self.high_per_s is None or self.low_per_s is None:
            return False
        return self.excess < START_S * (self.high_per_s - self.low_per_s)

    @property
    def is_settled(self) -> bool:
        """Whether the lower rate has held for long enough, and constantly, to be one that stays."""
        if self.low_per_s is None or not self.is_flat or not self.low_per_s:
            return False
        assert self.high_per_s is not None
        lasted_s = self.excess / (self.high_per_s - self.low_per_s)
        needed_s = max(TAIL_S, min(TAIL_SHARE * lasted_s, TAIL_S_MAX), TAIL_COUNT / self.low_per_s)
        return self.tail_s >= needed_s


def stretches_of(done: Done) -> list[Stretch]:
    """All stretches, in order.

    Notes
    -----
    Limits let a few I/Os pass at once, a tenth of a second's worth in QEMU. So a stretch that falls within `START_S`
    has no fall, unless it is the rest of a burst, or what it did more is what the base rate gives in the idle time
    before it.
    """
    found: list[Stretch] = []
    for one in map(stretch_of, done.stretches()):
        before = found[-1] if found else None
        found.append(_without_start(one) if one.is_start and _is_at_once(one, before) else one)
    return found


def _is_at_once(one: Stretch, before: Stretch | None) -> bool:
    """Whether a limit let so much pass at once: no rest of a burst, and not what an idle time gave back."""
    if before is None:
        return True
    assert one.low_per_s is not None
    given = one.low_per_s * (one.begin_s - before.end_s)
    is_rest = FALL_RATIO * one.low_per_s < (before.low_per_s or before.rate_per_s)
    return not is_rest and abs(one.excess - given) > REFILL_TOLERANCE * given + FLAT_COUNT


def _without_start(one: Stretch) -> Stretch:
    low = one.low_per_s or one.rate_per_s
    return replace(
        one, rate_per_s=low, high_per_s=None, low_per_s=None, excess=0.0, tail_s=0.0, is_burst_flat=one.is_flat
    )


def stretch_of(done: Done) -> Stretch:
    """What one stretch is: two straight lines through the I/Os done, where that is better than one."""
    begin, times = float(done.begin_s[0]), done.end_s - done.begin_s[0]
    total = np.cumsum(done.count)
    whole = float(total[-1] / times[-1]) if times[-1] > 0 else 0.0
    is_flat = _is_flat(times, total, whole)
    plain = Stretch(begin, float(done.end_s[-1]), float(total[-1]), whole, None, None, 0.0, 0.0, is_flat, is_flat)
    split = _split(done)
    if split is None:
        return plain
    # the spans in which one rate gives way to the other are of neither
    first = min(split + 2, times.shape[0] - _TAIL_INTERVALS + 1)
    tail, tail_total = times[first:], total[first:]
    low = float((tail_total[-1] - tail_total[0]) / (tail[-1] - tail[0]))
    excess = float(np.median(tail_total - low * tail))
    # of a short burst the least squares tell the end badly, and what was gained by then well
    spent = int(np.argmax(total - low * times >= _SPENT_SHARE * excess))
    high, is_burst_flat = _rate_before(times, total, min(split, spent + 1))
    if high < FALL_RATIO * low or excess < EXCESS_MIN:
        return plain
    return Stretch(
        begin_s=begin,
        end_s=plain.end_s,
        count=plain.count,
        rate_per_s=whole,
        high_per_s=high,
        low_per_s=low,
        excess=excess,
        tail_s=float(tail[-1] - tail[0]),
        is_flat=_is_flat(tail, tail_total, low),
        is_burst_flat=is_burst_flat,
    )


def _split(done: Done) -> int | None:
    """How many spans lie before the fall: where two rates leave the least squares; None where there is no room."""
    n = done.count.shape[0]
    if n < _TAIL_INTERVALS + 3:
        return None
    length = done.end_s - done.begin_s
    weights, counts = np.cumsum(length), np.cumsum(done.count)
    before, after = weights[: n - _TAIL_INTERVALS], weights[-1] - weights[: n - _TAIL_INTERVALS]
    first = counts[: n - _TAIL_INTERVALS]
    saved = first**2 / before + (counts[-1] - first) ** 2 / after
    return 1 + int(np.argmax(saved))


def _rate_before(times: Floats, total: Floats, split: int) -> tuple[float, bool]:
    """The rate before the fall and whether it is constant; of few spans all count, else not the first and the last."""
    if split < 5:
        return float(total[split - 1] / times[split - 1]), False
    part, counted = times[: split - 1], total[: split - 1]
    rate = float((counted[-1] - counted[0]) / (part[-1] - part[0]))
    return rate, _is_flat(part, counted, rate)


def _is_flat(times: Floats, total: Floats, rate: float) -> bool:
    off = total - rate * times
    # by medians: what is outstanding at the end of a slice is counted a moment too early
    allowed = max(FLAT_COUNT, FLAT_S * rate, _BATCH_SHARE * _batch(np.diff(total)))
    return bool(np.median(np.abs(off - np.median(off))) <= allowed) and _is_made_up_for(np.diff(off), rate, times)


def _is_made_up_for(off: Floats, rate: float, times: Floats) -> bool:
    """Whether spans that did too much stand beside spans that did too little: a limit lets nothing add up, chance does.

    The variance of sums over so many spans is then a small part of what it is of independent ones. Where spans scatter
    by no more than a limit's clock, or are too few to tell, it is taken for granted.
    """
    sums = off[:-1][: (off.size - 1) // _SPANS * _SPANS].reshape(-1, _SPANS).sum(axis=1)
    if sums.size < _SUMS_MIN:
        return True
    span = float(np.median(np.diff(times)))
    is_even = float(np.std(off[:-1])) <= max(FLAT_COUNT, _EVEN_SHARE * rate * span)
    return is_even or float(np.var(sums)) <= _MADE_UP_MAX * _SPANS * float(np.var(off[:-1]))


def _batch(counts: Floats) -> float:
    """How many I/Os end together where other spans have none; 0 where they come one by one."""
    if not counts.size or np.mean(counts == 0) < _EMPTY_SHARE_MIN:
        return 0.0
    some = counts[counts > 0]
    return min(float(np.median(some)), _BATCH_MAX) if some.size else 0.0


def done_in(intervals: Any, after_ns: int = 0) -> Done:
    """What the intervals of a trial say was done, all operations together.

    Parameters
    ----------
    intervals : pyarrow.Table
        As the engine or a run directory has them.
    after_ns : int
        When they begin.
    """
    rows = intervals.filter(np.asarray(intervals["latency"]) == "total")
    begin, length, count = (rows[name].to_numpy().astype(np.float64) for name in ("start_ns", "duration_ns", "count"))
    return Done((begin + after_ns) / 1e9, (begin + length + after_ns) / 1e9, count)


def bucket_of(done: Done, *, token: Token = "I/Os", unit: float = 1.0) -> TokenBucket | None:
    """What a trial that watched for the end of a burst has seen; None where nothing was done.

    Parameters
    ----------
    done : Done
        All of it, idle times left out.
    token : str
        What the numbers are to count.
    unit : float
        How many tokens an I/O takes: 1, or its bytes.
    """
    stretches = stretches_of(done)
    if not stretches:
        return None
    first, rest = first_episode(stretches)
    tests = _tests(stretches[rest - 1 :]) if first.low_per_s or held_nothing(stretches) else []
    verdict = _verdict(stretches, first, tests)
    lows = [one.low_per_s for one in stretches if one.low_per_s and one.is_settled]
    base = float(np.median(lows)) if lows else None
    highs = [one.high_per_s for one in stretches if one.high_per_s]
    burst = first.high_per_s or (max(highs) if highs else None)
    # it fell, and not for long or constantly enough: of neither rate anything can be said
    is_unclear = verdict == "no end" and first.low_per_s is not None
    if is_unclear:
        burst = first.rate_per_s
    is_bucket = verdict in ("bucket", "empty")
    begin = stretch_of(done.stretches()[0])
    has_size = verdict == "bucket"
    return TokenBucket(
        verdict=verdict,
        token=token,
        watched_s=first.end_s - stretches[0].begin_s,
        moved=first.count * unit,
        burst_per_s=unit * burst if burst else unit * first.rate_per_s,
        base_per_s=unit * base if base else None,
        size=unit * first.excess if has_size else None,
        lasts_s=first.excess / (burst - base) if has_size and burst and base else None,
        refills_per_s=tuple(unit * given for given, _ in tests) if is_bucket else (),
        base_range_per_s=(unit * min(lows), unit * max(lows)) if lows else (),
        is_flat=first.is_burst_flat and not is_unclear,
        at_once=unit * begin.excess if begin.is_start and verdict == "no end" else 0.0,
    )


def bucket_of_workload(done: Done, block_bytes: int) -> TokenBucket | None:
    """What a trial has seen: small I/Os meet a limit of I/Os, and large ones one of bytes."""
    token, unit = token_of(block_bytes)
    return bucket_of(done, token=token, unit=unit)


def token_of(block_bytes: int) -> tuple[Token, int]:
    """What is most likely limited of I/Os of a size, and how many tokens one of them takes."""
    return ("bytes", block_bytes) if block_bytes >= LARGE_BYTES else ("I/Os", 1)


def first_episode(stretches: Sequence[Stretch]) -> tuple[Stretch, int]:
    """All until the first fall as one, and how many stretches that is: a burst may go on after an idle time."""
    count = next((place for place, one in enumerate(stretches) if one.low_per_s), None)
    if count is None:
        # it never fell: all of it was watched
        is_flat = all(one.is_flat for one in stretches)
        whole = replace(
            stretches[0],
            end_s=stretches[-1].end_s,
            count=sum(one.count for one in stretches),
            is_flat=is_flat,
            is_burst_flat=is_flat,
        )
        return whole, len(stretches)
    if not count or held_nothing(stretches):
        return stretches[0], 1
    last = stretches[count]
    assert last.low_per_s is not None
    moved = sum(one.count for one in stretches[:count])
    # the bucket was filling in all that time, the idle part of it too
    gone_s = last.begin_s - stretches[0].begin_s
    merged = Stretch(
        begin_s=stretches[0].begin_s,
        end_s=last.end_s,
        count=moved + last.count,
        rate_per_s=stretches[0].rate_per_s,
        high_per_s=stretches[0].rate_per_s,
        low_per_s=last.low_per_s,
        excess=moved + last.excess - last.low_per_s * gone_s,
        tail_s=last.tail_s,
        is_flat=last.is_flat,
        is_burst_flat=stretches[0].is_flat,
    )
    return merged, count + 1


def held_nothing(stretches: Sequence[Stretch]) -> bool:
    """Whether there was no credit at first: a constant rate, and after an idle time a higher one that falls to it."""
    if len(stretches) < 2 or stretches[0].low_per_s or not stretches[0].is_flat or not stretches[1].low_per_s:
        return False
    return _is_near(stretches[1].low_per_s, stretches[0].rate_per_s)


def _tests(stretches: Sequence[Stretch]) -> list[tuple[float, float]]:
    """For each idle time what it gave back a second, and the base rate then; the first stretch ended without credit."""
    found = []
    for before, after in itertools.pairwise(stretches):
        idle_s = after.begin_s - before.end_s
        base = after.low_per_s or after.rate_per_s
        found.append((after.excess / idle_s, base))
    return found


def _verdict(stretches: Sequence[Stretch], first: Stretch, tests: Sequence[tuple[float, float]]) -> BucketVerdict:
    is_empty = held_nothing(stretches)
    if not is_empty and not any(one.is_settled for one in stretches):
        return "no end"
    base = stretches[0].rate_per_s if is_empty else (first.low_per_s or 0.0)
    is_kept = all(_is_near(given, base) and _is_near(low, base) for given, low in tests)
    if len(tests) < TESTS or not is_kept:
        return "fell"
    return "empty" if is_empty else "bucket"


def _is_near(value: float, other: float) -> bool:
    return abs(value - other) <= REFILL_TOLERANCE * other
