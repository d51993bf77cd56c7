"""What a slow drive takes now, and whether it became worse: what it took long ago says nothing about either."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drivelab.analyse.fleet_windows import WINDOWS
from drivelab.analyse.quantile import quantile_estimate_from_series
from drivelab.model.fleet import Seconds, Worsening

Floats = npt.NDArray[np.float64]
# now is the longest window, or where it gets worse gradually that part of it, and so many samples at least; more,
# until the interval is no wider than that, and above what the peers take
_GRADUAL_SHARE, _RECENT_SAMPLES_MIN, _WIDTH_MAX = 3, 48, 1.5
# blocks of so many seconds and samples at least, and no more of them than that; so many on either side of a step
_BLOCK_S, _BLOCK_SAMPLES_MIN, _BLOCKS_MAX, _SIDE_BLOCKS_MIN = 600, 8, 96, 3
# a drive became worse by so much at least, and by so many standard errors of what it takes before and after
_WORSE_MIN, _STANDARD_ERRORS = math.log(1.2), 4.0
# of a block before and one after, how often the later one is slower: what swings is slow as often before
_LATER_SLOWER_MIN = 0.9
# so much of the change from the first of so many parts to the last is one step, or it comes gradually
_AT_ONCE, _PARTS = 0.7, 6
# one sample far out moves no step
_LEVELS_MAX = 4.0
_PLAIN_SAMPLES = 20_000


@dataclass(frozen=True, slots=True)
class Course:
    """What a drive takes over what its peers take, now: the median, its 95 % interval, and whether it became worse."""

    ratio: float
    low: float
    high: float
    worsening: Worsening | None


@dataclass(frozen=True, slots=True)
class _Rise:
    """Where slow samples became slower: the first of them, and whether it is one step."""

    place: int
    before: float
    is_at_once: bool


def course_of(time_s: Seconds, excess: Floats, step_s: int) -> Course:
    """What became of a drive while it was slow.

    Parameters
    ----------
    time_s, excess : numpy.ndarray
        Of its slow samples, in order of time.
    step_s : int
        The usual time between two samples.
    """
    rise = _rise(excess, max(_BLOCK_SAMPLES_MIN, _BLOCK_S // step_s, len(excess) // _BLOCKS_MAX))
    is_gradual = rise is not None and not rise.is_at_once
    recent_s = WINDOWS[-1].length_s // (_GRADUAL_SHARE if is_gradual else 1)
    count = max(_RECENT_SAMPLES_MIN, recent_s // step_s)
    if rise and rise.is_at_once:
        # before the step it took something else
        count = min(count, len(excess) - rise.place)
    ratio, low, high = _ratio(excess[-count:], is_gradual)
    while (low <= 1 or high > _WIDTH_MAX * low) and count < len(excess):
        count *= 2
        ratio, low, high = _ratio(excess[-count:], is_gradual)
    # a step is none where what follows it tells no ratio
    is_told = rise is not None and (is_gradual or count <= len(excess) - rise.place)
    worse = Worsening(int(time_s[rise.place]), math.exp(rise.before), rise.is_at_once) if rise and is_told else None
    return Course(ratio, low, high, worse)


def _ratio(excess: Floats, is_gradual: bool) -> tuple[float, float, float]:
    """The median with its interval; that a ratio changes is not the uncertainty of the ratio."""
    values = np.exp(_level(excess) if is_gradual else excess)[:: max(1, len(excess) // _PLAIN_SAMPLES)]
    found = quantile_estimate_from_series(values, 0.5, "1")
    low = found.low if found.low is not None else float(values.min())
    return float(np.median(values)), low, found.high if found.high is not None else float(values.max())


def _level(excess: Floats) -> Floats:
    """Without the line that the outer thirds tell, about the middle."""
    third = len(excess) // 3
    slope = float(np.median(excess[-third:]) - np.median(excess[:third])) / (len(excess) - third)
    return excess - slope * (np.arange(len(excess)) - (len(excess) - 1) / 2)


def _rise(excess: Floats, block: int) -> _Rise | None:
    """The step from one level up to another that tells most of the change, where later is slower nearly always."""
    side, count = _SIDE_BLOCKS_MIN * block, len(excess)
    if count < 2 * side:
        return None
    middle = float(np.median(excess))
    far = _LEVELS_MAX * float(np.median(np.abs(excess - middle)))
    sums = np.cumsum(np.clip(excess - middle, -far, far))
    places = np.arange(side, count - side + 1)
    up = (sums[-1] - sums[places - 1]) / (count - places) - sums[places - 1] / places
    best = int(np.argmax(np.maximum(up, 0) ** 2 * places * (count - places)))
    place = int(places[best])
    before, after = _block_medians(excess[:place], block), _block_medians(excess[place:], block)
    move = float(np.median(after) - np.median(before))
    squares = float(before.var()) * len(before) + float(after.var()) * len(after)
    scatter = math.sqrt(squares / (len(before) + len(after) - 2) * (1 / len(before) + 1 / len(after)))
    later_slower = float((after[:, np.newaxis] > before).mean())
    if move < max(_WORSE_MIN, _STANDARD_ERRORS * scatter) or later_slower < _LATER_SLOWER_MIN:
        return None
    part = max(side, count // _PARTS)
    near = float(np.median(excess[place : place + part]) - np.median(excess[max(0, place - part) : place]))
    first, last = float(np.median(excess[:part])), float(np.median(excess[-part:]))
    is_at_once = near >= _AT_ONCE * (last - first)
    return _Rise(place, float(np.median(before)) if is_at_once else first, is_at_once)


def _block_medians(excess: Floats, block: int) -> Floats:
    return np.array([float(np.median(part)) for part in np.array_split(excess, len(excess) // block)])
