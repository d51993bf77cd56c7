"""Burst credit on simulated drives that know nothing of how it is told: buckets are found, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest

from bursting_drives import limited, seen_of, unlimited
from drivelab.analyse.bucket_watch import next_move
from drivelab.analyse.token_bucket import Done, bucket_of

_DRIVES = 6


def _of_rates(*spans: tuple[float, float], rest_s: float = 0.0, step_s: float = 0.2) -> Done:
    """I/Os at one rate after the other, (rate, how long), and a rest before each but the first."""
    begin, counts, at = [], [], 0.0
    for rate, length in spans:
        for _ in range(round(length / step_s)):
            begin.append(at)
            counts.append(rate * step_s)
            at += step_s
        at += rest_s
    starts = np.array(begin)
    return Done(starts, starts + step_s, np.array(counts))


@pytest.mark.parametrize("token", ["I/Os", "bytes"])
def test_a_bucket_is_found_with_all_its_numbers(token: str) -> None:
    for seed in range(_DRIVES):
        truth, found = seen_of(limited(token, seed), token, seed)
        assert found is not None
        assert found.verdict == "bucket", (seed, found)
        assert found.base_per_s == pytest.approx(truth.rate, rel=0.05)
        assert found.refill_per_s == pytest.approx(truth.rate, rel=0.05)
        assert found.size == pytest.approx(truth.burst, rel=0.05)


def test_an_unlimited_drive_has_none_however_noisy() -> None:
    for seed in range(_DRIVES):
        found = seen_of(unlimited(seed), "I/Os", seed)[1]
        assert found is not None
        assert not found.is_bucket, (seed, found)


def test_what_comes_back_at_once_is_no_bucket() -> None:
    # a drive that was hot is as fast as ever after any rest
    fallen = [(1000.0, 20.0), (200.0, 20.0)]
    done = _of_rates(*fallen)
    parts = [done, _of_rates(*fallen), _of_rates(*fallen)]
    begins = [0.0, 40.0 + 4.0, 80.0 + 4.0 + 8.0]
    arrays = zip(*((p.begin_s + b, p.end_s + b, p.count) for p, b in zip(parts, begins, strict=True)), strict=True)
    found = bucket_of(Done(*(np.concatenate(each) for each in arrays)))
    assert found is not None
    assert found.verdict == "fell"


def test_a_rate_that_never_falls_ends_at_the_limit_with_what_was_moved() -> None:
    done = _of_rates((1000.0, 15.0))
    assert next_move(done, limit_s=15.0).kind == "end"
    found = bucket_of(done)
    assert found is not None
    assert (found.verdict, found.moved, found.is_flat) == ("no end", pytest.approx(15_000), True)


def test_what_was_watched_after_a_rest_counts_too() -> None:
    found = bucket_of(_of_rates((1000.0, 20.0), (1000.0, 870.0), rest_s=3.0))
    assert found is not None
    assert found.verdict == "no end"
    assert (found.watched_s, found.moved) == (pytest.approx(893.0), pytest.approx(890_000))


def test_what_a_limit_lets_pass_at_first_is_counted() -> None:
    found = bucket_of(_of_rates((11_000.0, 0.2), (1000.0, 15.0)))
    assert found is not None
    assert found.verdict == "no end"
    assert found.burst_per_s == pytest.approx(1000.0)
    assert found.at_once == pytest.approx(2000.0)


def test_an_end_is_not_believed_before_it_has_lasted() -> None:
    assert next_move(_of_rates((1000.0, 20.0), (100.0, 4.0)), limit_s=60.0).kind == "issue"
    assert next_move(_of_rates((1000.0, 20.0), (100.0, 10.0)), limit_s=60.0).kind == "rest"


def test_a_constant_rate_is_probed_once_by_a_short_rest() -> None:
    first = next_move(_of_rates((300.0, 21.0)), limit_s=600.0)
    assert (first.kind, first.seconds) == ("rest", 3.0)
    assert next_move(_of_rates((300.0, 21.0), (300.0, 21.0), rest_s=3.0), limit_s=600.0).kind == "issue"


@pytest.mark.parametrize("batch", [1, 8, 16, 32])
def test_answers_that_come_in_batches_hide_no_fall(batch: int) -> None:
    """As a network block device gives them: 250 a second until 2,000 tokens are used up, 50 from then on."""
    ready, now, tokens = [], 0.0, 2000.0
    while now < 100:
        per_s = 250.0 if tokens >= 1 else 50.0
        now += 1 / per_s
        tokens = min(2000.0, tokens + 50 / per_s) - 1
        ready.append(now)
    together = [ready[min(len(ready), (place // batch + 1) * batch) - 1] for place in range(len(ready))]
    counts, edges = np.histogram(together, bins=np.arange(0, 100.1, 0.2))
    found = bucket_of(Done(edges[:-1], edges[1:], counts.astype(float)))
    assert found is not None
    assert found.verdict == "fell"
    assert found.base_per_s == pytest.approx(50, rel=0.02)
    assert found.burst_per_s == pytest.approx(250, rel=0.05)


def test_of_a_fall_that_is_too_short_to_tell_only_the_mean_is_told() -> None:
    counts = np.array([50.0] * 30 + [10.0] * 12)
    begin = 0.2 * np.arange(counts.size)
    found = bucket_of(Done(begin, begin + 0.2, counts))
    assert found is not None
    assert found.verdict == "no end"
    assert found.burst_per_s == pytest.approx(counts.sum() / 8.4)
    assert not found.is_flat


def _scattered(seed: int, *, is_limited: bool, count: int = 250, rate: float = 60_000.0, share: float = 0.08) -> Done:
    """Spans of 0.2 s that scatter: by chance, or so that a limit makes up for it in the next moments."""
    random = np.random.default_rng(seed)
    ends = 0.2 * np.arange(1, count + 1)
    done = rate * ends
    done += (
        rate * 0.2 * share * (random.standard_normal(count) if is_limited else random.standard_normal(count).cumsum())
    )
    return Done(ends - 0.2, ends, np.diff(done, prepend=0.0))


@pytest.mark.parametrize("is_limited", [False, True])
def test_a_rate_that_scatters_by_chance_is_not_constant_and_one_that_is_made_up_for_is(is_limited: bool) -> None:
    found = [bucket_of(_scattered(seed, is_limited=is_limited)) for seed in range(40)]
    flat = sum(one.is_flat for one in found if one is not None)
    assert flat >= 38 if is_limited else flat <= 2


def test_what_was_constant_before_a_rest_only_is_not_constant() -> None:
    even, uneven = _of_rates((3000.0, 20.0)), _scattered(3, is_limited=False)
    both = Done(*(np.concatenate((one, other)) for one, other in (
        (even.begin_s, uneven.begin_s + 25.0), (even.end_s, uneven.end_s + 25.0), (even.count, uneven.count / 20)
    )))  # fmt: skip
    found = bucket_of(both)
    assert found is not None
    assert (found.verdict, found.is_flat) == ("no end", False)
