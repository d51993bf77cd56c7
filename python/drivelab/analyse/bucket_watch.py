"""What a trial does next that watches for the end of a burst: go on, be idle, or end, as soon as it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from drivelab.analyse.token_bucket import TESTS, Done, Stretch, first_episode, held_nothing, stretches_of

MoveKind = Literal["issue", "rest", "end"]
_SLICE_S, _SLICE_S_MAX, _SLICE_SHARE = 2.0, 20.0, 0.1
# a rate that is constant for so long may be that of an empty bucket: a short rest tells
_PROBE_AFTER_S, _PROBE_S = 20.0, 3.0
_REST_S_MIN, _REST_S_MAX = 1.0, 120.0
_REST_COUNT = 120.0
# two rests, the second of twice the length, may not fill what was there
_REST_SHARE = 0.4
# a rest gives back this long a burst, where that is not too long a rest
_BURST_S = 1.0
# what lies below this is rounding
_CLOCK_S = 1e-3
# an idle time gives back a burst; when that has not ended after so many times its length it is none
_PATIENCE = 4.0


@dataclass(frozen=True, slots=True)
class Move:
    """What to do next, and for how long."""

    kind: MoveKind
    seconds: float = 0.0


def next_move(done: Done, limit_s: float) -> Move:
    """What comes next.

    Parameters
    ----------
    limit_s : float
        How long to wait for the end of the first burst.
    """
    stretches = stretches_of(done)
    if not stretches:
        return Move("issue", min(_SLICE_S, limit_s))
    last = stretches[-1]
    if not any(one.is_settled for one in stretches):
        return _while_none_has_fallen(stretches, last.end_s - stretches[0].begin_s, limit_s)
    is_empty = held_nothing(stretches)
    first, used = first_episode(stretches)
    fallen = stretches[1] if is_empty else first
    tests = len(stretches) - used
    if last.is_settled:
        return Move("rest", _rest_s(fallen, tests, is_empty=is_empty)) if tests < TESTS else Move("end")
    if last.low_per_s is None and last.length_s > _patience_s(fallen, last, stretches[-2]):
        return Move("end")
    if last.length_s > limit_s:
        return Move("end")
    return Move("issue", _SLICE_S)


def _while_none_has_fallen(stretches: Sequence[Stretch], watched_s: float, limit_s: float) -> Move:
    last = stretches[-1]
    if watched_s > limit_s - _CLOCK_S and last.low_per_s is None:
        return Move("end")
    # a fall in the last moments gets the time that it needs
    if watched_s >= 1.25 * limit_s:
        return Move("end")
    if len(stretches) == 1 and last.low_per_s is None and last.is_flat and watched_s >= _PROBE_AFTER_S:
        return Move("rest", _PROBE_S)
    slice_s = min(max(_SLICE_S, _SLICE_SHARE * last.length_s), _SLICE_S_MAX)
    return Move("issue", max(_SLICE_S, min(slice_s, limit_s - watched_s)))


def _rest_s(first: Stretch, tests: int, *, is_empty: bool) -> float:
    """How long to rest: long enough to tell what comes back, and not so long that the bucket runs over."""
    assert first.low_per_s
    assert first.high_per_s
    wanted = max(_BURST_S * (first.high_per_s / first.low_per_s - 1), _REST_COUNT / first.low_per_s)
    most = _REST_S_MAX if is_empty else min(_REST_S_MAX, _REST_SHARE * first.excess / first.low_per_s)
    return max(_REST_S_MIN, min(wanted, most)) * (2 if tests else 1)


def _patience_s(first: Stretch, last: Stretch, before: Stretch) -> float:
    assert first.low_per_s
    assert first.high_per_s
    idle_s = last.begin_s - before.end_s
    return 5.0 + _PATIENCE * idle_s * first.low_per_s / (first.high_per_s - first.low_per_s)
